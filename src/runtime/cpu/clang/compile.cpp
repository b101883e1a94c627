#include "compile.hpp"

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include <vector>

#include "codegen.hpp"
#include "debug_language.hpp"
#include "frontend.hpp"
#include "lower_cuda.hpp"
#include "plugin.h"
#include "target.hpp"
#include "unsupported_types.hpp"

namespace damo::clang_plugin {
namespace {

/// Keeps the back end's errors (inline assembly, stack size), drops its remarks.
struct BackendDiagnostics : llvm::DiagnosticHandler {
  explicit BackendDiagnostics(std::string& errors) : errors(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() == llvm::DS_Error) {
      llvm::raw_string_ostream stream(errors);
      llvm::DiagnosticPrinterRawOStream printer(stream);
      info.print(printer);
      stream << '\n';
    }
    return true;
  }
  std::string& errors;
};

/// Takes the plugin's own flags out of flags: the form that the last of them asks for.
Form take_form(std::vector<const char*>& flags) {
  Form form = Form::kLoops;
  std::erase_if(flags, [&](const llvm::StringRef flag) {
    if (flag == "--damo-coroutines") return form = Form::kCoroutines, true;
    if (flag == "--damo-reference") return form = Form::kReference, true;
    return false;
  });
  return form;
}

}  // namespace

Output compile(const damo_clang_request& asked, const Progress& progress) {
  initialize_llvm();
  damo_clang_request request = asked;
  std::vector<const char*> flags;
  for (const char* const* flag = asked.flags; flag && *flag; ++flag) flags.push_back(*flag);
  Form form = take_form(flags);
  flags.push_back(nullptr);
  request.flags = flags.data();
  Output output;
  const Target target = resolve_target(request.cpu, request.features);
  llvm::LLVMContext context;
  std::string errors;
  context.setDiagnosticHandler(std::make_unique<BackendDiagnostics>(errors));
  FrontendResult front = run_frontend(request, target, context);
  output.log = std::move(front.log);
  if (!front.module) return output;
  if (front.check) form = Form::kReference;
  if (!check_types(*front.module, errors)) {
    output.log += errors;
    return output;
  }
  if (request.language == DAMO_CLANG_CUDA_C) {
    call_language_c(*front.module);
    const Lowered lowered = lower_cuda(*front.module, front.kernels, {.form = form, .check = front.check}, progress, errors);
    if (lowered != Lowered::kYes) {
      output.is_broken = lowered == Lowered::kBroken;
      output.log += errors;
      return output;
    }
    output.signatures = signatures(front.kernels);
  }
  const Effort effort = form == Form::kReference ? Effort::kLittle : Effort::kFull;
  output.ok = generate_object(*front.module, front.kernels, target, effort, progress, output.object, errors) && errors.empty();
  output.log += errors;
  return output;
}

}  // namespace damo::clang_plugin
