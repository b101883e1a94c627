// Options{.check = true}: warp operations that name, or read, lanes which take no part.
#include <gmock/gmock.h>

#include <damo/cuda_c.hpp>

#include "support/errors.hpp"
#include "support/scratch_directory.hpp"

namespace damo::testing {
namespace {

using ::testing::HasSubstr;

class CheckedLanes : public ::testing::Test {
 protected:
  std::string error_of(const std::string& body, int threads = 64) {
    const Module module(device_, "__global__ void k(int* y) {\n  int t = threadIdx.x, v = t;\n" + body + "\n  y[t] = v;\n}", {.check = true, .file_name = "user.cu"});
    const Array y = Array::zeros({threads}, int32, device_);
    return damo::testing::error_of<DeviceError>([&] { module.kernel("k")({.block = {threads}}, y); });
  }

  ScratchDirectory scratch_;
  Environment directory_{"DAMO_CACHE_DIR", scratch_.path()};
  Device device_ = cpu();
};

TEST_F(CheckedLanes, NamesTheLanesThatAShuffleMisses) {
  const std::string error = error_of("  if (t % 32 >= 16) return;\n  v += __shfl_down_sync(0xffffffffu, v, 8);");
  EXPECT_THAT(error, HasSubstr("kernel 'k': shuffle (__shfl_*_sync) at user.cu:4:"));
  EXPECT_THAT(error, HasSubstr(", block (0, 0, 0), thread (0, 0, 0): its mask 0xffffffff names lanes 16 to 31, which returned before"));
  EXPECT_THAT(error, HasSubstr("name the lanes that come to the call"));
}

TEST_F(CheckedLanes, NamesTheLanesThatAVoteMisses) {
  EXPECT_THAT(error_of("  if (t == 35) return;\n  v = __any_sync(0xffffffffu, v > 3);"), HasSubstr("vote (__ballot_sync, __any_sync, __all_sync) at user.cu:4:"));
  EXPECT_THAT(error_of("  if (t == 35) return;\n  v = __any_sync(0xffffffffu, v > 3);"), HasSubstr("thread (32, 0, 0): its mask 0xffffffff names lane 3, which returned before"));
}

TEST_F(CheckedLanes, WantsALaneToNameItself) {
  EXPECT_THAT(error_of("  v = __ballot_sync(0x0000ffffu, 1);"), HasSubstr("thread (16, 0, 0): its mask 0xffff does not name lane 16, which calls it"));
}

TEST_F(CheckedLanes, RefusesToReadALaneThatTakesNoPart) {
  EXPECT_THAT(error_of("  if (t % 32 < 8) v = __shfl_xor_sync(0xffu, v, 8);"), HasSubstr("thread (0, 0, 0): its mask 0xff is read at lane 8, which takes no part"));
  EXPECT_THAT(error_of("  v += __shfl_down_sync(0xffffffffu, v, 2);", 40), HasSubstr("thread (38, 0, 0): its mask 0xffffffff is read at lane 8, which takes no part"));
}

TEST_F(CheckedLanes, LeavesRightOperationsAlone) {
  EXPECT_EQ(error_of("  if (t % 32 < 8) v += __shfl_xor_sync(0xffu, v, 4);\n  v += __ballot_sync(__activemask(), 1);\n  __syncwarp();"), "nothing thrown");
  EXPECT_EQ(error_of("  v += __ballot_sync(0xffffffffu, 1);", 40), "nothing thrown");  // lanes past the block's end are none
}

}  // namespace
}  // namespace damo::testing
