#include <damo/progress.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace damo;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

namespace {

/// What a Progress wrote to a file.
template <class Work>
std::string written(bool is_terminal, double seconds, const Work& work) {
  std::FILE* file = std::tmpfile();
  {
    Progress progress(3, "epoch 1", {.out = file, .is_terminal = is_terminal, .seconds = seconds});
    work(progress);
  }
  std::string text(static_cast<std::size_t>(std::ftell(file)), ' ');
  std::rewind(file);
  EXPECT_EQ(std::fread(text.data(), 1, text.size(), file), text.size());
  std::fclose(file);
  return text;
}

TEST(Progress, WritesALineNowAndThenWhereNobodyWatches) {
  const auto run = [](Progress& progress) {
    for (const std::int64_t i : progress) progress.show("loss", 0.5 / static_cast<double>(i + 1));
  };
  const std::string each = written(false, 0, run), rarely = written(false, 1000, run);
  EXPECT_THAT(each, HasSubstr("epoch 1  1/3  "));
  EXPECT_THAT(each, ContainsRegex("2/3  [0-9.]+/s  [0-9.]+ s left  loss 0\\.25\n"));
  EXPECT_THAT(each, ContainsRegex("3/3  [0-9.]+/s  [0-9.]+ s  loss 0\\.1667\n$"));
  EXPECT_EQ(std::count(each.begin(), each.end(), '\n'), 3);
  EXPECT_EQ(std::count(rarely.begin(), rarely.end(), '\n'), 1) << rarely;
  EXPECT_THAT(each + rarely, Not(HasSubstr("\r")));
}

TEST(Progress, WritesOneLineOverOnATerminal) {
  const std::string text = written(true, 0, [](Progress& progress) {
    for (const std::int64_t i : progress) (void)i;
  });
  EXPECT_THAT(text, HasSubstr("\repoch 1  [======>             ]  1/3  "));
  EXPECT_THAT(text, HasSubstr("\repoch 1  [====================]  3/3  "));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_EQ(text.back(), '\n');
}

TEST(Progress, ALoopThatIsLeftEndsItsLine) {
  const std::string text = written(true, 0, [](Progress& progress) { progress.advance(); });
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_EQ(text.back(), '\n');
}

TEST(Progress, ReadsAnArrayOnlyWhenItWritesALine) {
  const Array loss = Array::full({}, 0.125, float64, Device("cpu"));
  EXPECT_THAT(written(false, 0, [&](Progress& progress) {
                for (const std::int64_t i : progress) (void)i, progress.show("loss", loss);
              }), HasSubstr("loss 0.125\n"));
  const Array two = Array::zeros({2}, float32, Device("cpu"));  // which has no item(): nothing looks before the last line
  EXPECT_THAT(written(false, 1000, [&](Progress& progress) {
                progress.show("loss", two);
                progress.advance();
                progress.show("loss", 1.0);
                progress.advance(), progress.advance();
              }), HasSubstr("3/3"));
}

}  // namespace
