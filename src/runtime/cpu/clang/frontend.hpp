// Source text -> LLVM module, by Clang in this process, with the prelude precompiled once per language and target.
#pragma once
#include <llvm/IR/Module.h>

#include <memory>
#include <string>
#include <vector>

#include "kernels.hpp"
#include "target.hpp"

struct damo_clang_request;

namespace damo::clang_plugin {

struct FrontendResult {
  std::unique_ptr<llvm::Module> module;  ///< null after an error
  std::string log;
  std::vector<KernelInfo> kernels;  ///< CUDA C
};

/// flags: Clang's, in place of the request's.
FrontendResult run_frontend(const damo_clang_request& request, const std::vector<std::string>& flags, bool line_tables, const Target& target, llvm::LLVMContext& context);

}  // namespace damo::clang_plugin
