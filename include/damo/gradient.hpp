// Gradients of graphs, built as graphs:
//
//   Variable dx = grad(cost, x);                        // cost: 0-d
//   std::vector<Variable> d = grad(cost, {x, w, b});
//   Variable dx = lop(y, g, x);                         // g: the gradient of something by y, in y's shape
//   std::vector<Variable> d = lop({y, z}, {gy, gz}, {x, w});
//   Variable dw = grad(cost, w, {.known = {{h, gh}}});  // what the cost's gradient by h is, is known
//
// lop is the product of a vector with the Jacobian (Theano's Lop): the gradient of sum(y * gy) + sum(z * gz).
// grad(cost, x) is lop(cost, 1, x). Both walk the graph from the outputs to what is asked for, ask each op between for
// its gradient (Op::gradient) and add what arrives at one Variable. They compute nothing: the result goes into
// function() with the rest of the graph, is merged and fused with it, and can be differentiated again.
//
// A gradient has the dtype and shape of its Variable. Integers and bools have none and pass none on. A Variable that
// was broadcast gets a sum over the axes that stretched: types tell which. Rows have theirs in src/ops/row_gradients.cpp; a row, a RawKernel or an Op
// of your own says its own (elementwise.hpp, raw_kernel.hpp, op.hpp); any part of a graph gets one by with_gradient (custom_gradient.hpp).
// Jacobians, Hessians and products with them: derivatives.hpp. verify_grad.hpp holds a gradient against differences.
//
// GraphError: an op between has no gradient (names op, line and remedy); a Variable that the outputs do not depend on,
// unless Disconnected::kWarn or kZero is given. Cost: linear in the nodes between; a chain of 1,000,000 is fine. See
// tests/ops/gradient_test.cpp.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include <damo/op.hpp>

namespace damo {

/// What the gradient by a Variable is on which the outputs do not depend.
enum class Disconnected : std::uint8_t {
  kRaise,  ///< a GraphError: most often such a Variable was given by mistake
  kWarn,   ///< zeros, and a line in the log that says so
  kZero    ///< zeros
};

struct GradOptions {
  Disconnected disconnected = Disconnected::kRaise;
  /// {{h, gh}}: the gradient of the cost by h is gh, of its dtype and of a shape that broadcasts to its shape. What the graph between h and the
  /// cost would give is not asked for, and h may be no part of the cost's graph: what h depends on gets its gradient from gh.
  std::vector<Assignment> known = {};
  /// What counts as constants: their gradients, and those that would go through them, are left out. Not what is differentiated by.
  std::vector<Variable> constants = {};
};

/// The gradients of each input from those of the outputs. output_gradients: one for each output, of its dtype, and of a
/// shape that broadcasts to its shape: extents that the graph does not know nobody looks at.
std::vector<Variable> lop(std::span<const Variable> outputs, std::span<const Variable> output_gradients,
                          std::span<const Variable> inputs, Disconnected disconnected = Disconnected::kRaise,
                          SourceLine where = {__builtin_FILE(), __builtin_LINE()});
inline std::vector<Variable> lop(std::initializer_list<Variable> outputs,
                                 std::initializer_list<Variable> output_gradients,
                                 std::initializer_list<Variable> inputs,
                                 Disconnected disconnected = Disconnected::kRaise,
                                 SourceLine where = {__builtin_FILE(), __builtin_LINE()}) {
  const auto span = [](std::initializer_list<Variable> list) { return std::span(list.begin(), list.size()); };
  return lop(span(outputs), span(output_gradients), span(inputs), disconnected, where);
}
inline Variable lop(const Variable& output, const Variable& output_gradient, const Variable& input,
                    Disconnected disconnected = Disconnected::kRaise,
                    SourceLine where = {__builtin_FILE(), __builtin_LINE()}) {
  return lop(std::span(&output, 1), std::span(&output_gradient, 1), std::span(&input, 1), disconnected, where).front();
}

/// The gradients of a floating 0-d cost. Throws ShapeError for another rank, TypeError for another dtype.
std::vector<Variable> grad(const Variable& cost, std::span<const Variable> inputs,
                           Disconnected disconnected = Disconnected::kRaise,
                           SourceLine where = {__builtin_FILE(), __builtin_LINE()});
inline std::vector<Variable> grad(const Variable& cost, std::initializer_list<Variable> inputs,
                                  Disconnected disconnected = Disconnected::kRaise,
                                  SourceLine where = {__builtin_FILE(), __builtin_LINE()}) {
  return grad(cost, std::span(inputs.begin(), inputs.size()), disconnected, where);
}
inline Variable grad(const Variable& cost, const Variable& input, Disconnected disconnected = Disconnected::kRaise,
                     SourceLine where = {__builtin_FILE(), __builtin_LINE()}) {
  return grad(cost, std::span(&input, 1), disconnected, where).front();
}
/// The same with more to say. GraphError for a known gradient that is given twice; TypeError for one of another dtype.
std::vector<Variable> grad(const Variable& cost, std::span<const Variable> inputs, const GradOptions& options,
                           SourceLine where = {__builtin_FILE(), __builtin_LINE()});
inline std::vector<Variable> grad(const Variable& cost, std::initializer_list<Variable> inputs, const GradOptions& options,
                                  SourceLine where = {__builtin_FILE(), __builtin_LINE()}) {
  return grad(cost, std::span(inputs.begin(), inputs.size()), options, where);
}
inline Variable grad(const Variable& cost, const Variable& input, const GradOptions& options,
                     SourceLine where = {__builtin_FILE(), __builtin_LINE()}) {
  return grad(cost, std::span(&input, 1), options, where).front();
}

/// x itself; its gradient is zero: what lies behind counts as a constant.
Variable consider_constant(const Operand& x);
/// The same under Theano's other name for it.
inline Variable zero_grad(const Operand& x) { return consider_constant(x); }
/// x itself, on which nothing depends as far as gradients go: what is reached through it alone is disconnected.
Variable disconnected_grad(const Operand& x);
/// x itself; each element of its gradient is brought into [lower, upper]. OptionError for bounds in the wrong order.
Variable grad_clip(const Operand& x, double lower, double upper);

}  // namespace damo
