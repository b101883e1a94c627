// The texts of kernels of prefix joins: NVRTC takes them and hardly anything spills; and, as the CPU's compiler knows threads, shuffles, atomics and
// barriers, they run there in place of a GPU, blocks on several threads and so in no fixed order, against double precision.
#include <cstring>
#include <regex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/array.hpp>
#include <damo/error.hpp>

#include "runtime/backend.hpp"
#include "runtime/cuda/cuda_backend.hpp"
#include "runtime/cuda/dialect.hpp"
#include "runtime/cuda/nvrtc.hpp"
#include "runtime/cuda/text_as_cuda_c.hpp"
#include "runtime/kernel/argument_block.hpp"
#include "runtime/kernel/cache.hpp"
#include "runtime/kernel/scan_specs.hpp"
#include "support/sampling.hpp"
#include "support/scratch_directory.hpp"

namespace damo {
namespace {

const Processors kGpu = {132, 1, 227 * 1024}, kSmallGpu = {1, 1, 227 * 1024};  // small arrays fill the small one, which gives threads as much as large arrays on the other
constexpr int kMostSpilledOfScan = 8;  // bytes, once a tile: of values of 16 bytes
const std::regex kScanSpill("([0-9]+) bytes spill stores"), kScanRegisters("Used ([0-9]+) registers");

Layout scan_layout(const KernelSpec& spec, const Geometry& geometry, const Processors& gpu = kGpu) { return cuda_dialect().share_rows(spec, classify_reducing(geometry), geometry, gpu); }

/// Sums of elements of one dtype in another.
KernelSpec sums_of(DType dtype, DType compute) {
  KernelSpec spec = spec_of("sums", {prefix(sum_of(0), Prefix::kInclusive)}, {1});
  spec.inputs = spec.outputs = {dtype};
  spec.steps[0].compute = compute;
  spec.steps[0].result = dtype;
  spec.steps[0].join->bytes = static_cast<int>(itemsize(compute));
  return spec;
}

/// The greatest value so far and its place, 16 bytes.
KernelSpec wide_pairs() {
  KernelSpec spec = spec_of("pairs", {place_in_row(), map("Joined{x0, x1}", {0, 1})}, {2});
  spec.inputs = {float64};
  spec.outputs = {int64};
  spec.steps[1].compute = float64;
  spec.steps[1].result = int64;
  spec.steps[1].inputs_as = {float64, int64};
  spec.steps[1].join = Join{.bytes = 16, .members = {{"double", "value"}, {"i64", "place"}}, .neutral = "Joined{0, 0}", .reduce = "a.value >= b.value ? a : b", .post = "a.place", .prefix = Prefix::kInclusive};
  return spec;
}

TEST(CudaScan, CompilesWithHardlyASpillNvrtc) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  std::set<std::string> known;
  KernelSpec greatest = spec_of("greatest", {prefix(max_of(0), Prefix::kExclusive, true)}, {1});
  greatest.steps[0].join->bytes = 4;
  // Two values of each prefix of pairs.
  KernelSpec pairs = recurrence(false).spec;
  pairs.steps.push_back(pairs.steps[1]);
  pairs.steps.back().join->post = "a.m";
  pairs.stores.push_back(pairs.first_step() + static_cast<int>(pairs.steps.size()) - 1);
  pairs.outputs.push_back(float32);
  std::vector<KernelSpec> specs = {greatest, pairs, sums_of(float32, float32), weighted_sums().spec, sums_behind().spec, sums_and_greatest().spec, recurrence(true).spec, wide_pairs(), sums_of(float16, float32), sums_of(float64, float64)};
  const std::pair<Given, Processors> places[] = {{{{2, 40001}, 2}, kGpu}, {{{2, 40001}, 2}, kSmallGpu}, {{{1, 1 << 16}, 2}, kSmallGpu}, {{{9000, 64}, 1}, kSmallGpu}};
  for (std::size_t k = 0; k < specs.size(); ++k) {
    const KernelSpec& spec = specs[k];
    for (std::size_t j = 0; j < std::size(places); ++j) {
      if (!testing::takes_pair(k, j)) continue;
      const auto& [given, gpu] = places[j];
      const Strides strides = contiguous_strides(given.shape), row_strides = contiguous_strides(row_shape(given));
      const Shape of_row = row_shape(given);
      std::vector<ArrayLayout> lies;
      for (int i = 0; i < spec.parameter_count(); ++i) lies.push_back(!spec.is_output(i) && spec.is_row(i) ? ArrayLayout{&of_row, &row_strides} : ArrayLayout{&given.shape, &strides});
      const Geometry geometry(given.shape, lies, given.mask, true);
      const Layout layout = scan_layout(spec, geometry, gpu);
      CompileRequest request{cuda_dialect().emit(spec, layout), SourceKind::kGenerated, "scan.cu"};
      if (!known.insert(request.source).second) continue;
      request.flags = {"--ptxas-options=-v"};
      try {
        const std::string log = cuda_backend::NvrtcCompiler(90).compile(request).log;
        std::smatch spill, registers;
        ASSERT_TRUE(std::regex_search(log, registers, kScanRegisters)) << log;
        EXPECT_LE(std::stoi(registers[1]), 128) << spec.name << " " << to_string(layout);
        if (std::regex_search(log, spill, kScanSpill)) EXPECT_LE(std::stoi(spill[1]), kMostSpilledOfScan) << spec.name << " " << to_string(layout) << "\n" << log;
      } catch (const CompileError& error) {
        ADD_FAILURE() << spec.name << " " << to_string(layout) << "\n" << error.what();
      }
    }
  }
}

TEST(CudaScan, AsksAheadForTilesOfLongRowsThatWaitInSharedMemoryNvrtc) {
  const auto text = [](const KernelSpec& spec, const Given& given, bool repeats = false) {
    const Strides strides = contiguous_strides(given.shape), repeated = {0, 0};
    const ArrayLayout lies[] = {{&given.shape, repeats ? &repeated : &strides}, {&given.shape, &strides}};
    return cuda_dialect().emit(spec, scan_layout(spec, Geometry(given.shape, lies, given.mask, true)));
  };
  const KernelSpec sums = sums_of(float32, float32);
  KernelSpec backward = spec_of("greatest", {prefix(max_of(0), Prefix::kExclusive, true)}, {1});
  backward.steps[0].join->bytes = 4;
  const std::string forward = text(sums, {{1, 1 << 27}, 2});
  EXPECT_THAT(forward, ::testing::AllOf(::testing::HasSubstr("if (t == 32) ask_ahead(a, ticket + 64);"), ::testing::HasSubstr("const place from = place(tile * a.chunk);"), ::testing::HasSubstr("ask_for(r0 + from, u32(a.chunk * i64(sizeof(float))));")));
  EXPECT_THAT(text(backward, {{3, 1 << 25}, 2}), ::testing::HasSubstr("const place from = place(a.length - (tile + 1) * a.chunk);"));
  for (const Given& given : {Given{{1 << 20, 64}, 1}, Given{{1 << 16, 2048}, 2}}) EXPECT_THAT(text(sums, given), ::testing::Not(::testing::HasSubstr("ask_ahead"))) << "columns, and rows of a tile";
  EXPECT_THAT(text(sums, {{1, 1 << 27}, 2}, true), ::testing::Not(::testing::HasSubstr("ask_ahead"))) << "one element of a row";
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  for (int architecture : {80, 90}) EXPECT_NO_THROW(cuda_backend::NvrtcCompiler(architecture).compile({forward, SourceKind::kGenerated, "scan.cu"})) << architecture;
}

TEST(CudaScan, CompilesAUsersTextAsCudaCNvrtc) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  for (const DType dtype : {float16, bfloat16, int64, bool_}) {
    KernelSpec spec = spec_of("running", {prefix(join("0", "joined(a, b)", 0), Prefix::kExclusive)}, {1});
    spec.inputs = spec.outputs = {dtype};
    spec.steps[0].compute = is_half(dtype) ? float32 : dtype;
    spec.steps[0].result = dtype;
    spec.users_text = UsersText{"struct Vec {};\ntemplate <class T> __device__ T joined(T a, T b) { return a + b; }\n", {}};
    for (const Given& given : {Given{{1, 100000}, 2}, Given{{9000, 64}, 1}, Given{{9000, 3}, 2}}) {
      const Strides strides = contiguous_strides(given.shape);
      const ArrayLayout lies[] = {{&given.shape, &strides}, {&given.shape, &strides}};
      const Layout layout = scan_layout(spec, Geometry(given.shape, lies, given.mask, true));
      CompileRequest request{cuda_dialect().emit(spec, layout), SourceKind::kCudaC, "scan.cu"};
      request.kernels = entry_names(spec, layout);
      EXPECT_NO_THROW(cuda_backend::NvrtcCompiler(90).compile(request)) << name(dtype) << " " << to_string(layout);
    }
  }
}

/// What the text for a GPU gives on the CPU; returns the layout.
Layout check_on_the_cpu(const ScanCase& one, const Given& given, Device device, const Processors& gpu = kGpu) {
  const ScanArrays arrays(one, given, device);
  const Geometry geometry(given.shape, arrays.layouts, given.mask, true);
  const Layout layout = scan_layout(one.spec, geometry, gpu);
  const Work work = cuda_dialect().work(one.spec, layout, geometry, gpu);
  ArgumentBlock block(one.spec, layout, geometry, cuda_dialect().vector_width(one.spec, layout), work);
  for (std::size_t i = 0; i < arrays.all.size(); ++i) block.set_pointer(static_cast<int>(i), arrays.all[i].data());
  const Array scratch = Array::empty({static_cast<std::int64_t>(std::max<std::size_t>(work.scratch_bytes, 1))}, uint8, device);
  std::memset(scratch.data(), 0, work.zeroed_bytes);
  block.set_scratch(scratch.data());
  block.set_fast();
  CompileRequest request;
  request.source = as_cuda_c(cuda_dialect().emit(one.spec, layout));
  request.kind = SourceKind::kCudaC;
  request.kernels = entry_names(one.spec, layout);
  void* arguments[] = {block.data()};
  device.backend().launch(*device.backend().cache().get(request)->kernel(request.kernels[0]), work.launches[0].config, arguments, nullptr);
  EXPECT_EQ(arrays.difference(), "") << one.spec.name << " " << ::testing::PrintToString(given) << " " << to_string(layout);
  return layout;
}

TEST(CudaScan, GivesOnTheCpuWhatTheHostGives) {
  const testing::Environment form("DAMO_CPU_FORM", "reference");  // right by construction, and compiled in half of the time
  Device device("null");
  try {
    device = cpu();
  } catch (const DeviceError& error) {
    GTEST_SKIP() << "needs the CPU back end: " << error.what();
  }
  std::size_t chunked = 0;
  const std::vector<ScanCase> all = scan_cases();
  for (const ScanCase& one : all) {
    std::vector<Given> spaces = scan_spaces(true);
    if (&one != &all.front()) spaces.resize(4);  // the ways are the same for all
    for (const Given& given : spaces) {
      chunked += check_on_the_cpu(one, given, device).chunked;
      ASSERT_FALSE(HasFailure());
    }
  }
  EXPECT_GT(chunked, 10u);
}

TEST(CudaScan, JoinsTilesOfManyLevelsOnTheCpu) {
  const testing::Environment form("DAMO_CPU_FORM", "reference"), small("DAMO_CUDA_ROWS", "0,1,0,0");
  Device device("null");
  try {
    device = cpu();
  } catch (const DeviceError& error) {
    GTEST_SKIP() << "needs the CPU back end: " << error.what();
  }
  // Of a row 1,200 tiles of 1,024 elements, three levels of 32, of which the last three groups are asked for their tiles; of columns 600 tiles, four levels of 8, with values of one word and of two.
  EXPECT_TRUE(check_on_the_cpu(sums_behind(), {{1, 1200 * 1024 - 3}, 2}, device).chunked);
  EXPECT_TRUE(check_on_the_cpu(weighted_sums(), {{600 * 8 - 3, 132}, 1}, device).chunked);
  EXPECT_TRUE(check_on_the_cpu(recurrence(true), {{600 * 256, 2}, 1}, device).chunked);
}

TEST(CudaScan, FillsLargeTilesOnTheCpu) {
  const testing::Environment form("DAMO_CPU_FORM", "reference");
  Device device("null");
  try {
    device = cpu();
  } catch (const DeviceError& error) {
    GTEST_SKIP() << "needs the CPU back end: " << error.what();
  }
  ScanCase dear = weighted_sums();  // what is joined is not made twice, so it waits in registers
  dear.spec.steps[0].cost = 30;
  const ScanCase cases[] = {weighted_sums(), sums_behind(), sums_and_greatest(), recurrence(true), dear};
  for (std::size_t k = 0; k < std::size(cases); ++k) {
    const ScanCase& one = cases[k];
    const Given given{{2, 100000}, 2}, columns{{9000, 64}, 1};
    const Layout rows = check_on_the_cpu(one, given, device, kSmallGpu), deep = check_on_the_cpu(one, columns, device, kSmallGpu);
    EXPECT_TRUE(rows.chunked && deep.chunked) << one.spec.name;
    EXPECT_EQ(rows.staged && deep.staged, one.spec.steps[0].cost < 30) << one.spec.name;
    const std::int64_t tile = std::int64_t{rows.lanes} * rows.items * rows.vector, high = std::int64_t{deep.lanes} * deep.items;
    const std::int64_t lengths[] = {tile - 1, tile, tile + 1, 2 * tile, 2 * tile + 4, 3 * tile - 3}, heights[] = {high, high + 1, 2 * high - 1, 9 * high};
    for (std::size_t j = 0; j < std::size(lengths); ++j) {
      if (testing::takes_pair(k, j)) check_on_the_cpu(one, {{2, lengths[j]}, 2}, device, kSmallGpu);
    }
    for (std::size_t j = 0; j < std::size(heights); ++j) {
      if (testing::takes_pair(k, j)) check_on_the_cpu(one, {{heights[j], 64}, 1}, device, kSmallGpu);
    }
    check_on_the_cpu(one, {{3, 2 * tile + 5}, 2, false, true}, device, kSmallGpu);
    check_on_the_cpu(one, {{5, 4500}, 2}, device, kSmallGpu);
    check_on_the_cpu(one, {{2 * high + 3, 66}, 1, false, true}, device, kSmallGpu);
    ASSERT_FALSE(HasFailure());
  }
}

}  // namespace
}  // namespace damo
