// Finds the names that CUDA C declares, without a compiler: what NVRTC must be told before it compiles, so that kernels
// and variables can be found by the names in the text, and what an error can say of templates. It reads declarations and
// skips bodies; preprocessor lines are not followed. So it is a guess: a name in a branch that is compiled out is listed,
// one that a macro makes is not. See tests/runtime/kernel/kernel_scan_test.cpp.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace damo {

/// A kernel's definition, or that of a template of kernels.
struct ScannedKernel {
  std::string name;        ///< with its namespaces
  std::string parameters;  ///< as written, without comments: "const float* x, int n"
  bool is_template;
  std::size_t line;
};

/// With their namespaces, "space::name", in the order of the text; each once.
struct ScannedNames {
  std::vector<std::string> kernels;    ///< __global__ functions with a body that are no template
  std::vector<std::string> templates;  ///< __global__ templates
  std::vector<std::string> variables;  ///< __device__ and __constant__ variables
  std::vector<ScannedKernel> definitions;  ///< of kernels and templates, also of several that share a name
};

ScannedNames scan_names(std::string_view source);

/// What an error says of kernels that share a name: "k(float* x) in line 3, space::k(int* x) in line 7". Templates are left out.
std::string kernels_of_name(const ScannedNames& scanned, std::string_view name);

}  // namespace damo
