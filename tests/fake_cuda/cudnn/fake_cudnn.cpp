// A libcudnn.so.9 that computes nothing, for the tests' own driver: it watches what handles do with streams. As cuDNN 9.14 does, a handle that goes
// from one stream to another records an event on the one that it leaves, so that one must be there, and neither may be captured.
#include <cuda.h>
#include <dlfcn.h>

#include <atomic>
#include <cstddef>

namespace {

struct Handle {
  CUstream stream = nullptr;
};
std::atomic<int> handles = 0, mistakes = 0;

/// 0: destroyed, 1: there, 2: captured.
int state_of(CUstream stream) {
  static const auto state = reinterpret_cast<int (*)(CUstream)>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "fake_cuda_stream_state"));
  return state(stream);
}

int on(const Handle* handle) {
  if (state_of(handle->stream) == 0) ++mistakes;
  return 0;
}

}  // namespace

#define DAMO_SHOWN __attribute__((visibility("default")))
extern "C" {

DAMO_SHOWN int fake_cudnn_handles() { return handles; }
/// Since the last call.
DAMO_SHOWN int fake_cudnn_take_mistakes() { return mistakes.exchange(0); }

DAMO_SHOWN std::size_t cudnnGetVersion() { return 91400; }
DAMO_SHOWN const char* cudnnGetErrorString(int) { return "no error"; }
DAMO_SHOWN int cudnnCreate(Handle** handle) {
  ++handles;
  *handle = new Handle;
  return 0;
}
DAMO_SHOWN int cudnnSetStream(Handle* handle, CUstream stream) {
  const CUstream left = handle->stream;
  if (left && left != stream && (state_of(left) != 1 || state_of(stream) != 1)) ++mistakes;
  handle->stream = stream;
  return 0;
}

#define DAMO_SUCCEEDS(name) \
  DAMO_SHOWN int name() { return 0; }
DAMO_SUCCEEDS(cudnnCreateTensorDescriptor)
DAMO_SUCCEEDS(cudnnDestroyTensorDescriptor)
DAMO_SUCCEEDS(cudnnSetTensorNdDescriptor)
DAMO_SUCCEEDS(cudnnCreateFilterDescriptor)
DAMO_SUCCEEDS(cudnnDestroyFilterDescriptor)
DAMO_SUCCEEDS(cudnnSetFilterNdDescriptor)
DAMO_SUCCEEDS(cudnnCreateConvolutionDescriptor)
DAMO_SUCCEEDS(cudnnDestroyConvolutionDescriptor)
DAMO_SUCCEEDS(cudnnSetConvolutionNdDescriptor)
DAMO_SUCCEEDS(cudnnSetConvolutionMathType)
DAMO_SUCCEEDS(cudnnSetConvolutionGroupCount)
DAMO_SUCCEEDS(cudnnGetConvolutionForwardWorkspaceSize)
DAMO_SUCCEEDS(cudnnGetConvolutionBackwardDataWorkspaceSize)
DAMO_SUCCEEDS(cudnnGetConvolutionBackwardFilterWorkspaceSize)

DAMO_SHOWN int cudnnConvolutionForward(Handle* handle) { return on(handle); }
DAMO_SHOWN int cudnnConvolutionBackwardData(Handle* handle) { return on(handle); }
DAMO_SHOWN int cudnnConvolutionBackwardFilter(Handle* handle) { return on(handle); }

}  // extern "C"
