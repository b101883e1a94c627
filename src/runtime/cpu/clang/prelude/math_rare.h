// Functions with rare arguments: what is right for all of them costs several times what is right for nearly all. A loop
// computes the usual way for all elements, and the other one only where a vector holds a rare argument.
#pragma once
#include "math_support.h"

namespace damo::math {

#if defined(__clang__)
// is_rare ? what rare() gives of x : usual. Has no body: rare_arguments.cpp gives the loop vectoriser a form of it for
// vectors, and writes the branch. rare(x, y, n) sets y[i] for those x[i] that are rare.
extern "C" __attribute__((const)) float damo_unless_rare_float(bool is_rare, float x, float usual, void (*rare)(const float*, float*, int));
extern "C" __attribute__((const)) double damo_unless_rare_double(bool is_rare, double x, double usual, void (*rare)(const double*, double*, int));
DAMO_MATH float unless_rare(bool is_rare, float x, float usual, void (*rare)(const float*, float*, int)) { return damo_unless_rare_float(is_rare, x, usual, rare); }
DAMO_MATH double unless_rare(bool is_rare, double x, double usual, void (*rare)(const double*, double*, int)) { return damo_unless_rare_double(is_rare, x, usual, rare); }

// A call: its text stands once, whatever the loops that may get here.
template <class T, bool (*is_rare)(T), T (*of_any)(T)>
__attribute__((noinline)) static void set_rare(const T* x, T* y, int n) {
#pragma clang loop vectorize(assume_safety) interleave_count(1)
  for (int i = 0; i < n; ++i) {
    const T value = of_any(x[i]);  // of each: a loop without a branch becomes vectors
    y[i] = is_rare(x[i]) ? value : y[i];
  }
}
#endif

// What a function gives of x: usual, which is right unless is_rare(x), or of_any(x). Each element's own argument decides,
// not those of its neighbours.
template <class T, bool (*is_rare)(T), T (*of_any)(T)>
DAMO_MATH T unless_rare(T x, T usual) {
#if defined(__clang__)
  return unless_rare(is_rare(x), x, usual, &set_rare<T, is_rare, of_any>);
#else
  return is_rare(x) ? of_any(x) : usual;
#endif
}

}  // namespace damo::math
