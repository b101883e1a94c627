// FourierPlan: transforms of one extent, of several arrays side by side. Stockham's form of Cooley and Tukey's method, which needs no permutation, in steps of 4, 2, 3, 5, 7,
// 11 and 13; extents with greater prime factors by Bluestein's method, as a convolution of a power of 2 (Van Loan 1992, Computational Frameworks for the Fast Fourier
// Transform, 1.7 and 4.2). Roots of unity are computed in long double and rounded once, so that the error's norm stays below about
// epsilon log2(n) of the result's, as Higham has it (2002, Accuracy and Stability of Numerical Algorithms, 24.1): tests/runtime/cpu/fourier_plan_test.cpp measures it.
#pragma once
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace damo::cpu_backend {

/// exp(-2 pi i k / n), rounded once.
template <class T>
struct RootsOfUnity {
  explicit RootsOfUnity(std::int64_t n, std::int64_t count);
  std::vector<T> re, im;
};

/// Numbers of complex arrays: element j of array b lies at j times the arrays' number plus b.
template <class T>
struct SplitArrays {
  T *re, *im;
};

template <class T>
class FourierPlan {
 public:
  explicit FourierPlan(std::int64_t n);
  std::int64_t extent() const { return n_; }
  /// Numbers for each array that run() needs besides.
  std::int64_t scratch() const;
  /// x becomes its transform, exp(-...); both are swapped as it goes. With re and im of both exchanged: the inverse one, not scaled. scratch: for all arrays, null where it needs none.
  void run(SplitArrays<T>& x, SplitArrays<T>& other, std::int64_t arrays, T* scratch) const;

 private:
  struct Bluestein;
  void run_bluestein(const SplitArrays<T>& x, std::int64_t arrays, T* scratch) const;

  std::int64_t n_;
  std::vector<int> factors_;
  RootsOfUnity<T> roots_;
  std::shared_ptr<const Bluestein> bluestein_;
};

}  // namespace damo::cpu_backend
