// NvrtcProgram: one nvrtcProgram, for the length of a compile.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "runtime/cuda/nvrtc_library.hpp"
#include "runtime/cuda/standard_headers.hpp"

namespace damo::cuda_backend {

class NvrtcProgram {
 public:
  NvrtcProgram(const NvrtcLibrary& library, const std::string& source, const std::string& name, const HeaderSet& headers);
  ~NvrtcProgram();
  NvrtcProgram(const NvrtcProgram&) = delete;
  NvrtcProgram& operator=(const NvrtcProgram&) = delete;

  /// Before compile(): lowered_name() can then tell the expression's name in the code.
  void add_name(const std::string& expression);
  nvrtcResult compile(const std::vector<std::string>& options);
  std::string log() const;
  /// The cubin, or the PTX where the options named a virtual architecture.
  std::vector<std::byte> code() const;
  std::string lowered_name(const std::string& expression) const;

 private:
  void check(nvrtcResult result, const char* call) const;
  const NvrtcLibrary& library_;
  nvrtcProgram program_ = nullptr;
};

}  // namespace damo::cuda_backend
