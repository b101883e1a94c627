// A Function built over a kernel cache that is damaged or closed works all the same.
#include <damo/damo.hpp>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#if DAMO_HAS_CPU
#include "runtime/cpu/cpu_backend.hpp"
#include "support/devices.hpp"
#include "support/scratch_directory.hpp"

namespace damo {
namespace {

using ::testing::ElementsAre;

/// Each run has a device of its own, as another process would.
class CacheErrorOnCpu : public ::testing::Test {
 protected:
  std::uint64_t compiles_of_a_run() {
    const auto backend = make_cpu_backend();
    const Device device(backend.get());
    const auto x = vector("x");
    EXPECT_THAT(Array(function({x}, {tanh(x) * 0.0 + 7.0}, {.device = device})(Array::from(std::vector<float>{1, 2}, device))).to_vector<float>(), ElementsAre(7, 7));
    return cache_statistics(device).compiles;
  }
  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(scratch_.path())) {
      if (entry.is_regular_file()) all.push_back(entry.path());
    }
    return all;
  }
  const damo::testing::ScratchDirectory scratch_;
  const damo::testing::Environment directory_{"DAMO_CACHE_DIR", scratch_.path()};
};

TEST_F(CacheErrorOnCpu, CompilesAgainWhatIsDamaged) {
  EXPECT_EQ(compiles_of_a_run(), 1u);
  EXPECT_EQ(compiles_of_a_run(), 0u) << "the second process compiles nothing";
  ASSERT_FALSE(files().empty());
  for (const auto& file : files()) std::ofstream(file, std::ios::binary | std::ios::in).seekp(20) << "damage";
  EXPECT_EQ(compiles_of_a_run(), 1u);
  for (const auto& file : files()) std::filesystem::resize_file(file, 10);
  EXPECT_EQ(compiles_of_a_run(), 1u);
  EXPECT_EQ(compiles_of_a_run(), 0u) << "and is mended";
}

TEST_F(CacheErrorOnCpu, WorksWhereItMayNotWrite) {
  chmod(scratch_.path().c_str(), 0500);
  compiles_of_a_run();
  chmod(scratch_.path().c_str(), 0700);
}

TEST_F(CacheErrorOnCpu, SaysThatOthersCanWriteToTheDirectory) {
  chmod(scratch_.path().c_str(), 0777);
  const std::string text = damo::testing::error_of([&] { compiles_of_a_run(); });
  chmod(scratch_.path().c_str(), 0700);
  EXPECT_THAT(text, ::testing::HasSubstr(scratch_.path()));
  EXPECT_THAT(text, ::testing::HasSubstr("DAMO_CACHE_DIR"));
}

}  // namespace
}  // namespace damo
#endif
