// Source text -> LLVM module, by Clang in this process, with the prelude precompiled once per language and target.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "kernels.hpp"
#include "target.hpp"

struct damo_clang_request;
namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace damo::clang_plugin {

/// Flags of CUDA C that are Damo's own; the others are Clang's.
inline constexpr const char* kNoLineTables = "--damo-no-line-tables";
inline constexpr const char* kCheckMemory = "--damo-check";

struct FrontendResult {
  std::unique_ptr<llvm::Module> module;  ///< null after an error
  std::string log;
  std::vector<KernelInfo> kernels;  ///< CUDA C
  bool check = false;               ///< the flags ask for check_memory()

  FrontendResult();
  FrontendResult(FrontendResult&&) noexcept;
  ~FrontendResult();
};

FrontendResult run_frontend(const damo_clang_request& request, const Target& target, llvm::LLVMContext& context);

}  // namespace damo::clang_plugin
