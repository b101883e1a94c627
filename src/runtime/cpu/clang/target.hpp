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
  bool has(const char* feature) const;
};

/// cpu or features null: this host's.
Target resolve_target(const char* cpu, const char* features);

/// Registers the x86 back end once.
void initialize_llvm();

}  // namespace damo::clang_plugin
