// What a CUresult means to the user.
#include <damo/error.hpp>

#include "runtime/cuda/driver.hpp"

namespace damo::cuda_backend {

bool is_sticky(CUresult result) {
  switch (result) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
      return true;
    default:
      return false;
  }
}

std::string remedy_for(CUresult result) {
  if (result == CUDA_ERROR_ECC_UNCORRECTABLE) {
    return "the GPU's memory is at fault and this process's CUDA context is lost; look at nvidia-smi -q -d ECC";
  }
  if (is_sticky(result)) {
    return "a kernel launched earlier faulted: this process's CUDA context is lost and every later call on the GPU "
           "fails. Run the program under compute-sanitizer, which names the kernel and its line";
  }
  switch (result) {
    case CUDA_ERROR_NO_DEVICE:
      return "no GPU is visible: look at nvidia-smi and CUDA_VISIBLE_DEVICES, or use Device(\"cpu\")";
    case CUDA_ERROR_INVALID_DEVICE:
      return "look at nvidia-smi and CUDA_VISIBLE_DEVICES for the GPUs that this process may use";
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
      return "another process holds the GPU in exclusive mode (nvidia-smi -q -d COMPUTE)";
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    case CUDA_ERROR_SYSTEM_NOT_READY:
      return "the driver's library and its kernel module differ, or a service of it does not run: reboot, or look at "
             "nvidia-smi and, on machines with NVSwitch, at nvidia-fabricmanager";
    case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
      return "this GPU does not take a forward compatibility package: install the newer driver itself";
    case CUDA_ERROR_STUB_LIBRARY:
      return "the libcuda.so.1 found is the toolkit's stub: take its stubs directory out of LD_LIBRARY_PATH";
    case CUDA_ERROR_NOT_INITIALIZED:
      return "CUDA does not survive fork(): in a child process, exec a program before using the GPU";
    case CUDA_ERROR_OUT_OF_MEMORY:
      return "free arrays, or see with nvidia-smi who else uses the GPU's memory";
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
      return "launch fewer threads a block or ask for less shared memory";
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
      return "the driver is older than the NVRTC that compiled this: update the driver, or name an older NVRTC with "
             "DAMO_NVRTC_PATH";
    default:
      return {};
  }
}

void fail(CUresult result, const char* call, std::string_view detail) {
  std::string message = std::string(call) + " failed: " + describe(result);
  if (!detail.empty()) message.append("; ").append(detail);
  throw DeviceError(std::move(message), remedy_for(result));
}

}  // namespace damo::cuda_backend
