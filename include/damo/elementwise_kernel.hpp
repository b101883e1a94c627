// ElementwiseKernel: a kernel of one line of CUDA C that is run for each element, on a GPU and on the CPU:
//
//   const ElementwiseKernel axpby("float a, const float* x, float b, const float* y, float* z",
//                                 "z[i] = a * x[i] + b * y[i]");
//   axpby(5, x, 6, y, z);                             // into z
//   Array z = axpby.results(5, x, 6, y).front();      // into new arrays
//
// Pointers are Arrays, const ones inputs, the others outputs, of which there may be several; the rest are numbers. In
// the operation i is the element's number and n how many there are: the elements of the shape to which all Arrays
// broadcast. Outputs must have that shape. Arrays may have any strides: where the operation uses x only as x[i], it
// reads and writes them where they lie; a use such as x[i + 1] or f(x, i) sees x's elements in C order, for which x is
// copied unless it is so already (and copied back if it is an output). An input that shares memory with an output, and
// not place for place, is copied first. Outputs that share memory with each other have there what was written last, in
// no order.
//
// Argument dtypes must be the declared ones: TypeError otherwise. A source that does not compile throws CompileError at
// the first call, with the line of the user's file. Compiled once for each device and kind of layout, whatever the
// shapes and numbers. Cheap to copy, thread-safe. See tests/ops/eager/elementwise_kernel_test.cpp.
#pragma once
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include <damo/array.hpp>
#include <damo/array_operand.hpp>
#include <damo/source_text.hpp>

namespace damo {

struct ElementwiseKernelOptions {
  std::string name = "elementwise";  ///< of the kernel, for errors; profilers see damo_NAME
  SourceText preamble;               ///< CUDA C before the kernel: #include, __device__ functions
  std::vector<std::string> flags;    ///< "-DNAME=VALUE"
};

class ElementwiseKernel {
 public:
  /// Throws GraphError for parameters that it cannot read.
  ElementwiseKernel(const std::string& parameters, SourceText operation, ElementwiseKernelOptions options = {});

  /// One argument for each parameter.
  template <class... Arguments>
  void operator()(const Arguments&... arguments) const {
    run({ArrayOperand(arguments)...});
  }
  /// One argument for each parameter that is no output; new arrays for the outputs.
  template <class... Arguments>
  std::vector<Array> results(const Arguments&... arguments) const {
    return run_into_new({ArrayOperand(arguments)...});
  }

 private:
  struct Data;
  void run(std::initializer_list<ArrayOperand> arguments) const;
  std::vector<Array> run_into_new(std::initializer_list<ArrayOperand> arguments) const;
  std::shared_ptr<Data> data_;
};

}  // namespace damo
