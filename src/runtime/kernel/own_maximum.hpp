// Sums of exponentials against a maximum that only a part of the row has: where blocks share a row, each takes exp(e - own) of its own
// elements' maximum and sums that up, and the blocks meet once, for the maxima and the sums together, instead of twice. With own the block's
// maximum and m the row's, exp(e - m) is exp(e - own) * exp(own - m), and the row's sum the sum of the blocks' sums, each times its exp(own - m).
//
// The form serves a spec (Passes, in which a row is held) of which all of this is true:
//   - pass 0 joins m = maximum of e, in float32, as 16-bit floats are computed and kept too, from -inf, and takes no more from m than what follows; it stores nothing;
//   - what pass 1 makes of a value that the joins of pass 0 gave is d = e - m, with the same e, and exp(d), both in float32; of that it keeps for
//     later passes at most exp(d), and stores nothing;
//   - pass 1 joins nothing but sums of exp(d), and there is one. A factor is not allowed: a term is at most 1, so that a
//     sum of them does not overflow where the row's does not, which w * exp(e - own) may.
// Later passes use m itself, and what they compute again of it is what it always was.
//
// Infinities and NaN give what they give against m. A part whose elements are all -inf, or that has none, takes exp(e - 0) = 0; the factor
// (scale) is 1 for a part that has the row's maximum, for +inf too, and NaN for a row of -inf alone and one with a NaN.
//
// Error: |e - own| + |own - m| is |e - m|, so the roundings of the two differences are together bounded as that of one is. What comes to it is the error
// of a second exponential and of a product: with exp within u ulp a term is within 2 u + 1/2 ulp instead of u, beside what the differences give. A term below
// the least normal number is within half of the least subnormal one more.
//
// See tests/runtime/kernel/own_maximum_test.cpp.
#pragma once
#include <optional>
#include <vector>

#include "runtime/kernel/passes.hpp"

namespace damo {

struct OwnMaximum {
  int maximum = 0;        ///< the join m
  std::vector<int> kept;  ///< element values exp(e - m) that pass 1 leaves to later ones, against the own maximum
};

/// Nothing if the condition does not hold.
std::optional<OwnMaximum> own_maximum(const KernelSpec& spec, const Passes& passes);

}  // namespace damo
