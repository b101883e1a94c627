// Arithmetic on arrays after the device was reset: its kernels were those of the old context. In a process of its own, as
// a reset is everybody's.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <gtest/gtest.h>

#include <damo/array_math.hpp>
#include <damo/array_reduce.hpp>
#include <damo/error.hpp>
#include <damo/array_scan.hpp>

namespace damo {
namespace {

/// Exits with 0 if arithmetic gives the same before and after.
[[noreturn]] void compute_reset_compute() {
  const Device device("cuda:0");
  for (int round = 0; round < 3; ++round) {
    const Array x = Array::from(std::vector<float>{1, 2, 3}, device);
    const bool is_right = Array(x * x + 1.0).to_vector<float>() == std::vector<float>{2, 5, 10} && sum(x).to_vector<float>() == std::vector<float>{6} &&
                          cumsum(x).to_vector<float>() == std::vector<float>{1, 3, 6};
    if (!is_right) std::exit(2);
    device.reset();
  }
  std::exit(0);
}

TEST(EagerResetOnCuda, ArithmeticWorksAfterAReset) {
  try {
    Device("cuda:0");
  } catch (const DeviceError& error) {
    GTEST_SKIP() << "needs a GPU: " << error.what();
  }
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(compute_reset_compute(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace damo
