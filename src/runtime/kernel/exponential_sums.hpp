// Sums of exponentials of one reading: the maximum of a row and the sum of exp(v - maximum), which two passes give, joined in one pass (softmax, log-sum-exp).
//
// The form serves a spec of which this is true, for one sum at least, all in float32, as 16-bit floats are computed too, or all in float64:
//   - m = maximum(v) over a row, from -infinity
//   - s = sum(exp(v - c)) of the same v, where c is m, or m where a condition chooses it and else a finite number of the text, as log-sum-exp has 0 where m is infinite
//   - the spec then has a pass fewer. So it has not where another pass joins what follows from m besides.
// What is left: v - c and its exponential where something else reads them, and m. s becomes sum * exp(pivot - c), a value of the row, of what is joined without knowing m.
//
// The accumulator has the sum of exp(v - pivot) around a pivot, one of its elements (Milakov and Gimelshein, 2018, whose pivot is the maximum so far). The pivot moves to an element that is more than 8 above it,
// and then what is there is multiplied by exp(pivot - element); so a term is at most e^8, and a sum of 2^31 of them far from the greatest float. Two accumulators meet at the greater pivot. An element
// costs one exponential either way.
//
// Error: a difference from the pivot is at most 8 where the element is above it, so wrong by 4 eps at most, eps being the distance of 1 to the next number; so is that of the pivot from c. An element below
// the pivot has a difference as wrong as v - m is where it is far below m, and a term as small. What is multiplied when a pivot moves gets the error of an exponential; it happens again only when elements are 8 higher still,
// and then what was there counts for e^-8 of the first of them. As a sum of terms that are right to a few eps each, s is so too: two passes are within u + 1 ulp, u being exp's error, the form within about 3 u + 16 (measured by the
// tests: below). A maximum that is reached once in steps of less than 8, as in rising rows, is what moves pivots seldom: with the maximum itself as the pivot each element of such a row would bring the error of a product.
//
// Infinities and NaN: a pivot is finite, between the least and the greatest float. An element of -inf adds exp(-inf) = 0, +inf moves the pivot to the greatest float and makes the sum 1, NaN makes the sum NaN. In the
// end c - c, which is NaN of an infinite c, is added: rows that have +inf, and those of -inf alone, whose c is m give NaN, as inf - inf does in two passes. With a number for c a row of -inf gives 0 and one with +inf gives
// infinity, likewise. Of no element the sum is 0 times exp(pivot - c), which is 0 with a number and NaN with m, as 0 of two passes: **so a spec whose rows may be empty has the form with a number alone**; an empty row has no maximum
// otherwise (MaxOp refuses it).
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
