// JoinDefinition: how values of elements are joined, in C snippets: what a ReductionKernel and the scan kernels are made of.
//
//   {.dtype_out = float32, .neutral = "0", .reduce = "a + b", .map = "x[i] * y[i]", .arguments = "const float* x, const float* y"}
//
// map gives the value of element i; it may use all arguments (Arrays of any strides, broadcast to a common shape, and
// numbers), i, the element's number in that shape, and r, its place among the elements that are joined together. reduce
// joins two values a and b; it must be associative. post, if there is one, makes the result of the value a and n, the
// number of elements in it: "sqrt(a / n)". Arrays are read where they lie as x[i]; other uses of x see a copy in C order.
//
// Values are kept in the dtype_out, float16 and bfloat16 in float, or in a type of the caller's that preamble defines:
//
//   {.dtype_out = float32, .neutral = "Range{1e30f, -1e30f}", .reduce = "Range{min(a.low, b.low), max(a.high, b.high)}",
//    .map = "Range{x[i], x[i]}", .arguments = "const float* x", .preamble = "struct Range { float low, high; };",
//    .post = "a.high - a.low", .accumulator = "Range"}
//
// Several values that are joined together, each from those of all, are members; each is a result of its own, of its dtype, unless post makes one of
// dtype_out of them:
//
//   {.arguments = "const float* x",
//    .members = {{"count", float32, "1", "0", "count"}, {"mean", float32, "x[i]", "0", "a.mean + (b.mean - a.mean) * share"}},
//    .before = "const float count = a.count + b.count, share = b.count / (count > 0 ? count : 1);"}
//
// See reduction_kernel.hpp and scan_kernel.hpp.
#pragma once
#include <string>
#include <vector>

#include <damo/dtype.hpp>
#include <damo/source_text.hpp>

namespace damo {

/// One of several values that are joined together.
struct JoinMember {
  std::string name;       ///< as snippets call it: a.mean, b.mean
  DType dtype = float32;  ///< of its result; float16 and bfloat16 are joined in float
  SourceText element;     ///< of element i: "x[i]", all that a map may use
  SourceText neutral;     ///< "0"
  SourceText reduce;      ///< of a and b, which have all members
};

struct JoinDefinition {
  DType dtype_out = float32;
  SourceText neutral;     ///< "0"
  SourceText reduce;      ///< "a + b"
  SourceText map;         ///< "x[i] * y[i]"; default: the only array's x[i]
  std::string arguments;  ///< "const float* x, const float* y"
  std::string name;       ///< of the kernel; default: "reduction" or "scan"
  SourceText preamble;             ///< CUDA C before the kernels
  SourceText post;                 ///< "sqrt(a)"; default: a
  std::string accumulator;         ///< C type of a and b, at most 64 bytes, copied as bytes; default: see above
  std::vector<std::string> flags;  ///< "-DNAME=VALUE"
  std::vector<JoinMember> members;  ///< of no more than 64 bytes together; in the place of neutral, reduce, map and accumulator
  SourceText before;                ///< of members: statements on a and b that stand before each one's reduce
};

}  // namespace damo
