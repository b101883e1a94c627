// The prelude's functions as loops over arrays. Each build (with and without FMA, by this or that compiler)
// registers its own set, so that one test measures them all.
#pragma once
#include <cstddef>
#include <vector>

namespace damo::math_test {

struct FloatLoop {
  const char* name;
  void (*run)(const float* x, const float* y, float* out, std::size_t n);  ///< unary functions ignore y
};
struct DoubleLoop {
  const char* name;
  void (*run)(const double* x, const double* y, double* out, std::size_t n);
};
struct Build {
  const char* name;
  std::vector<FloatLoop> floats;
  std::vector<DoubleLoop> doubles;
};

Build build_with_fma();     ///< empty where the tests were not built for this CPU
Build build_without_fma();

}  // namespace damo::math_test
