// Steps of a spec by what they compute: what the forms that spare a pass (moments.hpp, exponential_sums.hpp, own_maximum.hpp) are recognised by.
#pragma once
#include <string_view>

#include "runtime/kernel/spec.hpp"

namespace damo {

/// Whether the step computes this code in the type ("float", as which 16-bit floats are computed, or "double"), from inputs of it, and rounds nothing to 16 bits.
bool computes(const Step& step, std::string_view type, std::string_view code);
/// Whether it joins x0 itself over the reduced axes by a value of the type. Of the join's `post` nothing is said.
bool joins_by(const Step& step, std::string_view type, std::string_view neutral, std::string_view reduce);
bool is_sum(const Step& step, std::string_view type);
/// From -infinity, and of nothing more.
bool is_maximum(const Step& step, std::string_view type);

/// How often a row is gone through, where no value is kept.
std::size_t count_passes(const KernelSpec& spec);

}  // namespace damo
