#include "runtime/cpu/line_sort.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <new>
#include <utility>

#include "runtime/library/line_sort.hpp"

namespace damo::cpu_backend {
namespace {

constexpr std::int64_t kInserted = 40;      ///< so many words are in order sooner by insertion
constexpr std::int64_t kWideDigits = 8192;  ///< words worth 2,048 counters a digit
constexpr int kMostDigits = 4;

std::uint32_t upper(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); }
std::uint32_t place(std::uint64_t word) { return static_cast<std::uint32_t>(word); }
std::uint64_t joined(std::uint64_t key, std::int64_t place) { return key << 32 | static_cast<std::uint64_t>(place); }

/// The key of element i. Without branches: signs are often random.
template <class Word, bool is_floating>
struct KeyOf {
  static constexpr std::uint64_t kSign = std::uint64_t{1} << (8 * sizeof(Word) - 1), kAll = kSign | (kSign - 1);
  const Word* x;
  std::uint64_t infinity, flip, inverted;
  std::uint64_t operator()(std::int64_t i) const {
    const std::uint64_t word = x[i];
    if constexpr (!is_floating) return word ^ flip ^ inverted;
    const std::uint64_t is_negative = word >> (8 * sizeof(Word) - 1), flipped = word ^ (kSign | (-is_negative & kAll));
    const std::uint64_t is_nan = (word & ~kSign) > infinity;
    return ((flipped + (word == kSign)) | (-is_nan & kAll)) ^ inverted;  // -0 flipped is the word before +0's
  }
};

template <class Word, class Act>
void with_words(const void* x, const SortKey& key, const Act& act) {
  const std::uint64_t inverted = key.is_descending ? KeyOf<Word, true>::kAll : 0;
  if (key.infinity != 0)
    act(KeyOf<Word, true>{static_cast<const Word*>(x), key.infinity, key.flip, inverted});
  else
    act(KeyOf<Word, false>{static_cast<const Word*>(x), key.infinity, key.flip, inverted});
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

void insert_words(std::uint64_t* words, std::int64_t count) {
  for (std::int64_t i = 1; i < count; ++i) {
    const std::uint64_t word = words[i];
    std::int64_t to = i;
    for (; to > 0 && words[to - 1] > word; --to) words[to] = words[to - 1];
    words[to] = word;
  }
}

template <int kMostBits>
std::uint64_t* sort_by_digits(std::uint64_t* words, std::uint64_t* other, std::int64_t count, std::uint32_t varying) {
  const int low = std::countr_zero(varying), bits = static_cast<int>(std::bit_width(varying)) - low;
  const int digits = (bits + kMostBits - 1) / kMostBits, width = (bits + digits - 1) / digits;
  const std::uint32_t mask = (std::uint32_t{1} << width) - 1;
  std::array<std::array<std::uint32_t, std::size_t{1} << kMostBits>, kMostDigits> begins;
  for (int digit = 0; digit < digits; ++digit) std::fill_n(begins[digit].begin(), mask + 1, 0u);
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint32_t rest = upper(words[i]) >> low;
    for (int digit = 0; digit < digits; ++digit, rest >>= width) begins[digit][rest & mask] += 1;
  }
  for (int digit = 0; digit < digits; ++digit) {
    const int shift = 32 + low + digit * width;
    if ((varying >> (shift - 32) & mask) == 0) continue;
    auto& next = begins[digit];
    std::uint32_t before = 0;
    for (std::uint32_t value = 0; value <= mask; ++value) before += std::exchange(next[value], before);
    for (std::int64_t i = 0; i < count; ++i) other[next[words[i] >> shift & mask]++] = words[i];
    std::swap(words, other);
  }
  return words;
}

/// By their upper halves, of which only the varying bits differ; words that are equal there come in the order of their
/// places. The result lies in one of the two.
std::uint64_t* sort_words(std::uint64_t* words, std::uint64_t* other, std::int64_t count, std::uint32_t varying) {
  if (varying == 0) return words;
  if (count <= kInserted) return insert_words(words, count), words;
  return count < kWideDigits ? sort_by_digits<8>(words, other, count, varying)
                             : sort_by_digits<11>(words, other, count, varying);
}

/// Words in order by all but the keys' last `bits` bits come in order by those, too.
template <class Key>
void sort_equals(const Key& key, std::uint64_t* words, std::uint64_t* other, std::int64_t count, int bits) {
  const std::uint64_t low = (std::uint64_t{1} << bits) - 1;
  for (std::int64_t begin = 0, end = 0; begin < count; begin = end) {
    for (end = begin + 1; end < count && upper(words[end]) == upper(words[begin]);) ++end;
    if (end == begin + 1) continue;
    std::uint32_t varying = 0;
    const auto first = static_cast<std::uint32_t>(key(place(words[begin])) & low);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::uint64_t rest = key(place(words[i])) & low;
      varying |= static_cast<std::uint32_t>(rest) ^ first;
      words[i] = joined(rest, place(words[i]));
    }
    const std::uint64_t* const sorted = sort_words(words + begin, other + begin, end - begin, varying);
    if (sorted != words + begin) std::copy_n(sorted, end - begin, words + begin);
  }
}

/// `base`: the run's first element's place in its line. scratch: 2 * count words.
template <class Key>
void sort_run(const Key& key, std::int64_t count, std::int64_t base, std::uint64_t* scratch, std::uint64_t* keys,
              std::int64_t* order) {
  std::uint64_t varying = 0, last = 0;
  bool is_sorted = true;
  const std::uint64_t first = key(0);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t own = key(i);
    varying |= own ^ first;
    is_sorted &= last <= own;
    last = own;
  }
  if (is_sorted) {
    for (std::int64_t i = 0; i < count; ++i) order[i] = base + i;
    for (std::int64_t i = 0; keys != nullptr && i < count; ++i) keys[i] = key(i);
    return;
  }
  const int shift = std::max(static_cast<int>(std::bit_width(varying)) - 32, 0);
  for (std::int64_t i = 0; i < count; ++i) scratch[i] = joined(key(i) >> shift, i);
  std::uint64_t* const sorted =
      sort_words(scratch, scratch + count, count, static_cast<std::uint32_t>(varying >> shift));
  if (shift > 0) sort_equals(key, sorted, sorted == scratch ? scratch + count : scratch, count, shift);
  for (std::int64_t i = 0; i < count; ++i) order[i] = base + place(sorted[i]);
  for (std::int64_t i = 0; keys != nullptr && i < count; ++i) keys[i] = key(place(sorted[i]));
}

/// act(line, run of the line, its first element, how many, scratch) for all runs of blocks [first, last).
template <class Work, class Act>
void each_run(const Work& work, const LaunchFrame& frame, std::int64_t first, std::int64_t last, const Act& act) {
  const std::int64_t runs = (work.count + work.run - 1) / work.run, all = work.lines * runs, blocks = frame.grid[0];
  for (std::int64_t block = first; block < last; ++block) {
    for (std::int64_t item = all * block / blocks; item < all * (block + 1) / blocks; ++item) {
      const std::int64_t line = item / runs, run = item % runs, begin = run * work.run;
      act(line, run, begin, std::min(work.run, work.count - begin), work.scratch + 2 * work.run * block);
    }
  }
}

void sort_runs(void* const* arguments, const LaunchFrame* frame, std::int64_t first, std::int64_t last) {
  const SortRuns& work = *static_cast<const SortRuns*>(arguments[0]);
  with_key(work.x, work.key, [&](auto key) {
    const auto* const x = key.x;
    each_run(work, *frame, first, last,
             [&](std::int64_t line, std::int64_t, std::int64_t begin, std::int64_t count, std::uint64_t* scratch) {
               const std::int64_t at = line * work.count + begin;
               key.x = x + at;
               sort_run(key, count, begin, scratch, work.keys == nullptr ? nullptr : work.keys + at, work.order + at);
             });
  });
}

/// Part of a line, in order.
struct Run {
  const std::uint64_t* keys;
  const std::int64_t* order;
  std::int64_t count;
};

/// How many of the first `taken` elements of two runs, merged, are of the first.
std::int64_t first_runs_share(const Run& a, const Run& b, std::int64_t taken) {
  std::int64_t low = std::max<std::int64_t>(taken - b.count, 0), high = std::min(taken, a.count);
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (a.keys[middle] <= b.keys[taken - middle - 1])
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// Elements [first, end) of two runs, merged. Where keys are equal a's come first.
void merge_part(const Run& a, const Run& b, std::int64_t first, std::int64_t end, std::uint64_t* keys,
                std::int64_t* order) {
  std::int64_t i = first_runs_share(a, b, first), j = first - i;
  const std::int64_t i_end = first_runs_share(a, b, end), j_end = end - i_end;
  while (i < i_end && j < j_end) {  // without branches on what is random
    const std::uint64_t of_a = a.keys[i], of_b = b.keys[j], is_b = of_b < of_a;
    *order++ = a.order[i] ^ ((a.order[i] ^ b.order[j]) & -static_cast<std::int64_t>(is_b));
    if (keys != nullptr) *keys++ = of_a ^ ((of_a ^ of_b) & -is_b);
    j += static_cast<std::int64_t>(is_b), i += static_cast<std::int64_t>(1 - is_b);
  }
  order = std::copy(b.order + j, b.order + j_end, std::copy(a.order + i, a.order + i_end, order));
  if (keys != nullptr) std::copy(b.keys + j, b.keys + j_end, std::copy(a.keys + i, a.keys + i_end, keys));
}

void merge_runs(void* const* arguments, const LaunchFrame*, std::int64_t first, std::int64_t last) {
  const MergeRuns& work = *static_cast<const MergeRuns*>(arguments[0]);
  for (std::int64_t block = first; block < last; ++block) {
    const std::int64_t line = block / work.pieces * work.count, piece = block % work.pieces;
    const std::int64_t end = work.count * (piece + 1) / work.pieces;
    for (std::int64_t at = work.count * piece / work.pieces; at < end;) {
      const std::int64_t pair = at / (2 * work.run) * (2 * work.run), middle = std::min(pair + work.run, work.count),
                         behind = std::min(middle + work.run, work.count);
      const std::int64_t stop = std::min(end, behind), to = line + at;
      const Run a{work.keys + line + pair, work.order + line + pair, middle - pair},
          b{work.keys + line + middle, work.order + line + middle, behind - middle};
      merge_part(a, b, at - pair, stop - pair, work.keys_out == nullptr ? nullptr : work.keys_out + to,
                 work.order_out + to);
      at = stop;
    }
  }
}

/// An element that may be among the first.
struct Candidate {
  std::uint64_t key;
  std::int64_t at;
  friend auto operator<=>(const Candidate&, const Candidate&) = default;
};
static_assert(sizeof(Candidate) == 2 * sizeof(std::uint64_t));

/// The first of `count` elements, in order, at the beginning of candidates, which has room for twice as many.
template <class Key>
void select_first(const Key& key, std::int64_t count, std::int64_t first, Candidate* candidates) {
  std::int64_t kept = 0;
  for (; kept < first; ++kept) candidates[kept] = {key(kept), kept};
  std::uint64_t bound = std::max_element(candidates, candidates + first)->key;
  for (std::int64_t i = first; i < count; ++i) {
    const std::uint64_t own = key(i);
    if (own >= bound) continue;  // an equal one comes behind those that are there
    candidates[kept++] = {own, i};
    if (kept < 2 * first) continue;
    std::nth_element(candidates, candidates + first - 1, candidates + kept);
    kept = first;
    bound = candidates[first - 1].key;
  }
  std::sort(candidates, candidates + kept);
}

void select_runs(void* const* arguments, const LaunchFrame* frame, std::int64_t first, std::int64_t last) {
  const SelectFirst& work = *static_cast<const SelectFirst*>(arguments[0]);
  const std::int64_t runs = (work.count + work.run - 1) / work.run;
  with_key(work.x, work.key, [&](auto key) {
    const auto* const x = key.x;
    each_run(work, *frame, first, last,
             [&](std::int64_t line, std::int64_t run, std::int64_t begin, std::int64_t count, std::uint64_t* scratch) {
               const std::int64_t at = line * work.count + begin, to = (line * runs + run) * work.first;
               key.x = x + at;
               Candidate* const candidates = std::launder(reinterpret_cast<Candidate*>(scratch));
               select_first(key, count, work.first, candidates);
               for (std::int64_t i = 0; i < work.first; ++i)
                 work.order[to + i] =
                     work.places == nullptr ? begin + candidates[i].at : work.places[at + candidates[i].at];
               for (std::int64_t i = 0; work.keys != nullptr && i < work.first; ++i)
                 work.keys[to + i] = candidates[i].key;
             });
  });
}

}  // namespace

std::span<const NativeKernel> line_sort_kernels() {
  static constexpr NativeKernel kKernels[] = {{SortRuns::kName, "SortRuns", sizeof(SortRuns), sort_runs},
                                              {MergeRuns::kName, "MergeRuns", sizeof(MergeRuns), merge_runs},
                                              {SelectFirst::kName, "SelectFirst", sizeof(SelectFirst), select_runs}};
  return kKernels;
}

}  // namespace damo::cpu_backend
