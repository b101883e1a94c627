// What a tensor's gradient is where each of its gradients is that of a part, subtensor's zeros around a value, and the parts are all of it: the values side by side. The sum of
// those tensors has the same values (0.0 where a value is -0.0) and costs a tensor of zeros and a copy for each part.
#pragma once
#include <span>

#include <damo/error.hpp>
#include <damo/variable.hpp>

namespace damo {

/// Empty unless the parts differ in one axis alone, do not overlap and leave nothing out, by extents that are known.
Variable joined_parts(std::span<const Variable> gradients, SourceLine where);

}  // namespace damo
