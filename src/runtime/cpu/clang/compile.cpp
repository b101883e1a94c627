#include "compile.hpp"

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include <vector>

#include "codegen.hpp"
#include "coroutine.hpp"
#include "frontend.hpp"
#include "lower_cuda.hpp"
#include "plugin.h"
#include "target.hpp"

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

struct Choice {
  Form form = Form::kLoops;
  bool guarded = true;
};

/// Takes the plugin's own flags out of flags: what the last of them asks for.
Choice take_choice(std::vector<const char*>& flags) {
  Choice choice;
  std::erase_if(flags, [&](const llvm::StringRef flag) {
    if (flag == "--damo-coroutines") return choice.form = Form::kCoroutines, true;
    if (flag == "--damo-reference") return choice.form = Form::kReference, true;
    if (flag == "--damo-unguarded") return choice.guarded = false, true;
    return false;
  });
  return choice;
}

/// found: if it holds anything the output is not to be used; a next try is given it as without_avx512.
Output compile_for(const damo_clang_request& request, const Target& target, Choice choice, const Unsound& without_avx512, const Progress& progress, Unsound& found) {
  Output output;
  llvm::LLVMContext context;
  std::string errors;
  context.setDiagnosticHandler(std::make_unique<BackendDiagnostics>(errors));
  FrontendResult front = run_frontend(request, target, context);
  output.log = std::move(front.log);
  if (!front.module) return output;
  if (front.check) choice.form = Form::kReference;
  if (!check_types(*front.module, errors)) {
    output.log += errors;
    return output;
  }
  if (request.language == DAMO_CLANG_CUDA_C) {
    call_language_c(*front.module);
    const Lowered lowered = lower_cuda(*front.module, front.kernels, {.form = choice.form, .check = front.check}, progress, errors);
    if (lowered != Lowered::kYes) {
      output.is_broken = lowered == Lowered::kBroken;
      output.log += errors;
      return output;
    }
    output.signatures = signatures(front.kernels);
  }
  const Effort effort = choice.form == Form::kReference ? Effort::kLittle : Effort::kFull;
  // Loops over elements have no statements side by side that would be worth the time.
  const bool slp = !choice.guarded || request.language == DAMO_CLANG_CUDA_C;
  Generated generated = generate_object(*front.module, front.kernels, target, {.effort = effort, .guarded = choice.guarded, .slp = slp, .without_avx512 = without_avx512}, progress);
  errors += generated.error;
  found = std::move(generated.found);
  output.object = std::move(generated.object);
  output.ok = generated.ok && errors.empty();
  output.log += errors;
  return output;
}

}  // namespace

Output compile(const damo_clang_request& asked, const Progress& progress) {
  initialize_llvm();
  damo_clang_request request = asked;
  std::vector<const char*> flags;
  for (const char* const* flag = asked.flags; flag && *flag; ++flag) flags.push_back(*flag);
  const Choice choice = take_choice(flags);
  flags.push_back(nullptr);
  request.flags = flags.data();
  const Target target = resolve_target(request.cpu, request.features, choice.guarded);
  for (Unsound without_avx512;;) {
    Unsound found;
    Output output = compile_for(request, target, choice, without_avx512, progress, found);
    if (found.empty() || !output.ok) return output;
    without_avx512.merge(found);
  }
}

}  // namespace damo::clang_plugin
