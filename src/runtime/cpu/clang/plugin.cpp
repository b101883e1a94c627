// What the runtime calls; one compile from request to object: front end, CUDA lowering where asked, optimiser, code generator.
#include "plugin.h"

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/raw_ostream.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "codegen.hpp"
#include "frontend.hpp"
#include "locate.hpp"
#include "lower_cuda.hpp"
#include "lowering_steps.hpp"
#include "prelude_digest.hpp"
#include "target.hpp"

#define DAMO_EXPORT __attribute__((visibility("default")))

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

/// What a request's flags ask for.
struct Choice {
  Form form = Form::kLoops;
  Options options = {};
  bool check = false, line_tables = true;
  std::vector<std::string> flags = {};  ///< those that are Clang's
};

Choice read_flags(const damo_clang_request& request) {
  const bool is_cuda = request.language == DAMO_CLANG_CUDA_C;
  Choice choice;
  for (const char* const* at = request.flags; at && *at; ++at) {
    const std::string flag = *at;
    if (flag == "--damo-coroutines") choice.form = Form::kCoroutines;
    else if (flag == "--damo-reference") choice.form = Form::kReference;
    else if (flag == "--damo-unguarded") choice.options.guarded = false;
    else if (flag == "--damo-no-line-tables") choice.line_tables = false;
    else if (flag == "--damo-check") choice.check = is_cuda;
    else choice.flags.push_back(flag);
  }
  if (choice.check) choice.form = Form::kReference, choice.line_tables = true;
  choice.options.full = choice.form != Form::kReference;
  // Loops over elements have no statements side by side that would be worth the time.
  choice.options.slp = !choice.options.guarded || is_cuda;
  return choice;
}

struct Output {
  bool ok = false;
  bool is_broken = false;  ///< not ok, and not the text's fault: another form may do
  std::string object, log;
};

/// found: if it holds anything the output is not to be used; a next try is given it as choice.options.without_avx512.
Output compile_for(const damo_clang_request& request, const Target& target, const Choice& choice, const Progress& progress, Unsound& found) {
  Output output;
  llvm::LLVMContext context;
  std::string errors;
  context.setDiagnosticHandler(std::make_unique<BackendDiagnostics>(errors));
  FrontendResult front = run_frontend(request, choice.flags, choice.line_tables, target, context);
  output.log = std::move(front.log);
  if (!front.module) return output;
  if (!check_types(*front.module, errors)) {
    output.log += errors;
    return output;
  }
  if (request.language == DAMO_CLANG_CUDA_C) {
    call_language_c(*front.module);
    const Lowered lowered = lower_cuda(*front.module, front.kernels, {.form = choice.form, .check = choice.check}, progress, errors);
    if (lowered != Lowered::kYes) {
      output.is_broken = lowered == Lowered::kBroken;
      output.log += errors;
      return output;
    }
  }
  Generated generated = generate_object(*front.module, front.kernels, target, choice.options, progress);
  errors += generated.error;
  found = std::move(generated.found);
  output.object = std::move(generated.object);
  output.ok = generated.ok && errors.empty();
  output.log += errors;
  return output;
}

Output compile(const damo_clang_request& request, const Progress& progress) {
  initialize_llvm();
  Choice choice = read_flags(request);
  const Target target = resolve_target(request.cpu, request.features, choice.options.guarded);
  for (;;) {
    Unsound found;
    Output output = compile_for(request, target, choice, progress, found);
    if (found.empty() || !output.ok) return output;
    choice.options.without_avx512.merge(found);
  }
}

char* copy_text(const std::string& text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

}  // namespace
}  // namespace damo::clang_plugin

using namespace damo::clang_plugin;

extern "C" {

DAMO_EXPORT void damo_clang_compile(const damo_clang_request* request, damo_clang_result* result) {
  Output output = compile(*request, {result->at, sizeof result->at});
  result->ok = output.ok ? 1 : output.is_broken ? -1 : 0;
  result->object = copy_text(output.object);
  result->object_bytes = output.object.size();
  result->log = copy_text(output.log);
}

DAMO_EXPORT void damo_clang_release(damo_clang_result* result) {
  std::free(result->object);
  std::free(result->log);
  *result = damo_clang_result{};
}

DAMO_EXPORT void damo_clang_locate(const char* object, size_t object_bytes, size_t section, unsigned long long offset, char* place,
                                   size_t place_bytes) {
  const std::string text = locate({object, object_bytes}, section, offset);
  std::snprintf(place, place_bytes, "%s", text.c_str());
}

DAMO_EXPORT const char* damo_clang_version(void) { return "clang " DAMO_LLVM_VERSION " prelude " DAMO_PRELUDE_DIGEST; }

}  // extern "C"
