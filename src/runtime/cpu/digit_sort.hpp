// What sorts of lines on the CPU share (line_sort.hpp, value_sort.hpp): keys of elements, a radix sort of any items by 32
// bits of theirs, and where merged runs are cut.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "runtime/cpu/native_kernel.hpp"
#include "runtime/library/line_sort.hpp"

namespace damo::cpu_backend {

inline constexpr std::int64_t kInserted = 40;      ///< so many items are in order sooner by insertion
inline constexpr std::int64_t kWideDigits = 8192;  ///< items worth 2,048 counters a digit
inline constexpr int kMostDigits = 4;

/// The keys of elements. Without branches: signs are often random.
template <class Element, bool is_floating>
struct KeyOf {
  using Word = Element;
  static constexpr int kBits = 8 * sizeof(Word);
  static constexpr Word kSign = static_cast<Word>(Word{1} << (kBits - 1));
  const Word* x;
  Word infinity, flip;
  Word of(Word word) const {
    if constexpr (!is_floating) return word ^ flip;
    const Word size = word & static_cast<Word>(~kSign), negative = static_cast<Word>(-(word >> (kBits - 1)));
    const Word is_nan = size > infinity;
    return static_cast<Word>(static_cast<Word>((size ^ negative) - negative + kSign) | static_cast<Word>(-is_nan)) ^ flip;
  }
  Word operator()(std::int64_t i) const { return of(x[i]); }
};

template <class Word, class Act>
void with_words(const void* x, const SortKey& key, const Act& act) {
  const auto infinity = static_cast<Word>(key.infinity), flip = static_cast<Word>(key.flip);
  if (infinity != 0)
    act(KeyOf<Word, true>{static_cast<const Word*>(x), infinity, flip});
  else
    act(KeyOf<Word, false>{static_cast<const Word*>(x), infinity, flip});
}
/// act(KeyOf) for elements of that kind.
template <class Act>
void with_key(const void* x, const SortKey& key, const Act& act) {
  if (key.bytes == 1)
    with_words<std::uint8_t>(x, key, act);
  else if (key.bytes == 2)
    with_words<std::uint16_t>(x, key, act);
  else if (key.bytes == 4)
    with_words<std::uint32_t>(x, key, act);
  else
    with_words<std::uint64_t>(x, key, act);
}

/// What decides how a run is sorted: the bits in which its keys differ, and whether it is in order already.
struct RunBits {
  std::uint64_t varying = 0;
  bool is_sorted = true;
};
template <class Key>
RunBits look_at(const Key& key, std::int64_t count) {
  using Word = typename Key::Word;
  const Word first = key(0);
  Word varying = 0, behind = 0;
  for (std::int64_t i = 1; i < count; ++i) {
    const Word before = key(i - 1), own = key(i);
    varying |= own ^ first;
    behind |= before > own;
  }
  return {varying, behind == 0};
}

template <class Item, class BitsOf>
void insert_items(Item* items, std::int64_t count, const BitsOf& bits_of) {
  for (std::int64_t i = 1; i < count; ++i) {
    const Item item = items[i];
    std::int64_t to = i;
    for (; to > 0 && bits_of(items[to - 1]) > bits_of(item); --to) items[to] = items[to - 1];
    items[to] = item;
  }
}

/// The digits of the bits that vary.
template <int kMostBits>
struct Digits {
  explicit Digits(std::uint32_t varying)
      : low(std::countr_zero(varying)),
        count((static_cast<int>(std::bit_width(varying)) - low + kMostBits - 1) / kMostBits),
        width((static_cast<int>(std::bit_width(varying)) - low + count - 1) / count),
        mask((std::uint32_t{1} << width) - 1) {}
  int low, count, width;
  std::uint32_t mask;
};

template <int kMostBits, class Item, class BitsOf>
Item* sort_by_digits(const Item* from, Item* to, Item* other, std::int64_t count, std::uint32_t varying, const BitsOf& bits_of) {
  const Digits<kMostBits> digits(varying);
  std::array<std::array<std::uint32_t, std::size_t{1} << kMostBits>, kMostDigits> begins;
  for (int digit = 0; digit < digits.count; ++digit) std::fill_n(begins[digit].begin(), digits.mask + 1, 0u);
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint32_t rest = bits_of(from[i]) >> digits.low;
    for (int digit = 0; digit < digits.count; ++digit, rest >>= digits.width) begins[digit][rest & digits.mask] += 1;
  }
  for (int digit = 0; digit < digits.count; ++digit) {
    const int shift = digits.low + digit * digits.width;
    if ((varying >> shift & digits.mask) == 0) continue;
    auto& next = begins[digit];
    std::uint32_t before = 0;
    for (std::uint32_t value = 0; value <= digits.mask; ++value) before += std::exchange(next[value], before);
    for (std::int64_t i = 0; i < count; ++i) to[next[bits_of(from[i]) >> shift & digits.mask]++] = from[i];
    from = to;
    std::swap(to, other);
  }
  return other;
}

/// Items by the bits that bits_of says of each, of which only the varying ones differ, at least one; those that are equal there stay in order.
/// from: may be `other`. The result lies in one of the two.
template <class Item, class BitsOf>
Item* sort_items(const Item* from, Item* to, Item* other, std::int64_t count, std::uint32_t varying, const BitsOf& bits_of) {
  if (count <= kInserted) {
    std::copy_n(from, count, to);
    insert_items(to, count, bits_of);
    return to;
  }
  return count < kWideDigits ? sort_by_digits<8>(from, to, other, count, varying, bits_of)
                             : sort_by_digits<11>(from, to, other, count, varying, bits_of);
}

/// act(line, run of the line, its first element, how many, block) for all runs of blocks [first, last).
template <class Work, class Act>
void each_run(const Work& work, const LaunchFrame& frame, std::int64_t first, std::int64_t last, const Act& act) {
  const std::int64_t runs = (work.count + work.run - 1) / work.run, all = work.lines * runs, blocks = frame.grid[0];
  for (std::int64_t block = first; block < last; ++block) {
    for (std::int64_t item = all * block / blocks; item < all * (block + 1) / blocks; ++item) {
      const std::int64_t line = item / runs, run = item % runs, begin = run * work.run;
      act(line, run, begin, std::min(work.run, work.count - begin), block);
    }
  }
}

/// How many of the first `taken` elements of two runs, merged, are of the first, whose keys come before those of the second
/// where they are equal.
template <class KeyOfA, class KeyOfB>
std::int64_t first_runs_share(const KeyOfA& a, std::int64_t a_count, const KeyOfB& b, std::int64_t b_count, std::int64_t taken) {
  std::int64_t low = std::max<std::int64_t>(taken - b_count, 0), high = std::min(taken, a_count);
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (a(middle) <= b(taken - middle - 1))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// act(begin of two neighbouring runs, the second one's, its end, the first element of the piece, its end), all in elements of all lines,
/// for what the pieces of blocks [first, last) have of each two.
template <class Work, class Act>
void each_merge(const Work& work, std::int64_t first, std::int64_t last, const Act& act) {
  for (std::int64_t block = first; block < last; ++block) {
    const std::int64_t line = block / work.pieces * work.count, piece = block % work.pieces;
    const std::int64_t end = work.count * (piece + 1) / work.pieces;
    for (std::int64_t at = work.count * piece / work.pieces; at < end;) {
      const std::int64_t pair = at / (2 * work.run) * (2 * work.run), middle = std::min(pair + work.run, work.count),
                         behind = std::min(middle + work.run, work.count), stop = std::min(end, behind);
      act(line + pair, line + middle, line + behind, line + at, line + stop);
      at = stop;
    }
  }
}

}  // namespace damo::cpu_backend
