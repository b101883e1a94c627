#include "ops/sort/host_sort.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include <damo/stream.hpp>
#include "runtime/backend.hpp"
#include "runtime/memory/workspace.hpp"

namespace damo {
namespace {

constexpr std::int64_t kLeastRun = 1 << 14;      ///< elements that are worth a run of their own, and its merge
constexpr std::int64_t kWorthAThread = 1 << 13;  ///< elements

std::int64_t quotient_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// How lines are shared by the threads: in runs where there are fewer lines than threads, of `least` elements at least.
struct Shares {
  Shares(Device device, std::int64_t lines, std::int64_t count, std::int64_t least) {
    threads = device.backend().limits().multiprocessors;
    runs = std::clamp<std::int64_t>(quotient_up(threads, lines), 1, std::max<std::int64_t>(count / least, 1));
    run = quotient_up(count, runs);
    runs = quotient_up(count, run);
    blocks = std::clamp<std::int64_t>(lines * count / kWorthAThread, 1, std::min(threads, lines * runs));
  }
  /// Merges of runs.
  int merges() const { return std::bit_width(static_cast<std::uint64_t>(runs - 1)); }
  std::int64_t scratch() const { return run * blocks; }
  LaunchConfig launch() const { return {.grid = {blocks}, .block = {1}}; }
  /// A block a piece of all lines, as merges write them.
  std::int64_t pieces(std::int64_t lines) const { return std::max<std::int64_t>(threads / lines, 1); }
  std::int64_t threads, runs, run, blocks;
};

std::size_t bytes_of(std::int64_t elements, DType dtype) { return static_cast<std::size_t>(elements) * itemsize(dtype); }
Array words(std::int64_t count, Device device) { return Array::empty({count}, uint64, device); }
Array places(std::int64_t count, Device device) { return Array::empty({count}, int64, device); }
std::uint64_t* words_of(const Array& array) { return array ? static_cast<std::uint64_t*>(array.data()) : nullptr; }
std::int64_t* places_of(const Array& array) { return static_cast<std::int64_t*>(array.data()); }

}  // namespace

std::optional<HostSort> HostSort::of(Device device) {
  const Stream stream = Stream::default_of(device);
  const auto kernel = [&](const char* name) {
    auto native = device.backend().native_kernel(name);
    return native ? Kernel(std::move(native), stream) : Kernel();
  };
  HostSort sort;
  sort.sort_runs_ = kernel(SortRuns::kName), sort.merge_runs_ = kernel(MergeRuns::kName);
  sort.sort_values_ = kernel(SortValues::kName), sort.merge_values_ = kernel(MergeValues::kName);
  sort.take_sorted_ = kernel(TakeSorted::kName), sort.select_first_ = kernel(SelectFirst::kName);
  for (const Kernel* each : {&sort.sort_runs_, &sort.merge_runs_, &sort.sort_values_, &sort.merge_values_, &sort.take_sorted_, &sort.select_first_}) {
    if (!*each) return std::nullopt;
  }
  return sort;
}

void HostSort::order(const Array& x, const SortKey& key, std::int64_t lines, std::int64_t count, const Array& sorted,
                     const Array& order) const {
  const Device device = x.device();
  const Shares shares(device, lines, count, kLeastRun);
  const int merges = shares.merges();
  {
    // The last merge ends in the result.
    std::pair<Array, Array> to{{}, order}, other;
    if (merges > 0) other = {words(lines * count, device), places(lines * count, device)};
    if (merges > 1) to.first = words(lines * count, device);
    if (merges % 2 == 1) std::swap(to, other);
    const Array scratch = words(2 * shares.scratch(), device);
    sort_runs_(shares.launch(), SortRuns{x.data(), key, lines, count, shares.run, words_of(scratch), words_of(to.first),
                                         places_of(to.second)});
    const std::int64_t pieces = shares.pieces(lines);
    std::int64_t run = shares.run;
    for (int merge = 0; merge < merges; ++merge, run *= 2) {
      std::swap(to, other);
      merge_runs_({.grid = {lines * pieces}, .block = {1}},
                  MergeRuns{words_of(other.first), places_of(other.second), lines, count, run, pieces,
                            merge == merges - 1 ? nullptr : words_of(to.first), places_of(to.second)});
    }
  }
  if (!sorted) return;
  const std::int64_t blocks = std::clamp<std::int64_t>(lines * count / kWorthAThread, 1, shares.threads);
  take_sorted_({.grid = {blocks}, .block = {1}},
               TakeSorted{x.data(), places_of(order), lines, count, key.bytes, sorted.data()});
}

std::size_t HostSort::order_bytes(Device device, std::int64_t lines, std::int64_t count) {
  if (lines * count == 0) return 0;
  const Shares shares(device, lines, count, kLeastRun);
  const int merges = shares.merges();
  WorkspaceNeed need;
  for (int i = 0; i < (merges > 0 ? 2 : 0) + (merges > 1 ? 1 : 0); ++i) need.take(bytes_of(lines * count, uint64));
  need.take(bytes_of(2 * shares.scratch(), uint64));
  return need.bytes();
}

void HostSort::sort(const Array& x, const SortKey& key, std::int64_t lines, std::int64_t count, const Array& sorted) const {
  const Device device = x.device();
  const Shares shares(device, lines, count, kLeastRun);
  const int merges = shares.merges();
  Array to = sorted, other = merges > 0 ? Array::empty({lines * count}, x.dtype(), device) : Array();
  if (merges % 2 == 1) std::swap(to, other);
  const Array scratch = Array::empty({shares.scratch()}, x.dtype(), device);
  sort_values_(shares.launch(), SortValues{x.data(), key, lines, count, shares.run, scratch.data(), to.data()});
  const std::int64_t pieces = shares.pieces(lines);
  std::int64_t run = shares.run;
  for (int merge = 0; merge < merges; ++merge, run *= 2) {
    std::swap(to, other);
    merge_values_({.grid = {lines * pieces}, .block = {1}}, MergeValues{other.data(), key, lines, count, run, pieces, to.data()});
  }
}

std::size_t HostSort::sort_bytes(Device device, DType dtype, std::int64_t lines, std::int64_t count) {
  if (lines * count == 0) return 0;
  const Shares shares(device, lines, count, kLeastRun);
  WorkspaceNeed need;
  if (shares.merges() > 0) need.take(bytes_of(lines * count, dtype));
  need.take(bytes_of(shares.scratch(), dtype));
  return need.bytes();
}

std::size_t HostSort::select_bytes(Device device, std::int64_t lines, std::int64_t count, std::int64_t wanted) {
  if (lines * count * wanted == 0) return 0;
  const Shares shares(device, lines, count, std::max(kLeastRun, kLeastShare * wanted));
  WorkspaceNeed need;
  need.take(bytes_of(2 * shares.scratch(), uint64));
  for (int i = 0; i < (shares.runs == 1 ? 0 : 2); ++i) need.take(bytes_of(lines * shares.runs * wanted, uint64));
  return need.bytes();
}

void HostSort::select(const Array& x, const SortKey& key, std::int64_t lines, std::int64_t count, std::int64_t wanted,
                      const Array& order) const {
  if (wanted == 0) return;
  const Device device = x.device();
  const Shares shares(device, lines, count, std::max(kLeastRun, kLeastShare * wanted));
  const Array scratch = words(2 * shares.scratch(), device);
  if (shares.runs == 1) {
    select_first_(shares.launch(), SelectFirst{x.data(), key, nullptr, lines, count, shares.run, wanted,
                                               words_of(scratch), nullptr, places_of(order)});
    return;
  }
  const std::int64_t candidates = shares.runs * wanted;
  const Array keys = words(lines * candidates, device), from = places(lines * candidates, device);
  select_first_(shares.launch(), SelectFirst{x.data(), key, nullptr, lines, count, shares.run, wanted,
                                             words_of(scratch), words_of(keys), places_of(from)});
  select_first_({.grid = {1}, .block = {1}}, SelectFirst{keys.data(), {}, places_of(from), lines, candidates, candidates,
                                                         wanted, words_of(scratch), nullptr, places_of(order)});
}

}  // namespace damo
