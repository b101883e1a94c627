// What an op says of the memory of its outputs (Op::view_of, passes_through, overwrites), held against its node.
#pragma once
#include <span>

#include <damo/op.hpp>

namespace damo {

/// Whether there is anything to check.
bool has_claims(const Op& op, std::size_t outputs);

/// Throws GraphError for an input that is not there and for a claim on an op of several outputs that only one of one output
/// may make; TypeError where an output that is to be its input, or in its place, has another dtype or number of axes.
void check_claims(const Op& op, std::span<const TensorType> inputs, std::span<const TensorType> outputs);

}  // namespace damo
