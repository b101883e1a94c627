// The texts of kernels that reduce: NVRTC takes them and hardly anything spills; and, as the CPU's compiler knows threads, shuffles
// and barriers, run there in place of a GPU, each form against the same spec in the CPU's own text.
#include <cmath>
#include <optional>
#include <random>
#include <regex>
#include <set>
#include <span>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/array.hpp>
#include <damo/error.hpp>

#include "runtime/backend.hpp"
#include "runtime/cuda/cuda_backend.hpp"
#include "runtime/cuda/dialect.hpp"
#include "runtime/cuda/nvrtc.hpp"
#include "runtime/cuda/reducing_schedule.hpp"
#include "runtime/cuda/staying_rows.hpp"
#include "runtime/cuda/text_as_cuda_c.hpp"
#include "runtime/kernel/argument_block.hpp"
#include "runtime/kernel/cache.hpp"
#include "runtime/kernel/exponential_sums.hpp"
#include "runtime/kernel/reducing_specs.hpp"
#include "runtime/kernel/spec_kernel.hpp"
#include "support/sampling.hpp"
#include "support/scratch_directory.hpp"

namespace damo {
namespace {

constexpr int kMostSpilled = 32;  // bytes: rows that 1,024 threads hold leave 64 registers to each

const Given kGiven[] = {{{7, 3}, 2},       {{7, 3}, 1},          {{600, 33}, 2},      {{5, 100}, 2},        {{5, 128}, 2},     {{5, 1000}, 2}, {{2, 4096}, 2},
                        {{2, 20000}, 2},   {{1, 40000}, 2},      {{1, 70000}, 2},     {{300, 70}, 1},       {{3000, 5}, 1},    {{40, 7, 9}, 5}, {{40, 7, 9}, 2},
                        {{40, 7, 9}, 3},   {{64, 64}, 2, true},  {{64, 300}, 1, true}, {{1, 1}, 3},         {{3, 20000}, 3},
                        {{5, 1001}, 2},    {{3, 20001}, 2},      {{2, 70001}, 2},     {{9, 515}, 2},        {{64, 301}, 1},    {{70, 32}, 1},  {{3, 20001}, 3},
                        {{5, 1024}, 2, false, true}, {{5, 1001}, 2, false, true}, {{2, 70000}, 2, false, true}, {{64, 300}, 1, false, true}, {{3, 5, 33}, 6}, {{20, 16384}, 2},
                        {{8, 8}, 1, false, false, true}, {{64, 300}, 1, false, false, true}, {{5, 100}, 2, false, false, true}, {{300, 70}, 1, false, false, true}};

/// Shapes of inputs and outputs, as each spec of this list has them.
struct Case {
  KernelSpec spec;
  std::vector<bool> is_row;          // of every parameter
  std::vector<bool> is_column = {};  // of every parameter, or none: one element for each place of a row
};
std::vector<Case> cases() { return {{softmax(), {false, false}}, {moments(), {false, true, true}}, {center(), {false, false, true, false, true}}, {argmax(), {false, true}}, {places(), {false, true, false}}, {spread(), {false, true, true}}, {normed(), {false, false}}}; }
/// The loss of a row's label and the gradient by the row's elements: a label a row, a comparison with each place, three joins.
KernelSpec cross_entropy() {
  const KernelSpec softmax = log_softmax();
  Step is_label = map("x0 == x1", {2, 1}), chosen = map("x0 ? x1 : T(0)", {3, 5});
  is_label.compute = int64;
  is_label.result = bool_;
  is_label.inputs_as = {int64, int64};
  chosen.inputs_as = {bool_, float32};
  KernelSpec spec = spec_of("cross_entropy", {place_in_row(), is_label, softmax.steps[0], softmax.steps[1], chosen, sum_of(6), softmax.steps[2], sum_of(8), map("x0 / x1 - (x2 ? T(1) : T(0))", {8, 9, 3}, 5), map("log(x0) - x1", {9, 7}, 16)}, {10, 11}, 2);
  spec.inputs[1] = int64;
  spec.rows = {false, true};
  spec.steps[3].inputs = {0, 4};
  spec.steps[6].inputs = {5};
  spec.steps[8].inputs_as = {float32, float32, bool_};
  return spec;
}
Case cross_entropy_case() { return {cross_entropy(), {false, true, false, true}}; }
/// A user's type of the largest size, which has a constructor.
Case users_type() {
  KernelSpec spec;
  spec.name = "users_type";
  spec.inputs = spec.outputs = {float32};
  Step step = join("Widest()", "joined(a, b)", 0, "a.greatest + a.sum / n");
  step.code = "Widest(x0)";
  step.join->accumulator = "Widest";
  step.join->bytes = 64;
  spec.steps = {step};
  spec.stores = {1};
  spec.users_text = UsersText{R"(struct alignas(16) Widest {
  float greatest = -1e30f, sum = 0, rest[14] = {};
  Widest() = default;
  __device__ explicit Widest(float x) : greatest(x), sum(x) {}
};
__device__ Widest joined(Widest a, const Widest& b) {
  a.greatest = a.greatest > b.greatest ? a.greatest : b.greatest;
  a.sum += b.sum;
  return a;
}
)", {}};
  return {std::move(spec), {false, true}};
}
/// Those that join across rows: the shapes that one kernel serves.
std::vector<Case> cases_across() { return {{norm_gradient(), {false, false, false, true, false, false}, {false, false, false, false, true, true}}, {sums_of_both(), {false, true, false}, {false, false, true}}, {sums_of_both_in_float64(), {false, true, false}, {false, false, true}}, {spread_of_both(), {false, true, false, false}, {false, false, true, true}}}; }
const Given kGivenAcross[] = {{{600, 33}, 2}, {{37, 128}, 2}, {{20, 4096}, 2}, {{3, 4096}, 2}, {{3000, 5}, 2}, {{9, 40, 7}, 4}, {{9, 4, 40}, 6}, {{50, 1001}, 2, false, true}};
/// Rows enough for blocks that join across them and read ahead: of whole vectors that fill its threads or not, with and without what rows share, of one meeting a row and more.
std::vector<Case> cases_across_ahead() {
  return {{layer_norm_gradients(), {false, false, false, false, false, false}, {false, false, true, false, true, true}},
          {layer_norm_gradients_added(), {false, false, false, false, false, false}, {false, false, true, false, false, true}},
          {rms_norm_gradients(), {false, false, false, false, false}, {false, false, true, false, true}},
          {norm_gradient(), {false, false, false, true, false, false}, {false, false, false, false, true, true}}};
}
const Given kGivenAcrossAhead[] = {{{70, 1024}, 2}, {{70, 1000}, 2}, {{71, 1002}, 2}, {{19, 6000}, 2}, {{20, 5000}, 2}, {{8, 9, 600}, 4}};
/// Rows of blocks that stay, two or more of each cluster: of whole vectors that fill its threads or not, and rows that begin anywhere.
const Given kGivenToStay[] = {{{8, 65536}, 2}, {{9, 65536}, 2, false, false, false, true}, {{8, 57000}, 2}, {{8, 57001}, 2, false, true}, {{8, 57000}, 2, false, true}, {{3, 2, 70001}, 4}, {{9, 57001}, 2, false, false, false, true}};
const Processors kProcessorsToStay = {2, 8, 227 * 1024};
/// Rows enough for runs (kFewProcessors): that fill the last warp's or not, of every width of vectors, of several axes, and windows, whose pieces threads read where they lie.
const Given kGivenInRuns[] = {{{600, 3}, 2}, {{128, 8}, 2}, {{1000, 10}, 2}, {{77, 31}, 2}, {{100, 30}, 2}, {{40, 7, 9}, 4}, {{70, 2, 3, 5}, 12}, {{600, 10}, 2, false, true}, {{81, 33}, 2, false, false, false, true}};
const Given kGivenInPieces[] = {{{20, 3, 10, 2}, 10}, {{7, 2, 33, 3}, 10}, {{64, 4, 2, 4}, 10}, {{20, 3, 10, 2}, 10, false, true}};
Case log_softmax_case() { return {log_softmax(), {false, false, false, true}}; }
/// Rows that lie beside each other, more of them than 8 lanes hold: of columns whose vectors are whole or not, that fill a tile or not; of pieces of rows.
const Given kGivenTiles[] = {{{256, 128}, 1}, {{300, 70}, 1}, {{257, 33}, 1}, {{1000, 16}, 1}, {{2100, 3}, 1}, {{5, 130, 12}, 2}, {{3, 64, 8, 4}, 10}, {{2, 100, 5, 4}, 10}, {{2, 50, 3, 5}, 10}, {{64, 12, 4}, 5}};
const Processors kFewProcessors = {2, 1, 227 * 1024};  // blocks then have many rows

/// Places of a row, and what is none, though its lower 32 bits are or its sign is lost.
std::vector<std::int64_t> labels(std::int64_t count) {
  const std::int64_t some[] = {1, (std::int64_t{1} << 32) + 1, 0, -1, 4, std::int64_t{1} << 31, 2, -(std::int64_t{1} << 32)};
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < count; ++i) labels.push_back(some[i % 8]);
  return labels;
}

class Arrays {
 public:
  Arrays(const Case& one, const Given& given, Device device) {
    std::mt19937 random(1);
    for (int i = 0; i < one.spec.parameter_count(); ++i) {
      const bool repeats = given.repeated && !one.spec.is_output(i);
      Shape shape = one.is_row[static_cast<std::size_t>(i)] || repeats ? row_shape(given) : given.shape;
      if (!one.is_column.empty() && one.is_column[static_cast<std::size_t>(i)]) shape = column_shape(given);
      if (given.turned) std::reverse(shape.begin(), shape.end());
      Array array = Array::empty({shape.size() + 1}, one.spec.parameter_dtype(i), device);
      if (!one.spec.is_output(i)) {
        std::vector<float> values(static_cast<std::size_t>(shape.size()) + 1);
        for (float& value : values) value = static_cast<float>(random() % 1000) / 250.0f - 2;
        const std::int64_t length = given.shape[-1], begin = given.moved ? 1 : 0;
        for (std::int64_t k = 0; given.infinite && k < shape.size(); ++k) {
          float& value = values[static_cast<std::size_t>(begin + k)];
          value = infinite_value(k / length, k % length, length, value + 10 * static_cast<float>(k % length) / static_cast<float>(length));  // parts with maxima of their own
        }
        array = one.spec.parameter_dtype(i) == int64 ? Array::from(labels(shape.size() + 1), array.shape(), device) : Array::from(values, array.shape(), device);
      }
      const std::int64_t first = given.moved ? 1 : 0;
      array = array.slice({Slice{first, first + shape.size()}}).reshape(shape);
      if (repeats && !one.is_row[static_cast<std::size_t>(i)]) array = array.broadcast_to(given.shape);
      all.push_back(given.turned ? array.transpose() : array);
    }
    note_layouts();
  }
  /// The same values, each array in C order: spaces of many layouts then take few kernels.
  Arrays dense() const {
    Arrays dense = *this;
    for (Array& array : dense.all) array = array.copy();
    dense.note_layouts();
    return dense;
  }
  std::vector<Array> all;
  std::vector<ArrayLayout> layouts;

 private:
  void note_layouts() {
    layouts.clear();
    for (const Array& array : all) layouts.push_back({&array.shape(), &array.strides()});
  }
};

/// Of blocks that stay, which share a row or have it alone, and read so many rows ahead: for machines without clusters.
Layout staying_layout(const KernelSpec& spec, const Geometry& geometry, int lanes, int ahead) {
  Layout layout = cuda_layout(spec, geometry);
  layout.lanes = lanes;
  layout.items = static_cast<int>(divide_up(geometry.reduced.count + (layout.ends == Ends::kAnywhere ? kLineBytes / spec.element_bytes(0) : 0), lanes * layout.vector));
  layout.whole = true;
  layout.residents = 1;
  layout.ahead = ahead;
  return layout;
}

/// Compiles what the case takes there, for sm_90 if it has clusters and else for the oldest GPU; counts spilled bytes.
void expect_hardly_a_spill(const Case& one, const Given& given, int cluster, std::set<std::string>& known, int most = kMostSpilled) {
  const cuda_backend::NvrtcCompiler compiler(cluster > 1 ? 90 : 75);
  const Arrays arrays(one, given, Device("null"));
  const Geometry geometry(given.shape, arrays.layouts, given.mask, one.spec.uses_place());
  // Two, so that few rows are enough for clusters that stay.
  const Processors processors = {cluster > 1 ? 2 : 132, cluster, 227 * 1024};
  if (one.spec.joins_across() && !cuda_dialect().joins_across(one.spec, geometry, processors)) return;
  const Layout layout = cuda_layout(one.spec, geometry, processors);
  CompileRequest request{cuda_dialect().emit(one.spec, layout), SourceKind::kGenerated, "reducing.cu"};
  if (!known.insert(request.source).second) return;
  request.flags = {"--ptxas-options=-v"};
  try {
    const std::string log = compiler.compile(request).log;
    for (std::sregex_iterator spill(log.begin(), log.end(), kSpill), end; spill != end; ++spill) {
      EXPECT_LE(std::stoi((*spill)[1]), most) << one.spec.name << " " << to_string(layout) << "\n" << log;
    }
  } catch (const CompileError& error) {
    ADD_FAILURE() << one.spec.name << " " << to_string(layout) << "\n" << error.what();
  }
}

TEST(CudaReducing, CompilesWithHardlyASpill) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  const Given in_clusters[] = {{{2, 4096}, 2}, {{2, 8192}, 2}, {{2, 8001}, 2}, {{2, 20000}, 2}, {{2, 65536}, 2}, {{2, 50257}, 2}, {{2, 120000}, 2}, {{2, 262144}, 2}};
  const Given of_many_coordinates = {{2, 10, 2, 10, 2, 700}, 42};
  std::set<std::string> known;
  const std::vector<Case> all = cases();
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t k = 0; k < std::size(kGiven); ++k) {
      if (testing::takes_pair(i, k)) expect_hardly_a_spill(all[i], kGiven[k], 1, known);
    }
    for (std::size_t k = 0; k < std::size(in_clusters); ++k) {
      if (testing::takes_pair(i, k)) expect_hardly_a_spill(all[i], in_clusters[k], 8, known);
    }
    if (testing::takes_pair(i, 0)) expect_hardly_a_spill(all[i], of_many_coordinates, 8, known);
  }
}

TEST(CudaReducing, CompilesRowsOfClustersThatStayWithoutASpill) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  std::set<std::string> known;
  const Case two_of_it = {log_softmax_alone(), {false, false, true}};
  for (const Given& given : {Given{{8, 65536}, 2}, Given{{8, 60257}, 2}, Given{{8, 100001}, 2}, Given{{8, 262144}, 2}}) {
    expect_hardly_a_spill({softmax_in_steps(), {false, false}}, given, 8, known);
    expect_hardly_a_spill(two_of_it, given, 8, known);
  }
  for (const Given& given : {Given{{8, 65536}, 2}, Given{{8, 60257}, 2}}) expect_hardly_a_spill(log_softmax_case(), given, 8, known);
  EXPECT_EQ(known.size(), 10u) << "one kernel each";
  EXPECT_TRUE(std::all_of(known.begin(), known.end(), [](const std::string& text) { return text.find("part_of(") != std::string::npos; })) << "one meeting for the maximum and the sum";
}

TEST(CudaReducing, CompilesJoinsAcrossRowsWithHardlyASpill) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  std::set<std::string> known;
  const Case one = cases_across()[0];
  for (const Given& given : {Given{{50, 1024}, 2}, Given{{50, 8192}, 2}}) expect_hardly_a_spill(one, given, 1, known);
  expect_hardly_a_spill(one, {{9, 16384}, 2}, 8, known);
  EXPECT_EQ(known.size(), 3u) << "one kernel each";
  for (const Case& ahead : cases_across_ahead()) {
    for (const Given& given : {Given{{70, 1000}, 2}, Given{{9, 6000}, 2}}) expect_hardly_a_spill(ahead, given, 8, known);
  }
  EXPECT_EQ(known.size(), 11u);
}

TEST(CudaReducing, SharesLongRowsAmongTheBlocksOfAClusterWhereThereAreSome) {
  const Case one = cases()[0];
  const auto layout = [&](std::int64_t length, int cluster) {
    const Given given{{2000, length}, 2};
    const Strides strides = contiguous_strides(given.shape);
    const ArrayLayout lies[] = {{&given.shape, &strides}, {&given.shape, &strides}};
    return cuda_layout(one.spec, Geometry(given.shape, lies, given.mask, false), {132, cluster});
  };
  for (std::int64_t length : {1000, 4096, 8192, 16384}) EXPECT_EQ(layout(length, 8), layout(length, 1)) << length;
  for (std::int64_t length : {16385, 32768, 50257}) EXPECT_EQ(layout(length, 8), layout(length, 1)) << length;
  for (std::int64_t length : {65536, 98304, 262144}) {
    const Layout shared = layout(length, 8), alone = layout(length, 1);
    EXPECT_GT(shared.cluster, 1) << length;
    EXPECT_TRUE(shared.whole) << length;
    EXPECT_EQ(alone.cluster, 1) << length;
    EXPECT_FALSE(alone.whole) << length;
  }
  EXPECT_FALSE(layout(300000, 8).whole);
}

TEST(CudaReducing, LeavesRegistersForManyThreadsWhereEachHoldsFewElements) {
  const auto residents = [](const Case& one, std::int64_t length, std::string* text = nullptr) {
    const Arrays arrays(one, {{20, length}, 2}, Device("null"));
    const Layout layout = cuda_layout(one.spec, Geometry({20, length}, arrays.layouts, 2, one.spec.uses_place()), {132, 8, 227 * 1024});
    if (text) *text = cuda_dialect().emit(one.spec, layout);
    return layout.residents * layout.lanes;
  };
  const Case loss = cross_entropy_case();
  std::string text;
  EXPECT_EQ(residents(loss, 8192, &text), 1536);
  EXPECT_EQ(residents({softmax_in_steps(), {false, false}}, 8192), 1536);
  EXPECT_EQ(residents({softmax_in_steps(), {false, false}}, 4096), 1024) << "four blocks are enough";
  EXPECT_EQ(residents(loss, 16384), 1024) << "32 registers' worth";
  EXPECT_EQ(residents(log_softmax_case(), 8192), 1024) << "what was read is wanted beside what is kept";
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  CompileRequest request{text, SourceKind::kGenerated, "loss.cu"};
  request.flags = {"--ptxas-options=-v"};
  const std::string log = cuda_backend::NvrtcCompiler(90).compile(request).log;
  std::smatch spill;
  ASSERT_TRUE(std::regex_search(log, spill, kSpill)) << log;
  EXPECT_LE(std::stoi(spill[1]), kMostSpilled) << log;
}

std::optional<Device> cpu_or_none() {
  try {
    return cpu();
  } catch (const DeviceError&) {
    return std::nullopt;
  }
}

/// The case in both texts, run by the CPU.
void expect_what_the_cpus_text_gives(const Case& one, const Given& given, const Processors& processors, Device device, int lanes = 0, int ahead = 0, bool aligned = true) {
  const testing::Environment form("DAMO_CPU_FORM", "reference");  // right by construction, and compiled in half of the time
  const Arrays arrays(one, given, device), expected = arrays.dense();
  const Geometry geometry(given.shape, arrays.layouts, given.mask, one.spec.uses_place());
  if (one.spec.joins_across()) ASSERT_TRUE(cuda_dialect().joins_across(one.spec, geometry, processors)) << one.spec.name << " " << ::testing::PrintToString(given);
  Layout layout = lanes > 0 ? staying_layout(one.spec, geometry, lanes, ahead) : cuda_layout(one.spec, geometry, processors);
  if (&processors == &kProcessorsToStay) ASSERT_GT(layout.ahead, 0) << ::testing::PrintToString(given);
  Work work;
  std::optional<ArgumentBlock> block;
  Array scratch;
  const auto prepare = [&] {
    work = cuda_dialect().work(one.spec, layout, geometry, processors);
    block.emplace(one.spec, layout, geometry, cuda_dialect().vector_width(one.spec, layout), work);
    for (std::size_t i = 0; i < arrays.all.size(); ++i) block->set_pointer(static_cast<int>(i), arrays.all[i].data());
    scratch = Array::empty({static_cast<std::int64_t>(std::max<std::size_t>(work.scratch_bytes, 1))}, uint8, device);
    block->set_scratch(scratch.data());
    return block->set_fast();
  };
  if (const bool is_fast = prepare(); !is_fast || !aligned) {  // as BoundKernel takes it: the other text may fault
    layout = cuda_dialect().unaligned(layout).value_or(layout);
    prepare();
  }
  CompileRequest request;
  request.source = as_cuda_c(cuda_dialect().emit(one.spec, layout));
  request.kind = SourceKind::kCudaC;
  request.kernels = entry_names(one.spec, layout);
  const auto module = device.backend().cache().get(request);
  std::vector<Work::Launch> launches = work.launches;
  if (layout.ahead > 0 && layout.cluster > 1) launches.push_back(launches[0]);  // what blocks gave each other arrives at the next launch (kMail)
  for (const Work::Launch& launch : launches) {
    void* arguments[] = {block->data()};
    device.backend().launch(*module->kernel(request.kernels[static_cast<std::size_t>(launch.entry)]), launch.config, arguments, nullptr);
  }
  SpecKernel kernel(one.spec, device.backend());
  BoundKernel bound(kernel);
  bound.bind(given.shape, expected.layouts, false, given.mask);
  for (std::size_t i = 0; i < expected.all.size(); ++i) bound.set_pointer(static_cast<int>(i), expected.all[i].data());
  bound.launch(nullptr);
  for (int i = one.spec.input_count(); i < one.spec.parameter_count(); ++i) {
    const std::vector<double> found = arrays.all[static_cast<std::size_t>(i)].to_doubles(), wanted = expected.all[static_cast<std::size_t>(i)].to_doubles();
    for (std::size_t k = 0; k < found.size(); ++k) {
      const double added = 2 * static_cast<double>(given.shape.size()) / static_cast<double>(found.size());  // of sums
      if (!std::isfinite(wanted[k])) {
        ASSERT_TRUE(std::isnan(wanted[k]) ? std::isnan(found[k]) : found[k] == wanted[k]) << found[k] << " in place of " << wanted[k] << ", " << ::testing::PrintToString(given) << " output " << i << " element " << k;
        continue;
      }
      ASSERT_NEAR(found[k], wanted[k], given.infinite ? 2e-5 * std::abs(wanted[k]) + 1e-12 : 1e-5 * std::max(1.0, std::abs(wanted[k])) + 1e-7 * added) << one.spec.name << " " << ::testing::PrintToString(given) << " " << to_string(layout) << " output " << i << " element " << k;
    }
  }
}

TEST(CudaReducing, GivesOnTheCpuWhatTheCpusTextGives) {
  const std::optional<Device> device = cpu_or_none();
  if (!device) GTEST_SKIP() << "needs the CPU back end";
  const std::vector<Case> all = cases();
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t k = 0; k < std::size(kGiven); ++k) {
      if (testing::takes_pair(i, k)) expect_what_the_cpus_text_gives(all[i], kGiven[k], kProcessors, *device);
    }
  }
}

TEST(CudaReducing, GivesThreadsWholeRowsOnTheCpuAsTheCpusTextHasThem) {
  const std::optional<Device> device = cpu_or_none();
  if (!device) GTEST_SKIP() << "needs the CPU back end";
  std::vector<Case> all = cases();
  all.push_back(log_softmax_case());
  all.push_back(users_type());
  all.push_back({center(), {false, false, true, false, true}, {false, true, false, false, false}});
  const auto layout = [&](const Case& one, const Given& given) { return cuda_layout(one.spec, Geometry(given.shape, Arrays(one, given, *device).layouts, given.mask, one.spec.uses_place()), kFewProcessors); };
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t k = 0; k < std::size(kGivenInRuns); ++k) {
      if (!testing::takes_pair(i, k)) continue;
      ASSERT_GT(layout(all[i], kGivenInRuns[k]).rows_each, 0) << all[i].spec.name << " " << ::testing::PrintToString(kGivenInRuns[k]);
      expect_what_the_cpus_text_gives(all[i], kGivenInRuns[k], kFewProcessors, *device);
    }
    if (i % 2 == 0) expect_what_the_cpus_text_gives(all[i], kGivenInRuns[i % 6], kFewProcessors, *device, 0, 0, false);
  }
  for (std::size_t i = 0; i < 4; ++i) expect_what_the_cpus_text_gives(cases()[i % 2], kGivenInPieces[i], kFewProcessors, *device);
  EXPECT_EQ(layout(cases()[1], kGivenInPieces[0]).lanes, 1);
  expect_what_the_cpus_text_gives(cases()[0], {{100, 60}, 2}, kFewProcessors, *device);
  expect_what_the_cpus_text_gives(cross_entropy_case(), {{500, 10}, 2}, kFewProcessors, *device);
}

TEST(CudaReducing, CompilesRunsOfShortRowsWithoutASpill) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  std::set<std::string> known;
  for (const Case& one : {Case{softmax_in_steps(), {false, false}}, log_softmax_case(), Case{center(), {false, false, true, false, true}}, Case{argmax(), {false, true}}, Case{normed(), {false, false}}}) {
    for (const Given& given : {Given{{132 * 64, 3}, 2}, Given{{132 * 64, 31}, 2}}) expect_hardly_a_spill(one, given, 1, known);
  }
  EXPECT_TRUE(std::all_of(known.begin(), known.end(), [](const std::string& text) { return text.find("fetch_run<") != std::string::npos; }));
}

TEST(CudaReducing, ReadsElementsOneByOneWhereArraysAreNotAligned) {
  const std::optional<Device> device = cpu_or_none();
  if (!device) GTEST_SKIP() << "needs the CPU back end";
  const std::vector<Case> all = cases();
  std::size_t texts = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t k = i % 5; k < std::size(kGiven); k += 5) {
      expect_what_the_cpus_text_gives(all[i], kGiven[k], kProcessors, *device, 0, 0, false);
      ++texts;
    }
  }
  for (const Case& one : cases_across()) expect_what_the_cpus_text_gives(one, kGivenAcross[0], kFewProcessors, *device, 0, 0, false);
  EXPECT_GT(texts, 10u);
}

TEST(CudaReducing, ComparesLabelsWithPlacesIn32BitsOnTheCpu) {
  const std::optional<Device> device = cpu_or_none();
  if (!device) GTEST_SKIP() << "needs the CPU back end";
  for (const Given& given : {Given{{16, 33}, 2}, Given{{8, 1000}, 2}, Given{{8, 1001}, 2, false, true}, Given{{8, 5000}, 2}, Given{{64, 16}, 1}, Given{{3, 8, 40}, 4}}) expect_what_the_cpus_text_gives(cross_entropy_case(), given, kProcessors, *device);
  const Arrays arrays(cross_entropy_case(), {{16, 33}, 2}, *device);
  EXPECT_THAT(cuda_dialect().emit(cross_entropy(), cuda_layout(cross_entropy(), Geometry({16, 33}, arrays.layouts, 2, true))), ::testing::HasSubstr("= is_place(at + k, v1);"));
}

TEST(CudaReducing, JoinsAUsersTypeOnTheCpuAsTheCpusTextDoes) {
  const std::optional<Device> device = cpu_or_none();
  if (!device) GTEST_SKIP() << "needs the CPU back end";
  for (const Given& given : {Given{{3, 20000}, 2}, Given{{600, 33}, 2}, Given{{3000, 64}, 1}, Given{{5, 40}, 1}}) expect_what_the_cpus_text_gives(users_type(), given, kProcessors, *device);
}

TEST(CudaReducing, JoinsAcrossRowsOnTheCpuAsTheCpusTextDoes) {
  const std::optional<Device> device = cpu_or_none();
  if (!device) GTEST_SKIP() << "needs the CPU back end";
  for (const Case& one : cases_across()) {
    for (const Given& given : std::span(kGivenAcross).first(one.spec.input_count() == 2 ? std::size(kGivenAcross) : 2)) expect_what_the_cpus_text_gives(one, given, kFewProcessors, *device);
  }
}

TEST(CudaReducing, DividesByCountsToTheLastBitOnTheCpu) {
  const std::optional<Device> device = cpu_or_none();
  if (!device) GTEST_SKIP() << "needs the CPU back end";
  std::mt19937 random(5);
  std::vector<float> x, n;
  const auto add = [&](float value, float count) { x.push_back(value), n.push_back(count); };
  for (int i = 0; i < 4000; ++i) {
    const float count = i < 1000 ? static_cast<float>(i + 1) : static_cast<float>(1 + random() % (1u << 20));
    for (float value : {0.0f, -0.0f, HUGE_VALF, -HUGE_VALF, std::nanf(""), std::numeric_limits<float>::max(), 1.0f, -3.0f}) add(value, count);
    for (int k = 0; k < 20; ++k) {
      const double halfway = (2.0 * static_cast<double>((1u << 23) + random() % (1u << 23)) + 1) / 2;  // between two floats
      const float product = static_cast<float>(halfway * static_cast<double>(count));
      for (float value : {product, std::nextafter(product, 0.0f), std::nextafter(product, HUGE_VALF)}) add(std::ldexp(value, static_cast<int>(random() % 140) - 100), count);
    }
  }
  std::vector<float> y(x.size());
  CompileRequest request;
  request.source = std::string("#define DAMO_FUNCTION static __device__ __forceinline__\n") + kCudaCount +
                   "extern \"C\" __global__ void divide(const float* x, const float* n, float* y, int many) {\n  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < many) y[i] = over(x[i], count_of(n[i]));\n}\n";
  request.kind = SourceKind::kCudaC;
  request.kernels = {"divide"};
  const auto module = device->backend().cache().get(request);
  const float *from = x.data(), *counts = n.data();
  float* to = y.data();
  int many = static_cast<int>(x.size());
  void* arguments[] = {&from, &counts, &to, &many};
  device->backend().launch(*module->kernel("divide"), {{(many + 255) / 256}, {256}}, arguments, nullptr);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float wanted = x[i] / n[i];
    ASSERT_TRUE(std::isnan(wanted) ? std::isnan(y[i]) : y[i] == wanted && std::signbit(y[i]) == std::signbit(wanted)) << x[i] << " / " << n[i] << " gave " << y[i] << " in place of " << wanted;
  }
}

TEST(CudaReducing, JoinsAcrossRowsReadingAheadOnTheCpuAsTheCpusTextDoes) {
  const std::optional<Device> device = cpu_or_none();
  if (!device) GTEST_SKIP() << "needs the CPU back end";
  const std::vector<Case> all = cases_across_ahead();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Case& one = all[i];
    for (std::size_t k = 0; k < std::size(kGivenAcrossAhead); ++k) {
      if (!testing::takes_pair(i, k)) continue;
      const Given& given = kGivenAcrossAhead[k];
      const Arrays arrays(one, given, *device);
      ASSERT_GT(cuda_layout(one.spec, Geometry(given.shape, arrays.layouts, given.mask), kFewProcessors).ahead, 0) << one.spec.name << " " << ::testing::PrintToString(given);
      expect_what_the_cpus_text_gives(one, given, kFewProcessors, *device);
    }
    expect_what_the_cpus_text_gives(one, kGivenAcrossAhead[1], kFewProcessors, *device, 0, 0, false);
  }
}

TEST(CudaReducing, JoinsAcrossRowsOfRandomSpecsReadingAheadOnTheCpu) {
  const std::optional<Device> device = cpu_or_none();
  if (!device) GTEST_SKIP() << "needs the CPU back end";
  int ahead = 0;
  for (unsigned seed = 0; seed < 10; ++seed) {
    std::mt19937 random(seed);
    const Case one = {random_gradients(random), std::vector<bool>(7, false), {false, false, true, false, false, true, true}};
    const Given given = seed % 2 == 0 ? Given{{70, 1000}, 2} : Given{{23, 2048}, 2};
    const Arrays arrays(one, given, *device);
    ahead += cuda_layout(one.spec, Geometry(given.shape, arrays.layouts, given.mask), kFewProcessors).ahead;
    expect_what_the_cpus_text_gives(one, given, kFewProcessors, *device, 0, 0, seed % 5 != 4);
  }
  EXPECT_EQ(ahead, 10);
}

TEST(CudaReducing, GoesThroughRowsInTurnReadingAheadOnTheCpu) {
  const std::optional<Device> device = cpu_or_none();
  if (!device) GTEST_SKIP() << "needs the CPU back end";
  for (const Case& one : {log_softmax_case(), cases()[0]}) {
    for (const Given& given : {Given{{9, 4096}, 2}, Given{{9, 5000}, 2}, Given{{9, 5001}, 2}, Given{{9, 5000}, 2, false, true}, Given{{9, 5003}, 2, false, true}, Given{{9, 5001}, 2, false, false, false, true}}) {
      for (int ahead : {1, 2}) {
        for (bool aligned : {true, false}) expect_what_the_cpus_text_gives(one, given, kFewProcessors, *device, 1024, ahead, aligned);
      }
    }
  }
}

TEST(CudaReducing, SharesRowsAmongTheBlocksOfClustersThatStayOnTheCpu) {
  const std::optional<Device> device = cpu_or_none();
  if (!device) GTEST_SKIP() << "needs the CPU back end";
  for (const Given& given : kGivenToStay) {
    expect_what_the_cpus_text_gives(log_softmax_case(), given, kProcessorsToStay, *device);
    if (given.infinite) {
      expect_what_the_cpus_text_gives({log_softmax_alone(), {false, false, true}}, given, kProcessorsToStay, *device);
    } else if (given.shape.rank() == 2) {
      expect_what_the_cpus_text_gives(cross_entropy_case(), given, kProcessorsToStay, *device);
      expect_what_the_cpus_text_gives({softmax_gradient(), {false, false, false}}, given, kProcessorsToStay, *device);
    }
  }
}

/// What the layout's text leaves in the outputs, run by the CPU.
std::vector<std::vector<double>> given_by(const Case& one, const Given& given, const Layout& layout, Device device) {
  const Arrays arrays(one, given, device);
  const Geometry geometry(given.shape, arrays.layouts, given.mask, one.spec.uses_place());
  const Work work = cuda_dialect().work(one.spec, layout, geometry, kProcessors);
  ArgumentBlock block(one.spec, layout, geometry, cuda_dialect().vector_width(one.spec, layout), work);
  for (std::size_t i = 0; i < arrays.all.size(); ++i) block.set_pointer(static_cast<int>(i), arrays.all[i].data());
  EXPECT_TRUE(block.set_fast());
  EXPECT_EQ(work.launches.size(), 1u);
  CompileRequest request;
  request.source = as_cuda_c(cuda_dialect().emit(one.spec, layout));
  request.kind = SourceKind::kCudaC;
  request.kernels = entry_names(one.spec, layout);
  void* arguments[] = {block.data()};
  const auto module = device.backend().cache().get(request);
  device.backend().launch(*module->kernel(request.kernels[0]), work.launches[0].config, arguments, nullptr);
  std::vector<std::vector<double>> outputs;
  for (int i = one.spec.input_count(); i < one.spec.parameter_count(); ++i) outputs.push_back(arrays.all[static_cast<std::size_t>(i)].to_doubles());
  return outputs;
}

TEST(CudaReducing, HoldsTilesWithTheBitsOfPassesThatReadThemAgainOnTheCpu) {
  const std::optional<Device> device = cpu_or_none();
  if (!device) GTEST_SKIP() << "needs the CPU back end";
  const testing::Environment form("DAMO_CPU_FORM", "reference");
  const Case all[] = {{softmax_in_steps(), {false, false}}, {normed(), {false, false}}, log_softmax_case()};
  for (std::size_t i = 0; i < std::size(all); ++i) {
    for (std::size_t k = 0; k < std::size(kGivenTiles); ++k) {
      const Given& given = kGivenTiles[k];
      const Arrays arrays(all[i], given, *device);
      Layout layout = cuda_layout(all[i].spec, Geometry(given.shape, arrays.layouts, given.mask));
      ASSERT_GT(layout.beside, 0) << all[i].spec.name << " " << ::testing::PrintToString(given) << " " << to_string(layout);
      ASSERT_TRUE(layout.whole);
      if (!testing::takes_pair(i, k)) continue;
      expect_what_the_cpus_text_gives(all[i], given, kProcessors, *device);
      const auto held = given_by(all[i], given, layout, *device);
      layout.whole = false;
      EXPECT_EQ(given_by(all[i], given, layout, *device), held) << all[i].spec.name << " " << ::testing::PrintToString(given);
    }
  }
}

TEST(CudaReducing, JoinsRowsInPiecesByThreadsThatHaveNeighbouringRows) {
  const std::optional<Device> device = cpu_or_none();
  if (!device) GTEST_SKIP() << "needs the CPU back end";
  KernelSpec parts = *with_joined_exponentials(spec_of("exponential_sum", {log_softmax().steps[0], log_softmax().steps[1], log_softmax().steps[2], log_softmax().steps[3]}, {1, 4}));
  const Case all[] = {{moments(), {false, true, true}}, {spread(), {false, true, true}}, {std::move(parts), {false, true, true}}, users_type()};
  const Given pieces[] = {{{3, 64, 8, 4}, 10}, {{2, 100, 5, 4}, 10}, {{2, 50, 3, 5}, 10}, {{1, 5000, 16, 8}, 10}, {{2, 3001, 2, 4}, 10}, {{9, 40, 8, 4}, 10, false, false, false, true}};
  for (std::size_t i = 0; i < std::size(all); ++i) {
    for (std::size_t k = 0; k < std::size(pieces); ++k) {
      const Arrays arrays(all[i], pieces[k], *device);
      const Layout layout = cuda_layout(all[i].spec, Geometry(pieces[k].shape, arrays.layouts, pieces[k].mask));
      if (k != 2) ASSERT_GT(layout.beside, 0) << all[i].spec.name << " " << ::testing::PrintToString(pieces[k]) << " " << to_string(layout);
      ASSERT_FALSE(layout.whole);
      if (testing::takes_pair(i, k)) expect_what_the_cpus_text_gives(all[i], pieces[k], kProcessors, *device);
    }
  }
}

TEST(CudaReducing, CompilesTilesOfClustersWithHardlyASpill) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  std::set<std::string> known;
  for (const Case& one : {Case{softmax_in_steps(), {false, false}}, Case{normed(), {false, false}}, Case{moments(), {false, true, true}}, log_softmax_case()}) {
    // Blocks of 1,024 threads that stay have 64 registers a thread, half of which hold the tile: of two arrays some are spilled.
    for (const Given& given : {Given{{4096, 128}, 1}, Given{{8192, 64}, 1, true}, Given{{16000, 64}, 1}, Given{{32768, 16}, 1}, Given{{2, 4096, 8, 4}, 10}}) expect_hardly_a_spill(one, given, 8, known, 96);
  }
  EXPECT_GT(known.size(), 12u);
}

/// Its blocks have stretches of the rows, of which the last one's may end anywhere: not with the last vector, as rows do that threads have in turn.
}  // namespace
}  // namespace damo
