#include "runtime/cpu/cpu_compiler.hpp"

#include <sched.h>

#include <damo/error.hpp>

#include "runtime/cpu/clang_plugin.hpp"
#include "runtime/kernel/own_types.hpp"

namespace damo {

const std::string& CpuCompiler::stamp() const {
  static const std::string stamp = cpu_backend::cache_stamp() + " for " + cpu_backend::host_isa();
  return stamp;
}

CompiledCode CpuCompiler::compile(const CompileRequest& request) const {
  const bool is_cuda_c = request.kind == SourceKind::kCudaC;
  std::vector<std::string> flags = request.flags;
  if (is_cuda_c) {
    for (const std::string& name : own_types(request.source)) flags.push_back("-D" + own_type_macro(name));
  }
  cpu_backend::CompileOutput output = cpu_backend::compile(
      {.source = request.source,
       .file_name = request.file_name,
       .language = is_cuda_c ? cpu_backend::SourceLanguage::kCudaC : cpu_backend::SourceLanguage::kLoops,
       .kernels = is_cuda_c ? request.kernels : std::vector<std::string>(),
       .flags = std::move(flags)});
  if (!output.ok) {
    const std::string what =
        request.kernels.empty() ? "'" + request.file_name + "'" : "kernel '" + request.kernels.front() + "'";
    throw CompileError(what + " does not compile for the CPU", output.log, request.source);
  }
  return {.bytes = std::move(output.object), .log = std::move(output.log)};
}

/// The cores that this process may use.
int CpuCompiler::threads() const {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

}  // namespace damo
