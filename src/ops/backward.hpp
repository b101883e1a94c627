// The walk of grad() and lop(), for ops whose gradients are gradients of other graphs.
#pragma once
#include <span>
#include <vector>

#include <damo/gradient.hpp>

namespace damo {

/// As lop(); empty where a zero gradient would be zeros, so that the caller can tell.
std::vector<Variable> backward(std::span<const Variable> outputs, std::span<const Variable> output_gradients, std::span<const Variable> inputs, const GradOptions& options, SourceLine where);

}  // namespace damo
