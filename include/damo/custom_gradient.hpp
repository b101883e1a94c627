// Gradients that the user gives for a part of a graph, and parts that the backward pass computes again instead of keeping them.
//
//   Variable y = log(1.0 + exp(x));                                  // any ops, any number of outputs
//   y = with_gradient(y, {x}, [](auto inputs, auto, auto g) { return Gradients(g[0] * sigmoid(inputs[0])); });
//
//   Variable h = recompute(layers(x), {x});                          // what lies between x and h is not kept for the gradient
//
// Both give Variables of the outputs' values: the graph that runs is what it was, no kernel and no memory more. They are seen by grad() and lop()
// alone, and what they give can be differentiated again. See tests/function/custom_gradient_test.cpp.
#pragma once
#include <functional>
#include <initializer_list>
#include <span>
#include <vector>

#include <damo/op.hpp>

namespace damo {

/// The gradients of the inputs from those of the outputs, as Op::gradient gives them: outputs' are of their shapes, zeros where nothing depends on one,
/// empty for integers and bools. Builds Variables; may be called several times, from several threads.
using SubgraphGradient = std::function<Gradients(std::span<const Variable> inputs, std::span<const Variable> outputs, std::span<const Variable> output_gradients)>;

/// The outputs, one for each, whose gradients by the inputs are what rule says, whatever the ops between them would. Nothing else gets a gradient
/// through them: what the outputs depend on beside the inputs counts as constant. GraphError for no output or an empty Variable; what the
/// rule gives wrong is an error of grad(), as an op's: a dtype, a rank, an extent where the graph knows the input's. Other extents nobody looks at: declare them,
/// input({float32, {3}}), to have them checked.
std::vector<Variable> with_gradient(std::span<const Variable> outputs, std::span<const Variable> inputs, SubgraphGradient rule, SourceLine where = {__builtin_FILE(), __builtin_LINE()});
inline Variable with_gradient(const Variable& output, std::initializer_list<Variable> inputs, SubgraphGradient rule, SourceLine where = {__builtin_FILE(), __builtin_LINE()}) {
  return with_gradient(std::span(&output, 1), std::span(inputs.begin(), inputs.size()), std::move(rule), where).front();
}

/// The outputs, whose gradients are computed from what lies between `inputs` and them once more (checkpointing): values between are then free
/// as soon as the outputs are there, and exist again only when the gradients of the outputs do. What does not depend on inputs is kept. Values and gradients
/// are the same. Cost: those ops a second time; memory: Function::plan tells. Of a deep model, recompute parts of about the square root of its depth each.
/// GraphError for no output, an empty Variable, or an input on which no output depends.
std::vector<Variable> recompute(std::span<const Variable> outputs, std::span<const Variable> inputs, SourceLine where = {__builtin_FILE(), __builtin_LINE()});
inline Variable recompute(const Variable& output, std::initializer_list<Variable> inputs, SourceLine where = {__builtin_FILE(), __builtin_LINE()}) {
  return recompute(std::span(&output, 1), std::span(inputs.begin(), inputs.size()), where).front();
}

}  // namespace damo
