// Table: an array of which a step of a generated kernel reads elements at places that it computes, as a search or a look-up does. It lies in C order; the launch brings its address and its size, by value.
// Text of generated kernels on every back end, behind convert.h. See KernelSpec::tables, KernelOp::reads_table.
#pragma once

namespace damo {

template <class Stored>
struct Table {
  const Stored* data;
  i64 size;

  Table() = default;
  // Of a launch without elements, which reads nothing: an empty one.
  DAMO_MEMBER explicit Table(int) : data(nullptr), size(0) {}
  // The element there, or 0 where there is none: threads beyond an array's end compute with whatever is at hand.
  DAMO_MEMBER Stored operator[](i64 at) const { return u64(at) < u64(size) ? data[at] : Stored(); }
};

namespace math {

// The greatest float below x, which no float lies between: there < x is there <= below(x). Below -infinity there is NaN, and below NaN, which stands behind all others, infinity.
DAMO_MATH float below(float x) { return x != x ? as_float(0x7f800000u) : as_float(x == 0 ? 0x80000001u : x > 0 ? bits(x) - 1 : bits(x) + 1); }
DAMO_MATH double below(double x) { return x != x ? as_double(0x7ff0000000000000ull) : as_double(x == 0 ? 0x8000000000000001ull : x > 0 ? bits(x) - 1 : bits(x) + 1); }

// How many elements stand before the key, and with `equals` those that equal it, in a table in order. Each turn halves what is left without a branch that depends on an element, so that the threads of a warp go
// through as many turns, and so do the keys of a thread. NaN stands behind all others and equals itself.
template <bool equals, class T, class Stored>
DAMO_MATH i64 count_before(const Table<Stored>& sorted, T key) {
  constexpr bool has_nan = is_floating<T>;
  T last = key;
  if constexpr (has_nan && !equals) last = below(key);
  const auto is_before = [&](Stored there) {
    if constexpr (has_nan || equals) return convert<T>(there) <= last;
    else return convert<T>(there) < last;
  };
  const Stored* from = sorted.data;
  i64 all = sorted.size;
  while (all > 0x7fffffff) {
    const i64 half = all / 2;
    from += is_before(from[half - 1]) ? half : 0;
    all -= half;
  }
  int left = int(all), at = 0;
  while (left > 1) {
    const int half = left / 2;
    at = is_before(from[at + half - 1]) ? at + half : at;
    left -= half;
  }
  if (left == 1) at += is_before(from[at]);
  const i64 count = from - sorted.data + at;
  if constexpr (has_nan && equals) return key != key ? sorted.size : count;
  return count;
}

}  // namespace math

// Where a key would be put into a table in order, before all that equal it or behind them: C++'s lower_bound and upper_bound, as places.
template <class T, class Stored>
DAMO_MATH i64 lower_bound(const Table<Stored>& sorted, T key) {
  return math::count_before<false>(sorted, key);
}
template <class T, class Stored>
DAMO_MATH i64 upper_bound(const Table<Stored>& sorted, T key) {
  return math::count_before<true>(sorted, key);
}

}  // namespace damo
