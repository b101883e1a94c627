// ReductionKernel: a reduction made of C snippets, on a GPU and on the CPU:
//
//   const ReductionKernel inner({.dtype_out = float32, .neutral = "0", .reduce = "a + b", .map = "x[i] * y[i]",
//                                .arguments = "const float* x, const float* y"});
//   float value = inner(x, y).item().as_double();
//   Array rows = inner.along(1, false, x, y);        // along axis 1; true: which stays, with extent 1
//
// A JoinDefinition says what is joined; reduce must be commutative too, and neutral must not change a value.
//
// Several values that are joined together are members; each is a result of its own, unless post makes one of them:
//
//   const ReductionKernel moments({.arguments = "const float* x",
//                                  .members = {{"count", float32, "1", "0", "count"}, {"mean", float32, "x[i]", "0", "a.mean + (b.mean - a.mean) * share"}},
//                                  .before = "const float count = a.count + b.count, share = b.count / (count > 0 ? count : 1);"});
//   std::vector<Array> count_and_mean = moments.results(x);
//   count_and_mean = moments.results_along(1, false, x);
//
// Results are the same at every call. Elements are read once. Errors are those of ElementwiseKernel, and ShapeError for
// wrong axes; of no elements the result is that of neutral. See tests/ops/eager/reduction_kernel_test.cpp.
#pragma once
#include <initializer_list>
#include <memory>
#include <vector>

#include <damo/array.hpp>
#include <damo/array_operand.hpp>
#include <damo/axes.hpp>
#include <damo/join_definition.hpp>

namespace damo {

class ReductionKernel {
 public:
  /// Throws GraphError for a definition that does not make sense.
  explicit ReductionKernel(JoinDefinition definition);

  /// Of all elements: an Array of rank 0. GraphError for a kernel of several results.
  template <class... Arguments>
  Array operator()(const Arguments&... arguments) const {
    return run(Axes(), false, {ArrayOperand(arguments)...});
  }
  /// Along axes of the common shape.
  template <class... Arguments>
  Array along(const Axes& axes, bool keepdims, const Arguments&... arguments) const {
    return run(axes, keepdims, {ArrayOperand(arguments)...});
  }

  /// Each member's result, or the only one.
  template <class... Arguments>
  std::vector<Array> results(const Arguments&... arguments) const {
    return run_all(Axes(), false, {ArrayOperand(arguments)...});
  }
  template <class... Arguments>
  std::vector<Array> results_along(const Axes& axes, bool keepdims, const Arguments&... arguments) const {
    return run_all(axes, keepdims, {ArrayOperand(arguments)...});
  }

 private:
  struct Data;
  Array run(const Axes& axes, bool keepdims, std::initializer_list<ArrayOperand> arguments) const;
  std::vector<Array> run_all(const Axes& axes, bool keepdims, std::initializer_list<ArrayOperand> arguments) const;
  std::shared_ptr<Data> data_;
};

}  // namespace damo
