// From one step to all of them: an op on the rows of a step as ops on the stacks of all steps' rows, which have the axis of the steps in front.
#pragma once
#include <span>

#include <damo/graph.hpp>
#include <damo/op.hpp>

namespace damo {

class ContractionOp;

/// The value in all steps: a stack of its rows or, where all steps have one, that one.
struct Stacked {
  ValueId value = ValueId::kNone;
  bool has_steps = false;
};

/// The op if it is a product as users write it, alpha, beta and activation apart; else null.
const ContractionOp* plain_product(const Op& op);

/// Whether add_stacked takes it: elementwise ops, views that name axes or parts, and plain products.
bool can_stack(const Op& op);

/// Adds what computes the stack of a step's node, of one output, from the stacks of its inputs, some of which have steps.
ValueId add_stacked(FunctionGraph& graph, const Apply& node, std::span<const Stacked> inputs);

/// The sum over steps of a plain product whose operands both have steps: one product that sums over them too. result: of that dtype.
ValueId add_summed_product(FunctionGraph& graph, const Apply& node, ValueId x, ValueId y, DType result);

/// x with its axes in another order, as dimshuffle has it.
ValueId add_dimshuffle(FunctionGraph& graph, ValueId x, std::vector<std::int64_t> pattern, SourceLine where);

}  // namespace damo
