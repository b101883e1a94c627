// Means and variances of one reading: a sum and the sum of squares around the mean that follows from it, which two passes give, as one join of one pass.
//
// The form serves a spec of which this is true, for one pair of joins at least, all in float32, as 16-bit floats are computed too, or all in float64:
//   - m = sum(v) / n, a mean over a row; sums of the same v may stand beside it
//   - s = sum((v - m)^2), or that over n, of v - m or m - v, squared or times itself, of which nothing is rounded to 16 bits between
//   - the spec then has a pass fewer. So it has not where another pass joins what follows from m besides.
// What is left: v - m and its square where something else reads them, and each join's own number over n. All else is unchanged.
//
// The accumulator has a count, the sum, a center in two parts (pivot + offset) and the sum of squares around it (m2). An element comes to it as by Welford (1962), two accumulators are one as by Chan,
// Golub and LeVeque (1983): with d = x - center, r = 1 / count, the center moves by d r and m2 grows by d^2 (1 - r); where two meet whose centers are d apart m2 grows by d^2 n_a n_b / (n_a + n_b).
// N elements that are at hand together are a group (Join::append_group): its sum gives its center c, the sum R of what its elements are from c corrects that by R / N, and the sum of their squares by R^2 / N; then it is joined as
// an accumulator is. So an element takes four operations, and what takes most, the reciprocal among it, a group. Accumulators that have as many elements share the reciprocal.
//
// Bits: the sum is added up in the order of the joins, as it is without the form, but for a group's, which is added up before; its infinities and NaN are those of a sum. Accumulators are joined where those of sums are, so results depend on shapes and
// device as theirs do, and on nothing else.
//
// Error: the first element of an accumulator is its pivot, and all differences are taken from that, so what the rounding of a center of 1e4 would do to elements that are within 1 of it is not done.
// An element is within K = |pivot - mean| and its own distance of the pivot, so a difference is wrong by at most a few eps (K + |x - mean|), eps being half of the last place of 1; and as the pivot is an element itself m2 is no less than
// K^2. By Cauchy and Schwarz, then, the n elements of one accumulator (128, before it is joined with others) bring m2 an error of a few eps sqrt(n) at most, whatever the pivot is, and of a few eps
// where roundings go either way. In a group c is the mean but for the roundings of a sum of N, so R^2 / N is of their size squared, and taking it off costs nothing; of elements that are all equal and a power of 2 in number it is
// all there is, so that m2 stays 0. A group's m2 is wrong by a few eps, and there are fewer groups than elements: errors are no greater than one by one (of accumulators of 128 elements with outliers, rising, alternating, or 10,000,000
// deviations from 0 1.5e-7 to 5e-7, where one by one gives 3e-7 to 1e-6). What two accumulators are apart is added with its remainder (TwoSum), so that a joined center is as good as float32 has it twice, and a meeting brings a few eps of
// what it adds. Two passes have a few eps, and (error of the mean / deviation)^2 besides: the form is no worse (of elements
// about 1e4 of deviation 1 two passes were found wrong by 2e-5, the form by 5e-7).
//
// Infinities and NaN: x - pivot and d are NaN or infinite with an element that is, and then the center is infinite or NaN from that element on. A difference from it makes m2 NaN, of the last element what m2 gives in the
// end, to which the center less itself is added: so it is NaN, as of two passes. Where no element is, but a sum or a square overflows, the form may give a
// variance where two passes give infinity, and NaN where elements are further apart than the greatest float, or where the sum of a group is beyond it. One element has variance 0; of none a mean is NaN.
//
// Which shapes it serves is the target's choice (Dialect::prefers_one_reading), which a GPU makes where rows would be read again (runtime/cuda/reducing_schedule.hpp). A CPU never does: it divides for each element, which
// takes longer than reading it again, from a cache as from memory (variance of 1,024 rows of 16,384 float32 on two cores of an AMD EPYC 2.7 ms, so 5.1; of 8 rows of 33,554,432 47 and 70).
//
// See tests/runtime/kernel/moments_test.cpp, tests/function/moments_test.cpp; DAMO_DISABLE=join_moments leaves it out.
#pragma once
#include <optional>

#include "runtime/kernel/spec.hpp"

namespace damo {

/// Nothing if the condition does not hold.
std::optional<KernelSpec> with_joined_moments(const KernelSpec& spec);

}  // namespace damo
