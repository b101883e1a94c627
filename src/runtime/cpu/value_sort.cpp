#include "runtime/cpu/value_sort.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "runtime/cpu/digit_sort.hpp"

namespace damo::cpu_backend {
namespace {

/// Into `sorted`, by 32 bits of keys, those from `shift` on, of which only the varying ones differ.
template <class Key, class Word = typename Key::Word>
void sort_by_bits(const Key& key, const Word* from, std::int64_t count, std::uint32_t varying, int shift, Word* scratch, Word* sorted) {
  const auto bits_of = [&](Word word) { return static_cast<std::uint32_t>(std::uint64_t{key.of(word)} >> shift); };
  const bool is_in_place = from == sorted;
  const Word* const lies = sort_items(from, is_in_place ? scratch : sorted, is_in_place ? sorted : scratch, count, varying, bits_of);
  if (lies != sorted) std::copy_n(lies, count, sorted);
}

/// Elements in order by all but the keys' last `bits` bits, 32 at most, come in order by those, too.
template <class Key, class Word = typename Key::Word>
void sort_equals(const Key& key, std::int64_t count, int bits, Word* scratch, Word* sorted) {
  const std::uint64_t low = (std::uint64_t{1} << bits) - 1;
  const auto upper = [&](std::int64_t i) { return std::uint64_t{key.of(sorted[i])} >> bits; };
  for (std::int64_t begin = 0, end = 0; begin < count; begin = end) {
    const std::uint64_t own = upper(begin);
    for (end = begin + 1; end < count && upper(end) == own;) ++end;
    std::uint64_t varying = 0;
    for (std::int64_t i = begin + 1; i < end; ++i) varying |= (key.of(sorted[i]) ^ key.of(sorted[begin])) & low;
    if (varying != 0) sort_by_bits(key, sorted + begin, end - begin, static_cast<std::uint32_t>(varying), 0, scratch + begin, sorted + begin);
  }
}

template <class Key, class Word = typename Key::Word>
void sort_run(const Key& key, std::int64_t count, Word* scratch, Word* sorted) {
  const auto [varying, is_sorted] = look_at(key, count);
  if (is_sorted) {
    std::copy_n(key.x, count, sorted);
    return;
  }
  const int shift = std::max(static_cast<int>(std::bit_width(varying)) - 32, 0);
  sort_by_bits(key, key.x, count, static_cast<std::uint32_t>(varying >> shift), shift, scratch, sorted);
  if (shift > 0) sort_equals(key, count, shift, scratch, sorted);
}

void sort_values(void* const* arguments, const LaunchFrame* frame, std::int64_t first, std::int64_t last) {
  const SortValues& work = *static_cast<const SortValues*>(arguments[0]);
  with_key(work.x, work.key, [&]<class Key>(Key key) {
    using Word = typename Key::Word;
    const Word* const x = key.x;
    each_run(work, *frame, first, last, [&](std::int64_t line, std::int64_t, std::int64_t begin, std::int64_t count, std::int64_t block) {
      const std::int64_t at = line * work.count + begin;
      key.x = x + at;
      sort_run(key, count, static_cast<Word*>(work.scratch) + work.run * block, static_cast<Word*>(work.sorted) + at);
    });
  });
}

/// Elements [first, end) of two runs, merged. Where keys are equal a's come first.
template <class Key, class Word = typename Key::Word>
void merge_part(const Key& a, std::int64_t a_count, const Key& b, std::int64_t b_count, std::int64_t first, std::int64_t end, Word* merged) {
  const auto share = [&](std::int64_t taken) { return first_runs_share(a, a_count, b, b_count, taken); };
  std::int64_t i = share(first), j = first - i;
  const std::int64_t i_end = share(end), j_end = end - i_end;
  while (i < i_end && j < j_end) {  // without branches on what is random
    const Word own_a = a.x[i], own_b = b.x[j];
    const bool is_b = b.of(own_b) < a.of(own_a);
    *merged++ = own_a ^ ((own_a ^ own_b) & static_cast<Word>(-static_cast<Word>(is_b)));
    j += static_cast<std::int64_t>(is_b), i += static_cast<std::int64_t>(!is_b);
  }
  std::copy(b.x + j, b.x + j_end, std::copy(a.x + i, a.x + i_end, merged));
}

void merge_values(void* const* arguments, const LaunchFrame*, std::int64_t first, std::int64_t last) {
  const MergeValues& work = *static_cast<const MergeValues*>(arguments[0]);
  with_key(work.x, work.key, [&]<class Key>(const Key& key) {
    each_merge(work, first, last, [&](std::int64_t begin, std::int64_t middle, std::int64_t end, std::int64_t at, std::int64_t stop) {
      Key a = key, b = key;
      a.x += begin, b.x += middle;
      merge_part(a, middle - begin, b, end - middle, at - begin, stop - begin, static_cast<typename Key::Word*>(work.merged) + at);
    });
  });
}

void take_sorted(void* const* arguments, const LaunchFrame* frame, std::int64_t first, std::int64_t last) {
  const TakeSorted& work = *static_cast<const TakeSorted*>(arguments[0]);
  const std::int64_t all = work.lines * work.count, blocks = frame->grid[0], end = all * last / blocks;
  with_key(work.x, {.bytes = work.bytes}, [&]<class Key>(const Key& key) {
    auto* const sorted = static_cast<typename Key::Word*>(work.sorted);
    for (std::int64_t at = all * first / blocks; at < end;) {
      const std::int64_t line = at / work.count * work.count, stop = std::min(end, line + work.count);
      for (; at < stop; ++at) sorted[at] = key.x[line + work.order[at]];
    }
  });
}

}  // namespace

std::span<const NativeKernel> value_sort_kernels() {
  static constexpr NativeKernel kKernels[] = {{SortValues::kName, "SortValues", sizeof(SortValues), sort_values},
                                              {MergeValues::kName, "MergeValues", sizeof(MergeValues), merge_values},
                                              {TakeSorted::kName, "TakeSorted", sizeof(TakeSorted), take_sorted}};
  return kKernels;
}

}  // namespace damo::cpu_backend
