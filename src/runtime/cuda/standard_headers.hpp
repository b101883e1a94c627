// Headers of C and C++ that programs for nvcc include and NVRTC does not bring: given to it in memory. C's are empty (NVRTC
// declares the functions, our prelude the types); C++'s are the device part of std, src/runtime/kernel/cuda_c.
#pragma once
#include <string>
#include <vector>

namespace damo::cuda_backend {

struct HeaderSet {
  std::vector<const char*> names, texts;  ///< that live as long as the set is used
  void add(const char* name, const char* text);
};

/// with_cuda: also cuda_runtime.h and its like, empty: for an NVRTC whose toolkit has no headers.
HeaderSet standard_headers(bool with_cuda);

/// Whether the source names std without including a header of it; then the text goes first.
bool needs_std(const std::string& source);
inline constexpr const char* kIncludeStd = "#include \"cuda_std.h\"\n";

}  // namespace damo::cuda_backend
