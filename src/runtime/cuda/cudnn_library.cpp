#include "runtime/cuda/cudnn_library.hpp"

#include <dlfcn.h>

#include <optional>
#include <type_traits>

#include <damo/error.hpp>
#include <damo/log.hpp>

#include "graph/base/environment.hpp"
#include "runtime/cuda/nvrtc_library.hpp"

namespace damo::cuda_backend {
namespace {

constexpr const char *kCudnnFile = "libcudnn.so.9", *kCudnnVariable = "DAMO_CUDNN_PATH";

bool look_up_all(void* handle, CudnnLibrary& library) {
  bool complete = true;
  const auto look_up = [&](const char* symbol, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, symbol));
    complete = complete && function;
  };
  look_up("cudnnGetVersion", library.version);
  look_up("cudnnGetErrorString", library.error_string);
  look_up("cudnnCreate", library.create);
  look_up("cudnnSetStream", library.set_stream);
  look_up("cudnnCreateTensorDescriptor", library.tensor_create);
  look_up("cudnnDestroyTensorDescriptor", library.tensor_destroy);
  look_up("cudnnSetTensorNdDescriptor", library.tensor_set);
  look_up("cudnnCreateFilterDescriptor", library.filter_create);
  look_up("cudnnDestroyFilterDescriptor", library.filter_destroy);
  look_up("cudnnSetFilterNdDescriptor", library.filter_set);
  look_up("cudnnCreateConvolutionDescriptor", library.convolution_create);
  look_up("cudnnDestroyConvolutionDescriptor", library.convolution_destroy);
  look_up("cudnnSetConvolutionNdDescriptor", library.convolution_set);
  look_up("cudnnSetConvolutionMathType", library.convolution_set_math);
  look_up("cudnnSetConvolutionGroupCount", library.convolution_set_groups);
  look_up("cudnnGetConvolutionForwardWorkspaceSize", library.forward_workspace);
  look_up("cudnnGetConvolutionBackwardDataWorkspaceSize", library.by_input_workspace);
  look_up("cudnnGetConvolutionBackwardFilterWorkspaceSize", library.by_weight_workspace);
  look_up("cudnnConvolutionForward", library.forward);
  look_up("cudnnConvolutionBackwardData", library.by_input);
  look_up("cudnnConvolutionBackwardFilter", library.by_weight);
  return complete;
}

/// Why there is none; empty if there is.
std::string open(CudnnLibrary& library, bool is_chosen) {
  library.path = find_toolkit_library(kCudnnFile, kCudnnVariable);
  if (library.path.empty() && is_chosen) return std::string(kCudnnFile) + " is not there";
  if (library.path.empty()) library.path = kCudnnFile;  // where the loader looks, or open already
  void* handle = dlopen(library.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* reason = dlerror();
    return library.path + " cannot be opened" + (reason ? std::string(": ") + reason : "");
  }
  if (!look_up_all(handle, library)) return library.path + " is too old, or no cuDNN at all";
  const std::size_t version = library.version();
  library.name = "cuDNN " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." + std::to_string(version % 100) + ", " + library.path;
  return {};
}

/// Never closed: its handles and kernels live as long as the process.
std::optional<CudnnLibrary> open_cudnn() {
  const std::string chosen = environment(kCudnnVariable);
  if (chosen == "none") return std::nullopt;
  CudnnLibrary library;
  const std::string problem = open(library, !chosen.empty());
  if (problem.empty()) return library;
  if (!chosen.empty()) throw DeviceError("DAMO_CUDNN_PATH is '" + chosen + "', which holds no cuDNN: " + problem, "give libcudnn.so.9 or its directory, or none");
  log(LogLevel::kInfo, "cuda: no cuDNN (" + problem + "): convolutions run as kernels of Damo's own, which are much slower where they are large; install cuDNN 9, "
                       "or name its directory with DAMO_CUDNN_PATH");
  return std::nullopt;
}

}  // namespace

const CudnnLibrary* cudnn() {
  static const std::optional<CudnnLibrary> opened = open_cudnn();
  return opened ? &*opened : nullptr;
}

void check_cudnn(int status, const char* call) {
  if (status != 0) throw DeviceError(std::string(call) + " failed: " + cudnn()->error_string(status), cudnn()->name);
}

}  // namespace damo::cuda_backend
