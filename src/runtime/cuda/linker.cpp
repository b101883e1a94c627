// CudaBackend::link: several pieces of GPU code as one, by the driver's linker.
#include <algorithm>
#include <array>

#include <damo/error.hpp>
#include <damo/log.hpp>

#include "runtime/cuda/backend.hpp"
#include "runtime/cuda/code_container.hpp"

namespace damo::cuda_backend {
namespace {

CUjitInputType input_type(CodePart::Kind kind, std::span<const std::byte> code) {
  switch (kind) {
    case CodePart::Kind::kPtx: return CU_JIT_INPUT_PTX;
    case CodePart::Kind::kFatbin: return CU_JIT_INPUT_FATBINARY;
    case CodePart::Kind::kObject: return CU_JIT_INPUT_OBJECT;
    case CodePart::Kind::kLibrary: return CU_JIT_INPUT_LIBRARY;
    case CodePart::Kind::kCubin: return CU_JIT_INPUT_CUBIN;
    case CodePart::Kind::kCompiled: break;
  }
  return !code.empty() && code[0] == std::byte{0x7f} ? CU_JIT_INPUT_CUBIN : CU_JIT_INPUT_PTX;  // ELF, or text
}

/// One CUlinkState, whose logs it holds.
class Linker {
 public:
  Linker(const Driver& driver, const CompileOptions& options) : driver_(driver) {
    add(CU_JIT_ERROR_LOG_BUFFER, errors_.data());
    add(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, reinterpret_cast<void*>(errors_.size()));
    add(CU_JIT_INFO_LOG_BUFFER, notes_.data());
    add(CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, reinterpret_cast<void*>(notes_.size()));
    if (options.line_info) add(CU_JIT_GENERATE_LINE_INFO, reinterpret_cast<void*>(1));
    if (options.max_registers > 0)
      add(CU_JIT_MAX_REGISTERS, reinterpret_cast<void*>(static_cast<std::size_t>(options.max_registers)));
    check(driver_.link_create(count_, names_.data(), values_.data(), &state_), "cuLinkCreate");
  }
  Linker(const Linker&) = delete;
  Linker& operator=(const Linker&) = delete;
  ~Linker() { driver_.link_destroy(state_); }

  void add_part(const CodePart& part, std::span<const std::byte> code) {
    // The driver only reads, though it does not say so.
    auto* const data = const_cast<void*>(static_cast<const void*>(code.data()));
    const CUresult result = driver_.link_add_data(state_, input_type(part.kind, code), data, code.size(),
                                                  part.name.c_str(), 0, nullptr, nullptr);
    if (result != CUDA_SUCCESS) fail_with_log(result, "cuLinkAddData", part.name);
  }

  std::vector<std::byte> complete() {
    void* cubin = nullptr;
    std::size_t bytes = 0;
    const CUresult result = driver_.link_complete(state_, &cubin, &bytes);
    if (result != CUDA_SUCCESS) fail_with_log(result, "cuLinkComplete", "the linked module");
    if (notes_[0]) log(LogLevel::kDebug, std::string("linking: ") + notes_.data());
    const auto* const begin = static_cast<const std::byte*>(cubin);  // the state's own
    return {begin, begin + bytes};
  }

 private:
  void add(CUjit_option name, void* value) {
    names_[count_] = name;
    values_[count_++] = value;
  }
  [[noreturn]] void fail_with_log(CUresult result, const char* call, const std::string& name) const {
    fail(result, call, name + (errors_[0] ? ": " + std::string(errors_.data()) : std::string()));
  }

  const Driver& driver_;
  CUlinkState state_ = nullptr;
  std::array<char, 8192> errors_{}, notes_{};
  std::array<CUjit_option, 6> names_{};
  std::array<void*, 6> values_{};
  unsigned count_ = 0;
};

}  // namespace

std::vector<std::byte> CudaBackend::link(std::span<const CodePart> parts, const CompileOptions& options) {
  bind();
  CodeContainer linked;
  Linker linker(driver_, options);
  for (const CodePart& part : parts) {
    if (part.kind != CodePart::Kind::kCompiled) {
      linker.add_part(part, part.bytes);
      continue;
    }
    CodeContainer container = unpack(part.bytes);
    linker.add_part(part, container.code);
    linked.names.merge(container.names);
  }
  linked.code = linker.complete();
  return pack(linked);
}

}  // namespace damo::cuda_backend
