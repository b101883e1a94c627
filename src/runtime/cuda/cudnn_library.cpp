#include "runtime/cuda/cudnn_library.hpp"

#include <optional>

#include <damo/error.hpp>
#include <damo/log.hpp>

#include "graph/base/environment.hpp"
#include "runtime/cuda/toolkit_library.hpp"

namespace damo::cuda_backend {
namespace {

constexpr const char *kCudnnFile = "libcudnn.so.9", *kCudnnVariable = "DAMO_CUDNN_PATH";

void look_up_all(DynamicLibrary& opened, CudnnLibrary& library) {
  opened.find("cudnnGetVersion", library.version);
  opened.find("cudnnGetErrorString", library.error_string);
  opened.find("cudnnCreate", library.create);
  opened.find("cudnnSetStream", library.set_stream);
  opened.find("cudnnCreateTensorDescriptor", library.tensor_create);
  opened.find("cudnnDestroyTensorDescriptor", library.tensor_destroy);
  opened.find("cudnnSetTensorNdDescriptor", library.tensor_set);
  opened.find("cudnnCreateFilterDescriptor", library.filter_create);
  opened.find("cudnnDestroyFilterDescriptor", library.filter_destroy);
  opened.find("cudnnSetFilterNdDescriptor", library.filter_set);
  opened.find("cudnnCreateConvolutionDescriptor", library.convolution_create);
  opened.find("cudnnDestroyConvolutionDescriptor", library.convolution_destroy);
  opened.find("cudnnSetConvolutionNdDescriptor", library.convolution_set);
  opened.find("cudnnSetConvolutionMathType", library.convolution_set_math);
  opened.find("cudnnSetConvolutionGroupCount", library.convolution_set_groups);
  opened.find("cudnnGetConvolutionForwardWorkspaceSize", library.forward_workspace);
  opened.find("cudnnGetConvolutionBackwardDataWorkspaceSize", library.by_input_workspace);
  opened.find("cudnnGetConvolutionBackwardFilterWorkspaceSize", library.by_weight_workspace);
  opened.find("cudnnConvolutionForward", library.forward);
  opened.find("cudnnConvolutionBackwardData", library.by_input);
  opened.find("cudnnConvolutionBackwardFilter", library.by_weight);
}

/// Why there is none; empty if there is.
std::string open(CudnnLibrary& library, bool is_chosen) {
  library.path = find_toolkit_library(kCudnnFile, kCudnnVariable);
  if (library.path.empty() && is_chosen) return std::string(kCudnnFile) + " is not there";
  if (library.path.empty()) library.path = kCudnnFile;  // where the loader looks, or open already
  DynamicLibrary opened(library.path);
  look_up_all(opened, library);
  if (!opened.problem().empty()) return opened.problem();
  library.name = name_with_version("cuDNN", library.version(), 10000, library.path);
  return {};
}

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
