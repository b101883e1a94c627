// RawKernel: an op that is one CUDA C kernel with a rule for its shapes and one for its launch. No class is written:
//
//   inline const RawKernel doubler{{.name = "doubler",
//                                   .inputs = {"const float* i0"}, .outputs = {"float* o0"}, .scalars = {"int size"},
//                                   .body = R"(
//     int i = blockIdx.x * blockDim.x + threadIdx.x;
//     if (i < size) o0[i] = i0[i] * 2;)"}};
//   Variable y = doubler(x);
//
// The same source runs on a GPU and on the CPU. Inputs and outputs are C declarations, from which dtype and name
// follow; they and the scalars are the kernel's parameters, in this order. An operand of another dtype is a TypeError
// at the line of the call; a C++ number becomes an array of one element. Inputs arrive in C order: others are copied,
// unless the declaration begins with the word strided ("strided const float* x"). Outputs are in C order always.
//
// A scalar gets its value at each launch from its name, x being an input or an output:
//   size, n      elements of the first output
//   x_size       elements of x
//   x_dim1       extent of x along axis 1
//   x_stride1    elements between neighbours of x along axis 1: for strided inputs
// Other scalars take theirs, in order, from .values. Extents and strides must fit the scalar's dtype, else ShapeError.
//
// .gradient says what grad() and lop() (gradient.hpp) find behind the kernel: from the outputs' gradients, the inputs
// and the outputs, all Variables, it builds the inputs' gradients, out of ops or of another RawKernel:
//
//   .gradient = [](auto g, auto in, auto out) { return g[0] * 2.0; }                           // one input: a Variable
//   .gradient = [](auto g, auto in, auto out) { return std::vector{g[0] * in[1], g[0] * in[0]}; }  // several
//
// A parameter that the kernel changes, as a sum that it adds to, stands among the inputs and the outputs without const,
// and in .overwrites: one parameter of the kernel, at the input's place, which begins with the input's values.
//
//   RawKernel histogram{{.name = "histogram", .inputs = {"int* counts", "const unsigned char* x"},
//                        .outputs = {"int* counts"}, .overwrites = {"counts"}, ...}};
//   Variable more = histogram(counts, x);       // counts is still what it was
//
// The op still is a function of its inputs: where anybody else needs the old values they are copied first, where nobody
// does the memory is shared; Function::explain() says which. The output has the input's shape, whatever .shapes says.
//
// Kernels of equal text, declarations and rules are equal ops: on the same inputs they merge. A rule that is a lambda
// is equal to its own copies only; .gradient takes no part in it. Compile errors name the line of the user's file in
// which the text stands. A kernel does not fuse with its neighbours; an Elementwise row does. See
// tests/ops/raw_kernel_test.cpp, examples/03_cuda_kernel_op and examples/12_gradient_and_overwrites.
#pragma once
#include <concepts>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <damo/kernel.hpp>
#include <damo/op.hpp>
#include <damo/source_text.hpp>

namespace damo {

/// What a launch rule and .values are given.
struct KernelShapes {
  std::span<const Shape> inputs, outputs;
};

/// Every output has the first input's shape.
inline constexpr struct SameAsInput {
} same_as_input;
/// Every output has the shape to which the inputs broadcast. The kernel finds its own way through the inputs.
inline constexpr struct BroadcastOfInputs {
} broadcast_of_inputs;

/// Input shapes -> output shapes: same_as_input, same_as(1), broadcast_of_inputs or a lambda. A lambda is called with
/// real shapes, and, to learn the outputs' ranks while the graph is built, with 1024 for every unknown extent. It may
/// throw ShapeError.
class ShapeRule {
 public:
  using Function = std::function<std::vector<Shape>(std::span<const Shape>)>;
  template <class F>
  requires std::is_invocable_r_v<std::vector<Shape>, F, std::span<const Shape>> ShapeRule(F rule)
      : rule_(std::make_shared<const Function>(std::move(rule))) {}
  ShapeRule(SameAsInput);
  ShapeRule(BroadcastOfInputs);
  /// A rule with a name: equal to those of the same name, and also given shapes with unknown extents.
  ShapeRule(std::string name, Function rule)
      : name_(std::move(name)), rule_(std::make_shared<const Function>(std::move(rule))) {}

  std::vector<Shape> operator()(std::span<const Shape> inputs) const { return (*rule_)(inputs); }
  bool takes_unknown() const { return !name_.empty(); }
  friend bool operator==(const ShapeRule& a, const ShapeRule& b) {
    return a.name_.empty() ? a.rule_ == b.rule_ : a.name_ == b.name_;
  }

 private:
  std::string name_;
  std::shared_ptr<const Function> rule_;
};

/// Every output has the shape of the input of that number.
ShapeRule same_as(int input);

/// Shapes -> grid, block, shared memory. A grid with no block launches nothing.
class LaunchRule {
 public:
  using Function = std::function<LaunchConfig(const KernelShapes&)>;
  template <class F>
  requires std::is_invocable_r_v<LaunchConfig, F, const KernelShapes&> LaunchRule(F rule)
      : rule_(std::make_shared<const Function>(std::move(rule))) {}
  LaunchRule(std::string name, Function rule)
      : name_(std::move(name)), rule_(std::make_shared<const Function>(std::move(rule))) {}

  LaunchConfig operator()(const KernelShapes& shapes) const { return (*rule_)(shapes); }
  friend bool operator==(const LaunchRule& a, const LaunchRule& b) {
    return a.name_.empty() ? a.rule_ == b.rule_ : a.name_ == b.name_;
  }

 private:
  std::string name_;
  std::shared_ptr<const Function> rule_;
};

/// One thread for each element of the first output, in blocks of so many: ceil(size / block) blocks.
LaunchRule one_thread_each(int block = 512);

/// Gradients of the outputs (one each, zeros where nothing depends on it, empty for integers), inputs, outputs -> one
/// Gradient for each input: a Variable of its dtype and shape, Gradient::disconnected() or Gradient::not_defined(why).
using KernelGradient = std::function<Gradients(std::span<const Variable> gradients, std::span<const Variable> inputs,
                                               std::span<const Variable> outputs)>;

struct RawKernelDefinition {
  std::string name;                  ///< the function of a body is damo_NAME
  std::vector<std::string> inputs;   ///< "const float* x", "strided const double* y"
  std::vector<std::string> outputs;  ///< "float* z"
  std::vector<std::string> scalars;  ///< "int size", "long long x_stride0", "float factor"
  SourceText body;                   ///< what stands between the kernel's braces
  SourceText source;                 ///< instead of body: whole CUDA C, with helpers, whose kernel is called .kernel
  std::string kernel;                ///< default: name. Also "scale<float>", an instance, or "(void (*)(float*))scale", of several
  std::vector<std::string> flags;    ///< "-DTILE=16"
  ShapeRule shapes = same_as_input;
  LaunchRule launch = one_thread_each(512);
  std::function<std::vector<Scalar>(const KernelShapes&)> values;  ///< of the scalars whose names say nothing
  std::vector<std::string> overwrites;  ///< "total": the output of that name begins as the input of that name, in place
  KernelGradient gradient;              ///< none: asking for it is an error
};

class RawKernel {
 public:
  /// Throws GraphError for a definition that does not make sense, naming the declaration.
  explicit RawKernel(RawKernelDefinition definition);

  /// The node's first output.
  template <class... Rest>
  Variable operator()(const Operand& first, const Rest&... rest) const {
    return node({first, Operand(rest)...}).output(0);
  }
  std::vector<Variable> outputs(std::initializer_list<Operand> inputs) const { return node(inputs).outputs(); }
  /// The source as it is compiled.
  const std::string& source() const;

 private:
  Apply node(std::initializer_list<Operand> inputs) const;
  std::shared_ptr<const class RawKernelOp> op_;
};

}  // namespace damo
