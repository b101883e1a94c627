// Derivatives beyond the gradient of a number, as graphs:
//
//   Variable t = rop(y, x, v);                       // J v: how y moves where x moves by v (forward mode; Theano's Rop)
//   Variable j = jacobian(y, x);                     // of y's shape, then x's
//   Variable h = hessian(cost, x);                   // of x's shape twice
//   Variable hv = hessian_vector_product(cost, x, v);
//
// lop (gradient.hpp) is the other product, v J. All are made by grad's rules alone: an op needs no rule of its own for them, but where a gradient is
// differentiated the ops of the gradient need one. They go into function() and are merged and fused with the rest. Errors are grad's, and those
// named below. See tests/function/derivatives_test.cpp.
#pragma once
#include <initializer_list>
#include <span>
#include <vector>

#include <damo/gradient.hpp>

namespace damo {

/// The sum over inputs of the Jacobian of each output by an input times that input's direction: one for each output, of its type. directions: one for
/// each input, of its dtype and of a shape that broadcasts to its (extents that the graph does not know nobody looks at). Zeros for an output that depends on none, unless that is refused. Made by differentiating
/// lop(outputs, u, inputs), which is linear in u, by u: where the ops' gradients are simple, what is left runs in about the time of the outputs.
std::vector<Variable> rop(std::span<const Variable> outputs, std::span<const Variable> inputs, std::span<const Variable> directions, Disconnected disconnected = Disconnected::kRaise,
                          SourceLine where = {__builtin_FILE(), __builtin_LINE()});
inline Variable rop(const Variable& output, const Variable& input, const Variable& direction, Disconnected disconnected = Disconnected::kRaise,
                    SourceLine where = {__builtin_FILE(), __builtin_LINE()}) {
  return rop(std::span(&output, 1), std::span(&input, 1), std::span(&direction, 1), disconnected, where).front();
}

/// d output[i...] / d input[j...] at [i..., j...]. The extents of the output's type must be known (ShapeError): its elements are gone through when the
/// graph is built, and each gets a copy of the nodes of the gradient, so the graph, and the time to compile it, grow with the output's size. Meant for
/// outputs up to some hundred elements, of none too; where only products are needed rop and lop cost one gradient.
Variable jacobian(const Variable& output, const Variable& input, Disconnected disconnected = Disconnected::kRaise, SourceLine where = {__builtin_FILE(), __builtin_LINE()});

/// The second derivatives of a floating 0-d cost by an input whose extents are known: the Jacobian of its gradient, with the same cost and limits.
Variable hessian(const Variable& cost, const Variable& input, Disconnected disconnected = Disconnected::kRaise, SourceLine where = {__builtin_FILE(), __builtin_LINE()});

/// The Hessian of a floating 0-d cost by all inputs, as one matrix, times directions: one for each input, of its type. A gradient of a gradient, whatever the
/// extents: the Hessian is never there.
std::vector<Variable> hessian_vector_product(const Variable& cost, std::span<const Variable> inputs, std::span<const Variable> directions, Disconnected disconnected = Disconnected::kRaise,
                                             SourceLine where = {__builtin_FILE(), __builtin_LINE()});
inline Variable hessian_vector_product(const Variable& cost, const Variable& input, const Variable& direction, Disconnected disconnected = Disconnected::kRaise,
                                       SourceLine where = {__builtin_FILE(), __builtin_LINE()}) {
  return hessian_vector_product(cost, std::span(&input, 1), std::span(&direction, 1), disconnected, where).front();
}

}  // namespace damo
