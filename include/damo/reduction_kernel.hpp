// ReductionKernel: a reduction made of C snippets, on a GPU and on the CPU:
//
//   const ReductionKernel inner({.dtype_out = float32, .neutral = "0", .reduce = "a + b", .map = "x[i] * y[i]",
//                                .arguments = "const float* x, const float* y"});
//   float value = inner(x, y).item().as_double();
//   Array rows = inner.along(1, false, x, y);        // along axis 1; true: which stays, with extent 1
//
// map gives the value of element i; it may use all arguments (Arrays of any strides, broadcast to a common shape, and
// numbers), i, the element's number in that shape, and r, its place among the elements that are reduced together.
// reduce joins two values a and b; it must be associative and commutative, and neutral must not change a value. post,
// if there is one, makes the result of the last value a and n, the number of elements: "sqrt(a / n)". Arrays are read
// where they lie as x[i]; other uses of x see a copy in C order.
//
// Values are kept in the dtype_out, float16 and bfloat16 in float, or in a type of the caller's that preamble defines:
//
//   const ReductionKernel spread({.dtype_out = float32, .neutral = "Range{1e30f, -1e30f}",
//                                 .reduce = "Range{min(a.low, b.low), max(a.high, b.high)}",
//                                 .map = "Range{x[i], x[i]}", .arguments = "const float* x",
//                                 .preamble = "struct Range { float low, high; };",
//                                 .post = "a.high - a.low", .accumulator = "Range"});
//
// Several values that are joined together, each from those of all, are members; each is a result of its own, of its dtype, unless post makes one of
// dtype_out of them:
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
#include <string>
#include <vector>

#include <damo/array.hpp>
#include <damo/array_operand.hpp>
#include <damo/axes.hpp>
#include <damo/source_text.hpp>

namespace damo {

/// One of several values that are joined together.
struct ReductionMember {
  std::string name;       ///< as snippets call it: a.mean, b.mean
  DType dtype = float32;  ///< of its result; float16 and bfloat16 are joined in float
  SourceText element;     ///< of element i: "x[i]", all that a map may use
  SourceText neutral;     ///< "0"
  SourceText reduce;      ///< of a and b, which have all members
};

struct ReductionKernelDefinition {
  DType dtype_out = float32;
  SourceText neutral;     ///< "0"
  SourceText reduce;      ///< "a + b"
  SourceText map;         ///< "x[i] * y[i]"; default: the only array's x[i]
  std::string arguments;  ///< "const float* x, const float* y"
  std::string name = "reduction";
  SourceText preamble;             ///< CUDA C before the kernels
  SourceText post;                 ///< "sqrt(a)"; default: a
  std::string accumulator;         ///< C type of a and b, at most 64 bytes, copied as bytes; default: see above
  std::vector<std::string> flags;  ///< "-DNAME=VALUE"
  std::vector<ReductionMember> members;  ///< of no more than 64 bytes together; in the place of neutral, reduce, map and accumulator
  SourceText before;                     ///< of members: statements on a and b that stand before each one's reduce
};

class ReductionKernel {
 public:
  /// Throws GraphError for a definition that does not make sense.
  explicit ReductionKernel(ReductionKernelDefinition definition);

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
