#include "runtime/cuda/driver.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/error.hpp>

#include "runtime/backend.hpp"
#include "runtime/cuda/cuda_backend.hpp"

namespace damo::cuda_backend {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(CudaDriver, SaysWhatToInstallWhereThereIsNone) {
  std::string problem;
  const Driver driver = open_driver("libdamo_no_such_driver.so.1", &problem);
  EXPECT_EQ(driver.launch_kernel, nullptr);
  EXPECT_THAT(problem, HasSubstr("no CUDA driver"));
  EXPECT_THAT(problem, HasSubstr("libdamo_no_such_driver.so.1"));
  EXPECT_THAT(problem, HasSubstr("Install the NVIDIA driver"));
}

TEST(CudaDriver, NamesTheFunctionThatAnOldDriverLacks) {
  std::string problem;
  open_driver("libm.so.6", &problem);
  EXPECT_THAT(problem, HasSubstr("too old"));
  EXPECT_THAT(problem, HasSubstr("cuGetErrorName"));
}

TEST(CudaDriver, WithoutOneThereAreNoDevicesAndNoExceptions) {
  const auto problem = driver_problem();
  if (!problem) GTEST_SKIP() << "this machine has a driver";
  EXPECT_EQ(cuda_device_count(), 0);
  EXPECT_EQ(cuda_problem(), problem);
  EXPECT_EQ(driver_version(), "");
  try {
    driver();
    FAIL() << "no exception";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr(*problem));
  }
  EXPECT_THROW(make_cuda_backend(0), DeviceError);
}

TEST(CudaDriver, SaysThatAFaultLosesTheContextAndWhichToolFindsTheKernel) {
  try {
    fail(CUDA_ERROR_ILLEGAL_ADDRESS, "cuStreamSynchronize", "kernel scale");
    FAIL() << "no exception";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("cuStreamSynchronize failed"));
    EXPECT_THAT(error.what(), HasSubstr("kernel scale"));
    EXPECT_THAT(error.what(), HasSubstr("context is lost"));
    EXPECT_THAT(error.what(), HasSubstr("compute-sanitizer"));
  }
}

TEST(CudaDriver, SaysHowAFaultIsFoundAndMended) {
  const std::string remedy = remedy_for(CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(remedy, HasSubstr("DAMO_SYNC=1"));
  EXPECT_THAT(remedy, HasSubstr("Device::reset()"));
  EXPECT_THAT(remedy_for_fault("cuda:1"), HasSubstr("Device(\"cuda:1\").reset()"));
  EXPECT_THAT(remedy_for(CUDA_ERROR_CONTEXT_IS_DESTROYED), HasSubstr("Device::reset()"));
}

TEST(CudaDriver, SaysWhatACaptureForbids) {
  EXPECT_THAT(remedy_for(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED), HasSubstr("a stream is being captured"));
  EXPECT_THAT(remedy_for(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED), HasSubstr("an earlier call in the capture"));
  EXPECT_THAT(remedy_for(CUDA_ERROR_STREAM_CAPTURE_UNJOINED), HasSubstr("has work that the captured stream does not wait for"));
  EXPECT_THAT(remedy_for(CUDA_ERROR_STREAM_CAPTURE_ISOLATION), HasSubstr("waits for an event of work that is not captured"));
  EXPECT_THAT(remedy_for(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT), HasSubstr("legacy default stream"));
  EXPECT_THAT(remedy_for(CUDA_ERROR_CAPTURED_EVENT), HasSubstr("recorded in a capture"));
  EXPECT_THAT(remedy_for(CUDA_ERROR_NOT_PERMITTED), HasSubstr("callback"));
}

TEST(CudaDriver, TellsFaultsFromErrorsThatPass) {
  EXPECT_TRUE(is_sticky(CUDA_ERROR_MISALIGNED_ADDRESS));
  EXPECT_TRUE(is_sticky(CUDA_ERROR_ASSERT));
  EXPECT_FALSE(is_sticky(CUDA_ERROR_OUT_OF_MEMORY));
  EXPECT_FALSE(is_sticky(CUDA_ERROR_INVALID_VALUE));
  EXPECT_THAT(remedy_for(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES), Not(HasSubstr("context is lost")));
  EXPECT_THAT(remedy_for(CUDA_ERROR_UNSUPPORTED_PTX_VERSION), HasSubstr("DAMO_NVRTC_PATH"));
}

}  // namespace
}  // namespace damo::cuda_backend
