// CpuCompiler: the compiler plugin as the kernel cache sees it.
#pragma once
#include "runtime/backend.hpp"

namespace damo {

class CpuCompiler final : public Compiler {
 public:
  /// Clang's version, the prelude's digest, the instructions that code may use (isa_level.hpp): known without opening the plugin. Good
  /// until the thread asks again.
  const std::string& stamp() const override;
  /// The ELF object. Throws CompileError with the user's lines; DeviceError if there is no plugin.
  CompiledCode compile(const CompileRequest& request) const override;
  int threads() const override;
};

}  // namespace damo
