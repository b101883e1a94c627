// Sums of exponentials of one reading: the maximum of a row and the sum of exp(v - maximum), which two passes give, joined in one pass (softmax, log-sum-exp).
//
// The form serves a spec of which this is true, for one sum at least, all in float32, as 16-bit floats are computed too, or all in float64:
//   - m = maximum(v) over a row, from -infinity
//   - s = sum(exp(v - c)) of the same v, where c is m, or m where a condition chooses it and else a finite number of the text, as log-sum-exp has 0 where m is infinite
//   - the spec then has a pass fewer. So it has not where another pass joins what follows from m besides.
// What is left: v - c and its exponential where something else reads them, and m. s becomes sum * exp(pivot - c), a value of the row, of what is joined without knowing m.
//
// The accumulator has the sum of exp(v - pivot) around a pivot, one of its elements (Milakov and Gimelshein, 2018, whose pivot is the maximum so far). The pivot moves to an element that is more than 4 above it,
// and then what is there is multiplied by exp(pivot - element); so a term is at most e^4, and a sum of 2^31 of them far from the greatest float. Two accumulators meet at the greater pivot. An element
// costs one exponential either way, of an argument that is 4 at most (exp_below_4: on a GPU a product and an instruction).
// Of a group of elements that are at hand together (Join::append_group) the greatest is found first, and the pivot moves to that, or not, once: then each element is a difference, an exponential and an addition.
//
// Error, in eps, half of the last place of 1: an element above the pivot is within 4 of it, so the rounding of the difference makes a term wrong by 4, that of its product with log2(e) by 4, and the instruction by 4. One far below
// the pivot has a greater difference, and a term that is smaller by more. The pivot is within 4 of the row's maximum, so exp(pivot - c) is wrong by as much once more. What is multiplied when a pivot moves gets an exponential's error;
// before that happens again elements must be 4 higher still, in a group as one by one, and what was there counts for e^-4 of the first of them. So s is within about 20 eps, where two passes are within 4 and the rounding of v - m
// (the tests' rows, slowly and quickly rising ones among them: 1e-6 of float64 at most). With the maximum itself as the pivot each element of a rising row would bring the error of another product.
//
// Infinities and NaN: a pivot is finite, between the least and the greatest float. An element of -inf adds exp(-inf) = 0, +inf moves the pivot to the greatest float and makes the sum 1 (a group that has it and no NaN adds 1), NaN makes the sum, or the maximum c, NaN. In the
// end c - c, which is NaN of an infinite c, is added: rows that have +inf, and those of -inf alone, whose c is m give NaN, as inf - inf does in two passes. With a number for c a row of -inf gives 0 and one with +inf gives
// infinity, likewise. A row without elements has no maximum (max refuses it), or with a number for c the sum 0 as in two passes.
//
// Which shapes it serves is the target's choice (Dialect::prefers_one_reading), which a GPU makes where rows would be read again (runtime/cuda/reducing_schedule.hpp).
// See tests/runtime/kernel/exponential_sums_test.cpp, tests/function/exponential_sums_test.cpp; DAMO_DISABLE=join_exponentials leaves it out.
#pragma once
#include <optional>

#include "runtime/kernel/spec.hpp"

namespace damo {

/// Nothing if the condition does not hold.
std::optional<KernelSpec> with_joined_exponentials(const KernelSpec& spec);

}  // namespace damo
