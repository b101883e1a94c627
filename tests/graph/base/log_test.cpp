#include <damo/log.hpp>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace damo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The sink is standard error again at the end.
class LogSinkTest : public ::testing::Test {
 protected:
  void TearDown() override { set_log_sink({}); }
  std::vector<std::string> lines_;
};

TEST_F(LogSinkTest, MayLogItself) {
  set_log_sink([&](LogLevel, std::string_view line) {
    lines_.emplace_back(line);
    log(LogLevel::kWarning, "the sink has seen: " + std::string(line));
  });
  ::testing::internal::CaptureStderr();
  log(LogLevel::kInfo, "one");
  log(LogLevel::kInfo, "two");
  const std::string console = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(lines_, ElementsAre("one", "two")) << "its own lines go elsewhere, else they would have no end";
  EXPECT_THAT(console, HasSubstr("the sink has seen: one"));
  EXPECT_THAT(console, HasSubstr("the sink has seen: two"));
}

TEST_F(LogSinkTest, MayPutAnotherInItsPlace) {
  set_log_sink([&](LogLevel, std::string_view line) {
    const std::string kept = "first: " + std::string(line);
    set_log_sink([&](LogLevel, std::string_view next) { lines_.push_back("second: " + std::string(next)); });
    lines_.push_back(kept);
  });
  log(LogLevel::kInfo, "one");
  log(LogLevel::kInfo, "two");
  EXPECT_THAT(lines_, ElementsAre("first: one", "second: two"));
}

TEST_F(LogSinkTest, MayThrow) {
  set_log_sink([&](LogLevel, std::string_view) { throw 42; });
  EXPECT_THROW(log(LogLevel::kInfo, "one"), int);
  set_log_sink([&](LogLevel, std::string_view line) { lines_.emplace_back(line); });
  log(LogLevel::kInfo, "two");
  EXPECT_THAT(lines_, ElementsAre("two"));
}

TEST_F(LogSinkTest, IsCalledForOneLineAtATime) {
  int inside = 0, most = 0;
  set_log_sink([&](LogLevel, std::string_view line) {
    most = std::max(most, ++inside);
    lines_.emplace_back(line);
    --inside;
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int k = 0; k < 100; ++k) log(LogLevel::kInfo, "line");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(lines_.size(), 400u);
}

}  // namespace
}  // namespace damo
