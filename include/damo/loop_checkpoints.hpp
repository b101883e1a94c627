// scan_checkpoints: a scan whose gradient keeps only every k-th state, and computes the states between again when it comes to them. Of n steps a gradient
// through scan() keeps n states; this one n / k + k, which is least, 2 sqrt(n), for k = sqrt(n), at the cost of one more run of the steps.
//
//   Variable states = scan_checkpoints({.sequences = {xs}, .initial = {h0}}, 32, [&](const Variable& x, const Variable& h) { return tanh(dot(h, w) + x); });
//   Variable cost = loss(subtensor(states, {-1}));       // states: (ceil(n / 32), ...), behind steps 32, 64, ... and behind the last one
//
// Griewank 1992; Chen et al. 2016; Theano's function of the name. See tests/loop/checkpoints_test.cpp.
#pragma once
#include <cstdint>
#include <utility>

#include <damo/loop.hpp>

namespace damo {

namespace detail {
ScanOutputs scan_checkpoints(const ScanArguments& arguments, std::int64_t save_every, const StepFunction& step, SourceLine where);
}

/// The outputs of scan() behind every save_every-th step and behind the last one, bit for bit, and gradients with respect to sequences and initial values too, but for the last
/// digits of products that push_out_of_loops computes for all steps at once there and for a stretch of them here. Gradients of values that all steps use are added up in another order. Draws in a step are others than scan()'s. Each output has an initial value and the tap -1, sequences the tap 0; the number of steps, given or the
/// sequences' extent, is known when the graph is built. OptionError for save_every below 1, other taps, a truncated gradient; GraphError for outputs without initial values, a number of steps
/// that is not known, and a step that has an end; what scan() throws.
template <class F>
ScanOutputs scan_checkpoints(const ScanArguments& arguments, std::int64_t save_every, F step, SourceLine where = {__builtin_FILE(), __builtin_LINE()}) {
  return detail::scan_checkpoints(arguments, save_every, detail::step_function(std::move(step), arguments.name, where), where);
}

}  // namespace damo
