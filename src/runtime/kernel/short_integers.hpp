// Short integers: what a kernel computes in 64-bit integers that provably fit 32 it computes in 32. Places along axes, lengths and positions are int64 wherever they stand, and nearly always
// few: a GPU has no 64-bit integers, so that one comparison of them is two instructions and one conversion to float eight, and a CPU's vectors hold half as many.
// A step goes short where its code is one of the built-in ones of which value_ranges.hpp knows what they give, and all its int64 inputs, and before anything wraps around what it gives, lie within 32 bits: then its
// value is the same number, and so is what a conversion to any dtype makes of it. Joins stay as they are, as do a user's code, a kernel that stands behind a user's text, and steps that are gone through in turns.
// Which steps those are depends on what a launch brings: lengths, and numbers in arguments. Of each the layout says how many binary digits hold it (Layout::digits), as many as change nothing,
// so that one text serves all shapes for which the same steps go short. See tests/runtime/kernel/short_integers_test.cpp.
#pragma once
#include <span>
#include <vector>

#include "runtime/kernel/layout.hpp"
#include "runtime/kernel/spec.hpp"

namespace damo {

/// Whether the spec has steps that may: the built-in ones in 64-bit integers.
bool may_go_short(const KernelSpec& spec);

/// Binary digits of a launch: of the ordinals by their inputs, the elements of a row where the spec asks for places in it or their number, and the int64 ones of the numbers. numbers: in the place of the
/// spec's; empty: the spec's. None of a spec in which nothing can go short.
std::vector<int> digits_of(const KernelSpec& spec, const Geometry& geometry, std::span<const Scalar> numbers = {});

/// Layout::digits: the most with which the same goes short as with these; empty: any.
std::vector<int> most_digits(const KernelSpec& spec, std::vector<int> digits);

/// The spec with what fits 32 bits in 32, of all launches with these digits; empty: of any launch.
KernelSpec with_short_integers(const KernelSpec& spec, std::span<const int> digits);

/// Whether what is right for launches with digits `code` is so for those with `data`.
bool digits_serve(std::span<const int> code, std::span<const int> data);

}  // namespace damo
