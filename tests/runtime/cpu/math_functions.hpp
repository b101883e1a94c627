// The CPU prelude's functions as loops over arrays. math_functions.cpp is compiled twice, with and without FMA, so
// that one test measures both. Plain pointers only: nothing of the standard library may be compiled for AVX2 here.
#pragma once

namespace damo::math_test {

template <class T>
struct Loop {
  const char* name;
  void (*run)(const T* x, const T* y, T* out, long n);  ///< functions of one argument ignore y
};

struct Build {
  const char* name;
  const Loop<float>* floats;    ///< ends with a null name
  const Loop<double>* doubles;  ///< the same functions in the same order
};

Build build_with_fma();
Build build_without_fma();

}  // namespace damo::math_test
