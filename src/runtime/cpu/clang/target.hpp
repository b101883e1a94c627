// Which machine is compiled for: LLVM's names of its CPU and of its features.
#pragma once
#include <string>
#include <vector>

namespace damo::clang_plugin {

inline constexpr const char* kTriple = "x86_64-unknown-linux-gnu";

struct Target {
  std::string cpu;
  std::vector<std::string> features;  ///< "+avx2", "-sse4a", sorted

  std::string feature_string() const;
  bool has_avx512() const;
  /// The same CPU without AVX-512 of any kind.
  Target without_avx512() const;
};

/// cpu null: this host's, or the level that the name says ("x86-64-v3"); features null: that CPU's own. Never with AVX-512 FP16,
/// whatever the names imply (miscompilations.hpp); guarded false leaves it in.
Target resolve_target(const char* cpu, const char* features, bool guarded = true);

/// Registers the x86 back end once.
void initialize_llvm();

}  // namespace damo::clang_plugin
