// Table: an array of which a step of a generated kernel reads elements at places that it computes, as a search or a look-up does. It lies in C order; the launch brings its address and its size, by value.
// Text of generated kernels on every back end, behind convert.h. See KernelSpec::tables, KernelOp::reads_table.
#pragma once

namespace damo {

// Index: of elements, 32 bits but for tables that are longer.
template <class Stored, class Index>
struct Table {
  const Stored* data;
  Index size;

  // The element there, or 0 where there is none: threads beyond an array's end compute with whatever is at hand.
  DAMO_MEMBER Stored operator[](i64 at) const { return at >= 0 && at < i64(size) ? data[Index(at)] : Stored(); }
};

namespace math {

// The greatest float below x, which no float lies between: there < x is there <= below(x). Below -infinity there is NaN, and below NaN, which stands behind all others, infinity.
DAMO_MATH float below(float x) {
  const u32 towards = bits(x) + (x > 0 ? ~0u : 1u), ordered = x == 0 ? 0x80000001u : towards;
  return as_float(x != x ? 0x7f800000u : ordered);
}
DAMO_MATH double below(double x) {
  const auto towards = bits(x) + (x > 0 ? ~0ull : 1ull), ordered = x == 0 ? 0x8000000000000001ull : towards;
  return as_double(x != x ? 0x7ff0000000000000ull : ordered);
}

// How many elements stand before the key, and with `equals` those that equal it, in a table in order. Each turn halves what is left without a branch that depends on an element, so that the threads of a warp go
// through as many turns, and so do the keys of a thread. NaN stands behind all others and equals itself.
template <bool equals, class T, class Stored, class Index>
DAMO_MATH i64 count_before(const Table<Stored, Index>& sorted, T key) {
  constexpr bool has_nan = is_floating<T>;
  T last = key;
  if constexpr (has_nan && !equals) last = below(key);
  const auto is_before = [&](Index place) {
    const T there = convert<T>(sorted.data[place]);
    return has_nan || equals ? there <= last : there < last;
  };
  // Of a size that is known to come from the launch's arguments ptxas makes a loop for sm_90 that reads the table's address there in each turn: 10 instructions in place of 9.
  Index known = -1, left = opaque(sorted.size);  // the last place of which it is known that its element is before, and how many stand behind it of which it is not
  while (left > 1) {
    const Index half = left / 2, next = known + half;
    known = is_before(next) ? next : known;
    left -= half;
  }
  if (left == 1) known += is_before(known + 1) ? 1 : 0;
  if constexpr (has_nan && equals) known = key != key ? sorted.size - 1 : known;
  return known + 1;
}

}  // namespace math

// Where a key would be put into a table in order, before all that equal it or behind them: C++'s lower_bound and upper_bound, as places.
template <class T, class Stored, class Index>
DAMO_MATH i64 lower_bound(const Table<Stored, Index>& sorted, T key) {
  return math::count_before<false>(sorted, key);
}
template <class T, class Stored, class Index>
DAMO_MATH i64 upper_bound(const Table<Stored, Index>& sorted, T key) {
  return math::count_before<true>(sorted, key);
}

}  // namespace damo
