#include "runtime/cpu/cpu_compiler.hpp"

#include <sched.h>

#include <cstdlib>

#include <damo/error.hpp>

#include "graph/base/environment.hpp"
#include "runtime/cpu/clang_plugin.hpp"
#include "runtime/cpu/isa_level.hpp"
#include "runtime/kernel/host_code.hpp"

namespace damo {

namespace {

/// What the threads of CUDA C become, for comparing (clang/lower_cuda.hpp): DAMO_CPU_FORM, "" by default.
std::string wanted_form() {
  const std::string form = environment("DAMO_CPU_FORM");
  if (form.empty() || form == "coroutines" || form == "reference") return form;
  throw OptionError("DAMO_CPU_FORM is '" + form + "', which is no form of kernels", "say coroutines or reference, or leave it unset");
}

/// Before the text, whose first line comes after it. Fast: sums in any order, so that loops over them vectorise. Pragmas, not flags, so that the prelude's functions stay as exact as they are.
std::string pragmas(bool is_fast, bool contracts, const std::string& file_name) {
  if (!is_fast && contracts) return {};
  return std::string("#pragma clang fp") + (is_fast ? " reassociate(on) reciprocal(on)" : "") + (contracts ? "" : " contract(off)") + "\n#line 1 \"" + file_name + "\"\n";
}

std::vector<std::string> flags_of(const CompileRequest& request) {
  std::vector<std::string> flags;
  for (const auto& [name, value] : request.options.defines) flags.push_back("-D" + name + "=" + value);
  for (const std::string& directory : request.options.include_directories) flags.push_back("-I" + directory);
  if (!request.options.standard.empty()) flags.push_back("-std=" + request.options.standard);
  if (!request.options.line_info) flags.push_back("--damo-no-line-tables");
  if (request.options.check) flags.push_back("--damo-check");
  flags.insert(flags.end(), request.flags.begin(), request.flags.end());
  return flags;
}

CompiledCode compile_text(const CompileRequest& request, const SourceEdits& edits) {
  const bool is_cuda_c = request.kind == SourceKind::kCudaC;
  const bool is_fast = is_cuda_c && request.options.fast_math;
  const std::string source = pragmas(is_fast, request.options.contract, request.file_name) + (is_cuda_c ? without_function_instances(request.source) : request.source);
  std::vector<std::string> flags = flags_of(request);
  if (is_cuda_c) {
    if (const std::string form = wanted_form(); !form.empty()) flags.push_back("--damo-" + form);
    for (const std::string& name : edits.own_types) flags.push_back("-D" + own_type_macro(name));
  }
  std::vector<std::string> files;
  for (const auto& [path, text] : edits.files) files.insert(files.end(), {path, text});
  cpu_backend::CompileOutput output = cpu_backend::compile(
      {.source = source,
       .file_name = request.file_name,
       .language = is_cuda_c ? cpu_backend::SourceLanguage::kCudaC : cpu_backend::SourceLanguage::kLoops,
       .kernels = is_cuda_c ? request.kernels : std::vector<std::string>(),
       .flags = std::move(flags),
       .files = std::move(files)});
  if (!output.ok) {
    const bool is_file = request.kernels.empty() || request.kernels.front() == kAllKernels;
    const std::string what = is_file ? "'" + request.file_name + "'" : "kernel '" + request.kernels.front() + "'";
    throw CompileError(what + " does not compile for the CPU", output.log, request.source);
  }
  return {.bytes = std::move(output.object), .log = std::move(output.log)};
}

}  // namespace

const std::string& CpuCompiler::stamp() const {
  const std::string level = cpu_backend::isa_level(), form = wanted_form();
  static thread_local std::string stamp;  // the environment may change between two compiles
  stamp = cpu_backend::cache_stamp() + " for " + (level.empty() ? cpu_backend::host_isa() : level) + (form.empty() ? "" : " " + form);
  return stamp;
}

CompiledCode CpuCompiler::compile(const CompileRequest& request) const { return compile_past_host_code(request, compile_text); }

/// The cores that this process may use.
int CpuCompiler::threads() const {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

}  // namespace damo
