// InclusiveScanKernel, ExclusiveScanKernel: running values along an axis, joined by C snippets, on a GPU and on the
// CPU:
//
//   const InclusiveScanKernel running_sum(int32, "a + b");
//   running_sum(x)                       // 1 2 3 -> 1 3 6
//   const ExclusiveScanKernel before(int32, "a + b", "0");
//   before(x, 0)                         // 1 2 3 -> 0 1 3; along axis 0
//   running_sum.into(x, x);              // in place
//
// a is the value of what comes earlier, b of what follows; the operation must be associative and need not be
// commutative. Values are kept in the dtype, float16 and bfloat16 in float. Arrays may have any strides. Each
// element is read once and written once. cumsum and its kin are ready made (array_scan.hpp).
//
// Several arrays and numbers, a map, a post, an accumulator of one's own or several values that are joined together are a JoinDefinition, as a ReductionKernel
// has it; n counts the elements that are joined so far, r is an element's place along the axis. h = m h + c:
//
//   const InclusiveScanKernel recurrence({.arguments = "const float* m, const float* c",
//                                         .members = {{"m", float32, "m[i]", "1", "a.m * b.m"}, {"h", float32, "c[i]", "0", "b.m * a.h + b.h"}}});
//   std::vector<Array> products_and_states = recurrence.results(m, c);      // of each member an array, along the last axis
//   products_and_states = recurrence.results_along(0, m, c);
//
// A member that says where a segment begins starts anew there: {"begins", bool_, "begins[i]", "false", "a.begins || b.begins"}, {"sum", float32, "x[i]", "0",
// "b.begins ? b.sum : a.sum + b.sum"}.
//
// Results are the same at every call. TypeError for another dtype, ShapeError for an axis that does not exist, CompileError with the user's line at the first
// call; else errors are those of ReductionKernel. See tests/ops/eager/scan_kernel_test.cpp.
#pragma once
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include <damo/array.hpp>
#include <damo/array_operand.hpp>
#include <damo/join_definition.hpp>
#include <damo/source_text.hpp>

namespace damo {

struct ScanKernelOptions {
  std::string name = "scan";
  SourceText preamble;             ///< CUDA C before the kernels
  std::vector<std::string> flags;  ///< "-DNAME=VALUE"
};

class ScanKernel {
 public:
  /// Along the axis, the last unless told: a new array of the same shape. GraphError for a kernel of several results.
  Array operator()(const Array& x, int axis = -1) const { return run(axis, {x}); }
  /// Into y, of the same shape and of the result's dtype, which may be x.
  void into(const Array& x, const Array& y, int axis = -1) const;
  /// Of several arrays and numbers, along the axis of the arrays' common shape.
  template <class... Arguments>
  Array along(int axis, const Arguments&... arguments) const {
    return run(axis, {ArrayOperand(arguments)...});
  }

  /// Each member's result, or the only one, along the last axis.
  template <class... Arguments>
  std::vector<Array> results(const Arguments&... arguments) const {
    return run_all(-1, {ArrayOperand(arguments)...});
  }
  template <class... Arguments>
  std::vector<Array> results_along(int axis, const Arguments&... arguments) const {
    return run_all(axis, {ArrayOperand(arguments)...});
  }

 protected:
  ScanKernel(JoinDefinition definition, bool exclusive);
  ScanKernel(DType dtype, SourceText operation, SourceText neutral, bool exclusive, ScanKernelOptions options);

 private:
  struct Data;
  Array run(int axis, std::initializer_list<ArrayOperand> arguments) const;
  std::vector<Array> run_all(int axis, std::initializer_list<ArrayOperand> arguments) const;
  std::shared_ptr<Data> data_;
};

class InclusiveScanKernel : public ScanKernel {
 public:
  InclusiveScanKernel(DType dtype, SourceText operation, ScanKernelOptions options = {})
      : ScanKernel(dtype, std::move(operation), SourceText(), false, std::move(options)) {}
  /// A single value needs no neutral one. Throws GraphError for a definition that does not make sense.
  explicit InclusiveScanKernel(JoinDefinition definition) : ScanKernel(std::move(definition), false) {}
};

class ExclusiveScanKernel : public ScanKernel {
 public:
  /// neutral: the first value of every line.
  ExclusiveScanKernel(DType dtype, SourceText operation, SourceText neutral, ScanKernelOptions options = {})
      : ScanKernel(dtype, std::move(operation), std::move(neutral), true, std::move(options)) {}
  /// The first values of every line are the neutral ones.
  explicit ExclusiveScanKernel(JoinDefinition definition) : ScanKernel(std::move(definition), true) {}
};

}  // namespace damo
