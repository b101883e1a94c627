// NvrtcCompiler: kernel text -> cubin for one GPU architecture, in the calling thread. Where the GPU is newer than the
// toolkit the result is PTX, which the driver translates when it loads it.
// Generated text stands on the embedded prelude and includes nothing. A user's CUDA C may include CUDA's own headers,
// where the toolkit has them, and may name instances of templates as kernels. Both keep their own line numbers.
// Touches no GPU. Thread-safe. See tests/runtime/cuda/nvrtc_test.cpp.
#pragma once
#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "runtime/backend.hpp"

namespace damo {
struct SourceEdits;  // kernel/host_code.hpp
}

namespace damo::cuda_backend {

class NameGuesses;  // name_guesses.hpp

class NvrtcCompiler : public Compiler {
 public:
  /// architecture: 90 for sm_90. Opens nothing.
  explicit NvrtcCompiler(int architecture);

  /// "nvrtc libnvrtc.so.13.0.88 sm_90 0123456789abcdef".
  const std::string& stamp() const override { return stamp_; }
  /// Throws CompileError for what is wrong with the source, DeviceError without NVRTC or if it does not know the GPU.
  CompiledCode compile(const CompileRequest& request) const override;
  int threads() const override;

 private:
  std::vector<std::string> options(const CompileRequest& request) const;
  std::optional<CompiledCode> try_compile(const CompileRequest& request, const SourceEdits& edits, NameGuesses& guesses) const;

  int architecture_;
  std::string stamp_;
  mutable std::atomic<bool> minimal_{true}, splits_{true};  // until NVRTC turns out not to know the option
};

}  // namespace damo::cuda_backend
