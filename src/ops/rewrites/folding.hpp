// How constants are folded: the elementwise ops whose one right result is known, on numbers of the host (rules_folding.cpp).
#pragma once
#include <functional>
#include <span>

#include <damo/op.hpp>
#include <damo/scalar.hpp>

namespace damo {

/// The op's result of numbers of its inputs' dtypes, computed in this dtype (ElementwiseOp::step), to be cast to the result's.
using Evaluate = std::function<Scalar(DType, std::span<const Scalar>)>;

/// Null for an op that is no such one; else good for the process's life.
const Evaluate* evaluation_of(const Op& op);

}  // namespace damo
