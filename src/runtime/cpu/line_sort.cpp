#include "runtime/cpu/line_sort.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <new>

#include "runtime/cpu/digit_sort.hpp"

namespace damo::cpu_backend {
namespace {

std::uint32_t upper(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); }
std::uint32_t place(std::uint64_t word) { return static_cast<std::uint32_t>(word); }
std::uint64_t joined(std::uint64_t key, std::int64_t place) { return key << 32 | static_cast<std::uint64_t>(place); }

/// By their upper halves, of which only the varying bits differ; words that are equal there come in the order of their
/// places. The result lies in one of the two.
std::uint64_t* sort_words(std::uint64_t* words, std::uint64_t* other, std::int64_t count, std::uint32_t varying) {
  return varying == 0 ? words : sort_items(words, other, words, count, varying, upper);
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
  const auto [varying, is_sorted] = look_at(key, count);
  if (is_sorted) {
    for (std::int64_t i = 0; i < count; ++i) order[i] = base + i;
    for (std::int64_t i = 0; keys != nullptr && i < count; ++i) keys[i] = key(i);
    return;
  }
  const int shift = std::max(static_cast<int>(std::bit_width(varying)) - 32, 0);
  for (std::int64_t i = 0; i < count; ++i) scratch[i] = joined(std::uint64_t{key(i)} >> shift, i);
  std::uint64_t* const sorted =
      sort_words(scratch, scratch + count, count, static_cast<std::uint32_t>(varying >> shift));
  if (shift > 0) sort_equals(key, sorted, sorted == scratch ? scratch + count : scratch, count, shift);
  for (std::int64_t i = 0; i < count; ++i) order[i] = base + place(sorted[i]);
  for (std::int64_t i = 0; keys != nullptr && i < count; ++i) keys[i] = key(place(sorted[i]));
}

void sort_runs(void* const* arguments, const LaunchFrame* frame, std::int64_t first, std::int64_t last) {
  const SortRuns& work = *static_cast<const SortRuns*>(arguments[0]);
  with_key(work.x, work.key, [&](auto key) {
    const auto* const x = key.x;
    each_run(work, *frame, first, last,
             [&](std::int64_t line, std::int64_t, std::int64_t begin, std::int64_t count, std::int64_t block) {
               const std::int64_t at = line * work.count + begin;
               key.x = x + at;
               sort_run(key, count, begin, work.scratch + 2 * work.run * block, work.keys == nullptr ? nullptr : work.keys + at, work.order + at);
             });
  });
}

/// Part of a line, in order.
struct Run {
  const std::uint64_t* keys;
  const std::int64_t* order;
  std::int64_t count;
};

/// Elements [first, end) of two runs, merged. Where keys are equal a's come first.
void merge_part(const Run& a, const Run& b, std::int64_t first, std::int64_t end, std::uint64_t* keys,
                std::int64_t* order) {
  const auto of_a = [&](std::int64_t i) { return a.keys[i]; };
  const auto of_b = [&](std::int64_t i) { return b.keys[i]; };
  const auto share = [&](std::int64_t taken) { return first_runs_share(of_a, a.count, of_b, b.count, taken); };
  std::int64_t i = share(first), j = first - i;
  const std::int64_t i_end = share(end), j_end = end - i_end;
  while (i < i_end && j < j_end) {  // without branches on what is random
    const std::uint64_t own_a = a.keys[i], own_b = b.keys[j], is_b = own_b < own_a;
    *order++ = a.order[i] ^ ((a.order[i] ^ b.order[j]) & -static_cast<std::int64_t>(is_b));
    if (keys != nullptr) *keys++ = own_a ^ ((own_a ^ own_b) & -is_b);
    j += static_cast<std::int64_t>(is_b), i += static_cast<std::int64_t>(1 - is_b);
  }
  order = std::copy(b.order + j, b.order + j_end, std::copy(a.order + i, a.order + i_end, order));
  if (keys != nullptr) std::copy(b.keys + j, b.keys + j_end, std::copy(a.keys + i, a.keys + i_end, keys));
}

void merge_runs(void* const* arguments, const LaunchFrame*, std::int64_t first, std::int64_t last) {
  const MergeRuns& work = *static_cast<const MergeRuns*>(arguments[0]);
  each_merge(work, first, last, [&](std::int64_t begin, std::int64_t middle, std::int64_t end, std::int64_t at, std::int64_t stop) {
    const Run a{work.keys + begin, work.order + begin, middle - begin}, b{work.keys + middle, work.order + middle, end - middle};
    merge_part(a, b, at - begin, stop - begin, work.keys_out == nullptr ? nullptr : work.keys_out + at, work.order_out + at);
  });
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
             [&](std::int64_t line, std::int64_t run, std::int64_t begin, std::int64_t count, std::int64_t block) {
               const std::int64_t at = line * work.count + begin, to = (line * runs + run) * work.first;
               key.x = x + at;
               Candidate* const candidates = std::launder(reinterpret_cast<Candidate*>(work.scratch + 2 * work.run * block));
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
