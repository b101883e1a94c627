// Which numbers of an expression are arguments of its kernel. x * 1.5 and x * 1.6 are then one text, compiled once, and so are
// the equal layers of a network. A number stays a literal where a compiler makes better code of its value: x * 1, x / 4, powers,
// bounds that are known not to be NaN, divisors of integers; and in code that a user wrote, which may branch on it.
#pragma once
#include <cstdint>

#include <damo/scalar.hpp>
#include "ops/elementwise_op.hpp"

namespace damo {

/// Bytes of numbers for which a kernel of so many arrays has room: every GPU takes 4 KB of arguments.
constexpr int room_for_numbers(int arrays) { return 4000 - 32 * (arrays > 2 ? arrays - 2 : 0); }
/// That a number takes there.
inline int bytes_of_number(DType dtype) { return itemsize(dtype) == 8 ? 8 : 4; }

/// What decides of an op's numbers.
enum class NumberRule : std::uint8_t { kNever, kSum, kDifference, kProduct, kQuotient, kComparison };
NumberRule number_rule(const ElementwiseOp& op);

/// Whether the code of an op of this rule is as good for an argument in the place of this number, its input `position`.
bool may_be_argument(NumberRule rule, int position, const Scalar& number);

}  // namespace damo
