// Value ranges: between which integers each value of a kernel lies, from what its launch brings (the lengths of rows and axes, numbers), constants, dtypes and the steps in between.
// A range holds every value that the kernel computes with; of what nothing is known it is all that the dtype has. See tests/runtime/kernel/value_ranges_test.cpp.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/kernel/spec.hpp"

namespace damo {

/// The integers from least to most, both of them too.
struct ValueRange {
  std::int64_t least = 0, most = 0;

  bool fits(const ValueRange& other) const { return least >= other.least && most <= other.most; }
  friend bool operator==(const ValueRange&, const ValueRange&) = default;
};

/// All integers of a dtype; nothing for floats, and uint64, of which an int64 does not have all.
std::optional<ValueRange> range_of(DType dtype);
inline constexpr ValueRange kShortRange{INT32_MIN, INT32_MAX};

/// What the code of a built-in step gives, before anything wraps around, where its inputs, as the code sees them, lie in these ranges. Nothing where the code is not one of the integers' that are known
/// here, or the numbers leave 64 bits. `bits`: of the type that it is computed in, which shifts depend on.
std::optional<ValueRange> range_of_code(const Step& step, std::span<const std::optional<ValueRange>> inputs, int bits);

/// Of every value; given: of each value that no step makes, and what the places in a row and the number of its elements lie in.
std::vector<std::optional<ValueRange>> value_ranges(const KernelSpec& spec, std::vector<std::optional<ValueRange>> given, ValueRange places);

/// Of the inputs of step number `step`, as its code sees them.
std::vector<std::optional<ValueRange>> input_ranges(const Step& step, std::span<const std::optional<ValueRange>> values);

}  // namespace damo
