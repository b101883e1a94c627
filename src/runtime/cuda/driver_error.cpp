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

std::string remedy_for_fault(const std::string& device) {
  return "the CUDA context is lost: every later call on " + device + " fails. Start a new process; Device(\"" + device +
         "\").reset() asks the driver for a new context, which today's refuse after a fault. Run the program under "
         "compute-sanitizer, which names the kernel's line";
}

namespace {

/// Null for other errors.
const char* remedy_for_capture(CUresult result) {
  switch (result) {
    case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
      return "a stream is being captured: wait for streams and for the device, read results and use the legacy default "
             "stream before the capture or after it";
    case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
      return "an earlier call in the capture was not allowed there and spoiled it: look at that one's error";
    case CUDA_ERROR_STREAM_CAPTURE_MERGE:
      return "two captures cannot be joined: capture one stream after the other";
    case CUDA_ERROR_STREAM_CAPTURE_UNMATCHED:
    case CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD:
      return "end a capture on the stream, and in the thread, where it began";
    case CUDA_ERROR_STREAM_CAPTURE_UNJOINED:
      return "a stream that joined the capture by an event has work that the captured stream does not wait for: record "
             "an event on it and let the captured stream wait for that before the end";
    case CUDA_ERROR_STREAM_CAPTURE_ISOLATION:
      return "the captured stream waits for an event of work that is not captured: record the event inside the "
             "capture, or wait for it before";
    case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
      return "work on CUDA's legacy default stream waits for the captured one: give it another stream, or capture a "
             "Stream made with {.non_blocking = true}";
    case CUDA_ERROR_CAPTURED_EVENT:
      return "an event recorded in a capture orders work inside the graph; to wait or to measure, record one outside "
             "the capture";
    default:
      return nullptr;
  }
}

}  // namespace

std::string remedy_for(CUresult result) {
  if (result == CUDA_ERROR_ECC_UNCORRECTABLE) {
    return "the GPU's memory is at fault and this process's CUDA context is lost; look at nvidia-smi -q -d ECC";
  }
  if (is_sticky(result)) {
    return "a kernel launched earlier faulted: this process's CUDA context is lost and every later call on the GPU fails. "
           "Start a new process; Device::reset() asks the driver for a new context, which today's refuse after a fault. With "
           "DAMO_SYNC=1 in the environment the launch that faults throws; compute-sanitizer names the kernel's line";
  }
  if (const char* remedy = remedy_for_capture(result)) return remedy;
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
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
      return "another library has reset the GPU: Device::reset() makes Damo's context anew";
    case CUDA_ERROR_NOT_PERMITTED:
      return "a callback on a stream may not use the GPU: let it wake a thread that does";
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
