// Reductions and scans over cooperative groups: parts of warps that labels choose, in warps that have parted or end early.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "both_forms.hpp"

namespace damo::cpu_backend {
namespace {

using namespace testing;

// x -> a x + b, modulo 2^32: one after the other is associative, and depends on the order.
struct Map {
  std::uint64_t a = 1, b = 0, count = 0;
};
Map then(const Map& x, const Map& y) { return {y.a * x.a & 0xffffffffu, (y.a * x.b + y.b) & 0xffffffffu, x.count + y.count}; }
std::uint64_t number(const Map& map) { return map.b | map.count << 40; }

constexpr const char* kScans = R"(
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
struct Map { unsigned long a, b, count; };
__device__ Map then(Map x, Map y) { return {y.a * x.a & 0xffffffffu, (y.a * x.b + y.b) & 0xffffffffu, x.count + y.count}; }
template <class Group>
__device__ void scan(const Group& group, unsigned long* results, int i) {
  const auto in_order = [](Map x, Map y) { return then(x, y); };
  const Map own = {2ul * i + 3, 7ul * i + 1, 1};
  const Map all = cg::reduce(group, own, in_order), here = cg::inclusive_scan(group, own, in_order), before = cg::exclusive_scan(group, own, in_order);
  results[3 * i] = all.b | all.count << 40;
  results[3 * i + 1] = here.b | here.count << 40;
  results[3 * i + 2] = before.b | before.count << 40;
}
__global__ void of_labels(unsigned long* results, const int* labels) {
  const int i = threadIdx.x;
  scan(cg::labeled_partition(cg::tiled_partition<32>(cg::this_thread_block()), labels[i]), results, i);
}
__global__ void of_parted_warps(unsigned long* results, const int* labels) {
  const int i = threadIdx.x;
  if (labels[i] < 0) return;
  if (labels[i] % 2) scan(cg::coalesced_threads(), results, i);
  else scan(cg::labeled_partition(cg::coalesced_threads(), labels[i]), results, i);
}
__global__ void of_eights(unsigned long* results, const int*) { scan(cg::tiled_partition<8>(cg::this_thread_block()), results, threadIdx.x); }
__global__ void of_warps(unsigned long* results, const int*) { scan(cg::tiled_partition<32>(cg::this_thread_block()), results, threadIdx.x); }
)";
constexpr const char* kWideScans = R"(
__global__ void of_pairs_of_warps(unsigned long* results, const int*) { scan(cg::tiled_partition<64>(cg::this_thread_block()), results, threadIdx.x); }
)";

const BothForms& forms() {
  static const BothForms once(kScans);
  return once;
}

/// group_of(i): threads of equal numbers are one group; of negative ones, none.
template <class Run, class GroupOf>
void expect_scans(const Run& run, int threads, const GroupOf& group_of) {
  const std::vector<std::uint64_t> got = run(std::vector<std::uint64_t>(static_cast<std::size_t>(3 * threads), 77));
  for (int i = 0; i < threads; ++i) {
    Map before, all;
    const auto own = [](int j) { return Map{std::uint64_t(2 * j + 3), std::uint64_t(7 * j + 1), 1}; };
    for (int j = 0; j < threads; ++j) {
      if (group_of(j) != group_of(i)) continue;
      if (j < i) before = then(before, own(j));
      all = then(all, own(j));
    }
    const bool is_there = group_of(i) >= 0;
    const auto at = static_cast<std::size_t>(3 * i);
    EXPECT_EQ(got[at], is_there ? number(all) : 77) << i;
    EXPECT_EQ(got[at + 1], is_there ? number(then(before, own(i))) : 77) << i;
    EXPECT_EQ(got[at + 2], is_there ? number(before) : 77) << i;
  }
}

TEST(CudaGroups, ScanTheMembersOfEachLabelInTheirOrder) {
  for (const int kinds : {1, 2, 5, 32, 1000}) {
    std::vector<int> labels(96);
    for (int i = 0; i < 96; ++i) labels[static_cast<std::size_t>(i)] = i * 37 % kinds;
    const auto run = [&](const auto& results) { return forms().run("of_labels", {1}, {96}, results, labels.data()); };
    expect_scans(run, 96, [&](int i) { return i / 32 * 1000 + labels[static_cast<std::size_t>(i)]; });
  }
}

TEST(CudaGroups, ScanTheLanesThatStandTogetherOfAPartedWarp) {
  std::vector<int> labels(75);
  for (int i = 0; i < 75; ++i) labels[static_cast<std::size_t>(i)] = i * i % 11 - 1;
  const auto run = [&](const auto& results) { return forms().run("of_parted_warps", {1}, {75}, results, labels.data()); };
  expect_scans(run, 75, [&](int i) {
    const int label = labels[static_cast<std::size_t>(i)];
    return label < 0 ? -1 : i / 32 * 100 + (label % 2 ? 99 : label);
  });
}

constexpr const char* kParts = R"(
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
// Groups side by side of which some take no part, or do it later than others.
__global__ void some_labels(float* sums, const int* labels) {
  const int i = threadIdx.x;
  const auto group = cg::labeled_partition(cg::tiled_partition<32>(cg::this_thread_block()), labels[i]);
  if (labels[i] % 3 == 0) sums[i] = cg::reduce(group, float(i + 1), cg::plus<float>());
  else if (labels[i] % 3 == 1) sums[i] = cg::reduce(group, float(i + 1), cg::greater<float>());
}
__global__ void two_sides(float* sums, const int* labels) {
  const int i = threadIdx.x;
  const cg::coalesced_group group = cg::binary_partition(cg::tiled_partition<32>(cg::this_thread_block()), labels[i] % 2);
  sums[i] = cg::reduce(group, i + 1, cg::plus<int>()) + 0.5f * group.meta_group_rank();
}
__global__ void masked(float* sums, const int* labels) {
  const int i = threadIdx.x;
  const unsigned there = __ballot_sync(__activemask(), 1), mask = __match_any_sync(there, labels[i]);
  int same;
  __match_all_sync(mask, labels[i] + (labels[i] == 1 ? i : 0), &same);
  sums[i] = float(__reduce_add_sync(mask, i + 1)) + (same ? 0.5f : 0.0f);
}
)";

TEST(CudaGroups, ReduceThePartsOfAWarpThatComeToIt) {
  const BothForms forms(kParts);
  for (const int kinds : {1, 2, 4, 9, 64}) {
    for (const int threads : {32, 96, 75}) {
      std::vector<int> labels(static_cast<std::size_t>(threads));
      for (int i = 0; i < threads; ++i) labels[static_cast<std::size_t>(i)] = i * 29 % kinds;
      const auto label = [&](int i) { return labels[static_cast<std::size_t>(i)]; };
      const auto expect = [&](const char* kernel, const auto& are_one, const auto& value) {
        const std::vector<float> got = forms.run(kernel, {1}, {static_cast<unsigned>(threads)}, std::vector<float>(static_cast<std::size_t>(threads), -1.0f), labels.data());
        for (int i = 0; i < threads; ++i) {
          int sum = 0, greatest = 0, members = 0;
          for (int j = i / 32 * 32; j < std::min(threads, i / 32 * 32 + 32); ++j) {
            if (are_one(i, j)) sum += j + 1, greatest = j + 1, ++members;
          }
          EXPECT_EQ(got[static_cast<std::size_t>(i)], value(i, sum, greatest, members)) << kernel << " " << kinds << " " << i;
        }
      };
      const auto are_like = [&](int i, int j) { return label(i) == label(j); };
      const auto are_on_a_side = [&](int i, int j) { return label(i) % 2 == label(j) % 2; };
      expect("some_labels", are_like, [&](int i, int sum, int greatest, int) {
        if (label(i) % 3 == 0) return float(sum);
        return label(i) % 3 == 1 ? float(greatest) : -1.0f;
      });
      expect("two_sides", are_on_a_side, [&](int i, int sum, int, int) { return float(sum) + (label(i) % 2 ? 0.0f : 0.5f); });
      expect("masked", are_like, [&](int i, int sum, int, int members) { return float(sum) + (label(i) != 1 || members == 1 ? 0.5f : 0.0f); });
    }
  }
}

TEST(CudaGroups, ScanTilesAlsoWhereABlockEndsWithinOne) {
  const auto by = [&](const char* kernel, int threads) {
    return [kernel, threads](const auto& results) {
      return forms().run(kernel, {1}, {static_cast<unsigned>(threads)}, results, static_cast<const int*>(nullptr));
    };
  };
  for (const int threads : {8, 32, 44, 128}) {
    expect_scans(by("of_eights", threads), threads, [](int i) { return i / 8; });
    expect_scans(by("of_warps", threads), threads, [](int i) { return i / 32; });
  }
}

TEST(CudaGroups, ScanTilesOfSeveralWarps) {
  const auto object = load(compile_cuda(std::string(kScans) + kWideScans));
  const auto run = [&](auto results) {
    launch(object->kernel("of_pairs_of_warps"), {1}, {256}, results.data(), static_cast<const int*>(nullptr));
    return results;
  };
  expect_scans(run, 256, [](int i) { return i / 64; });
}

}  // namespace
}  // namespace damo::cpu_backend
