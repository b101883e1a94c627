// Schedules of one kernel that join in one order, and the model's figures for them.
#include "runtime/cuda/row_alternatives.hpp"

#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/cuda/cuda_backend.hpp"
#include "runtime/cuda/nvrtc.hpp"
#include "runtime/cuda/reducing_schedule.hpp"
#include "runtime/cuda/text_as_cuda_c.hpp"
#include "runtime/kernel/reducing_specs.hpp"
#include "support/scratch_directory.hpp"

namespace damo {
namespace {

using damo::testing::Environment;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr Processors kH200 = {132, 8, 227 * 1024};

/// A kernel over rows, with outputs of all elements, or of one a row.
struct Rows {
  KernelSpec spec;
  Shape shape, row;
  Strides dense, of_row;
  std::optional<Geometry> geometry;
  Layout layout;

  Rows(KernelSpec given, Shape space, bool is_sum = false, std::uint32_t mask = 2) : spec(std::move(given)), shape(space), row(space) {
    for (int axis = 0; axis < row.rank(); ++axis) {
      if (mask >> axis & 1u) row[axis] = 1;
    }
    dense = contiguous_strides(shape);
    of_row = contiguous_strides(row);
    std::vector<ArrayLayout> arrays(static_cast<std::size_t>(spec.input_count()), ArrayLayout{&shape, &dense});
    for (std::size_t i = 0; i < spec.outputs.size(); ++i) arrays.push_back(is_sum ? ArrayLayout{&row, &of_row} : ArrayLayout{&shape, &dense});
    geometry.emplace(shape, arrays, mask);
    layout = cuda_layout(spec, *geometry, kH200);
  }
  std::vector<ScheduleGuess> alternatives() const { return row_alternatives(spec, layout, *geometry, kH200); }
  double predicted(const Layout& other) const { return predicted_microseconds(spec, other, *geometry, kH200); }
  JoinOrder order(const Layout& other) const { return join_order(spec, other, *geometry, kH200); }
};

std::vector<int> of(const std::vector<ScheduleGuess>& guesses, int Layout::*member) {
  std::vector<int> values;
  for (const ScheduleGuess& guess : guesses) values.push_back(guess.layout.*member);
  return values;
}

KernelSpec row_sum() { return spec_of("sum", {sum_of(0)}, {1}); }

TEST(RowAlternatives, AreOtherNumbersOfResidentBlocksWhereRowsAreHeld) {
  const Rows rows(softmax_in_steps(), {32768, 4096});
  ASSERT_EQ(rows.layout.residents, 4);
  EXPECT_THAT(of(rows.alternatives(), &Layout::residents), UnorderedElementsAre(4, 5, 3, 6, 2));
  EXPECT_THAT(of(rows.alternatives(), &Layout::lanes), Each(256)) << "they are the order";
  EXPECT_EQ(rows.alternatives()[0].layout, rows.layout);
}

TEST(RowAlternatives, LeaveTheCompilerRegistersForARow) {
  const Rows rows(softmax_in_steps(), {32768, 8192});
  for (const ScheduleGuess& guess : rows.alternatives()) EXPECT_LE(guess.layout.residents * guess.layout.lanes, 2048);
  EXPECT_THAT(of(rows.alternatives(), &Layout::residents), ::testing::Not(Contains(Gt(4)))) << "512 threads that hold 16 values and 16 of their own";
}

TEST(RowAlternatives, AreOtherNumbersOfRowsAheadWhereBlocksStay) {
  const Rows rows(softmax_in_steps(), {2000, 70000});
  ASSERT_EQ(rows.layout.ahead, 2);
  EXPECT_THAT(of(rows.alternatives(), &Layout::ahead), ElementsAre(2, 1, 3));
  const Rows full(softmax_in_steps(), {2000, 65536});
  EXPECT_THAT(of(full.alternatives(), &Layout::ahead), ElementsAre(1)) << "two rows do not fit";
}

TEST(RowAlternatives, AreOtherNumbersOfVectorsAtATimeWhereRowsAreNotHeld) {
  const Rows rows(row_sum(), {4096, 65536}, true);
  ASSERT_FALSE(rows.layout.whole);
  const std::vector<int> items = of(rows.alternatives(), &Layout::items);
  EXPECT_THAT(items, SizeIs(Gt(1u)));
  const Rows columns(row_sum(), {16384, 8192}, true, 1);
  EXPECT_THAT(of(columns.alternatives(), &Layout::items), SizeIs(Gt(1u)));
}

TEST(RowAlternatives, AreNotOtherNumbersOfVectorsWhereTheyAreJoinedAsAGroup) {
  KernelSpec spec = row_sum();
  spec.steps[0].join->append_group = "for (int k = 0; k < K; ++k) for (int n = 0; n < N; ++n) a[k] += x0[k][n];";
  const Rows rows(spec, {4096, 65536}, true), columns(spec, {16384, 8192}, true, 1);
  EXPECT_THAT(rows.alternatives(), SizeIs(1)) << "they are the order";
  EXPECT_THAT(columns.alternatives(), SizeIs(1));
}

TEST(RowAlternatives, AreOtherNumbersOfRowsOfAThreadWhereItHasWholeOnes) {
  const Rows rows(softmax_in_steps(), {1 << 24, 3});
  ASSERT_EQ(rows.layout.rows_each, 4);
  EXPECT_THAT(of(rows.alternatives(), &Layout::rows_each), ElementsAre(4, 8, 2));
  const double starving = rows.predicted(rows.layout);
  Layout one = rows.layout;
  one.rows_each = 1;
  EXPECT_GT(rows.predicted(one), 1.5 * starving) << "12 bytes of a thread on their way";
  const Rows long_rows(softmax_in_steps(), {1 << 20, 63});
  ASSERT_EQ(long_rows.layout.rows_each, 1);
  EXPECT_THAT(of(long_rows.alternatives(), &Layout::rows_each), ElementsAre(1)) << "two are more than a quarter of shared memory";
}

/// Gradients of a layer norm over rows of so many columns.
struct NormGradients {
  KernelSpec spec = layer_norm_gradients();
  Shape shape, column;
  Strides dense, shared, of_column;
  std::optional<Geometry> geometry;
  Layout layout;

  NormGradients(std::int64_t rows, std::int64_t columns) : shape{rows, columns}, column{1, columns}, dense(contiguous_strides(shape)), shared{0, 1}, of_column(contiguous_strides(column)) {
    const ArrayLayout all{&shape, &dense}, weight{&shape, &shared}, sum{&column, &of_column};
    const ArrayLayout arrays[] = {all, all, weight, all, sum, sum};
    geometry.emplace(shape, arrays, 2);
    layout = cuda_layout(spec, *geometry, kH200);
  }
};

TEST(RowAlternatives, HaveTheSameRowsInEachBlockThatJoinsAcrossRows) {
  const NormGradients gradients(16384, 8192);
  ASSERT_EQ(gradients.layout.ahead, 1);
  const std::vector<ScheduleGuess> all = row_alternatives(gradients.spec, gradients.layout, *gradients.geometry, kH200);
  EXPECT_THAT(of(all, &Layout::ahead), ElementsAre(1, 2, 3));
  for (const ScheduleGuess& guess : all) {
    const Work work = reducing_cuda_work(gradients.spec, guess.layout, *gradients.geometry, kH200);
    EXPECT_EQ(work.chunks, 132);
    EXPECT_LE(work.launches[0].config.shared_bytes, kH200.shared_bytes);
  }
  for (std::int64_t columns : {100, 768, 1024, 4096, 8192, 10000, 16384}) {
    const NormGradients other(50000, columns);
    for (const ScheduleGuess& guess : row_alternatives(other.spec, other.layout, *other.geometry, kH200)) {
      EXPECT_EQ(join_order(other.spec, guess.layout, *other.geometry, kH200), join_order(other.spec, other.layout, *other.geometry, kH200)) << columns;
    }
  }
}

// None is refused by NVRTC.
TEST(RowAlternatives, CompileForHopper) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  const cuda_backend::NvrtcCompiler compiler(90);
  const auto compile = [&](const KernelSpec& spec, const std::vector<ScheduleGuess>& all) {
    EXPECT_THAT(all, SizeIs(Gt(1u))) << spec.name;
    for (const ScheduleGuess& guess : all) EXPECT_NO_THROW(compiler.compile({cuda_dialect().emit(spec, guess.layout), SourceKind::kGenerated, "schedules.cu"})) << to_string(guess.layout);
  };
  const NormGradients gradients(16384, 8192);
  compile(gradients.spec, row_alternatives(gradients.spec, gradients.layout, *gradients.geometry, kH200));
  const Rows softmaxes[] = {{softmax_in_steps(), {32768, 4096}}, {softmax_in_steps(), {2670, 80257}}};
  for (const Rows& rows : softmaxes) compile(rows.spec, rows.alternatives());
  const Rows sums(row_sum(), {4096, 65536}, true);
  compile(sums.spec, sums.alternatives());
}

// The heart of it: whatever is measured, what is joined with what does not change.
TEST(RowAlternatives, JoinInOneOrder) {
  const KernelSpec specs[] = {softmax_in_steps(), log_softmax(), softmax(), row_sum()};
  int found = 0;
  for (const KernelSpec& spec : specs) {
    for (std::int64_t length : {3, 33, 100, 1000, 1001, 4096, 5001, 8192, 16388, 50257, 65536, 262144}) {
      for (std::int64_t count : {1, 7, 132, 3000, 100000}) {
        for (std::uint32_t mask : {2u, 1u}) {
          const bool is_sum = spec.steps.size() == 1;
          const Rows rows(spec, mask == 2 ? Shape{count, length} : Shape{length, count}, is_sum, mask);
          for (const ScheduleGuess& guess : rows.alternatives()) {
            EXPECT_EQ(rows.order(guess.layout), rows.order(rows.layout)) << spec.name << " " << count << " of " << length << ": " << to_string(guess.layout);
            EXPECT_EQ(entry_names(spec, guess.layout), entry_names(spec, rows.layout));
            ++found;
          }
        }
      }
    }
  }
  EXPECT_GT(found, 400);
}

TEST(JoinOrder, TellsSchedulesApartThatJoinOtherwise) {
  const Rows rows(softmax_in_steps(), {32768, 4096});
  const auto differs = [&](auto change) {
    Layout other = rows.layout;
    change(other);
    return !(rows.order(other) == rows.order(rows.layout));
  };
  EXPECT_TRUE(differs([](Layout& l) { l.lanes = 512, l.items = 2; }));
  EXPECT_TRUE(differs([](Layout& l) { l.cluster = 2, l.items = 2; }));
  EXPECT_TRUE(differs([](Layout& l) { l.vector = 2, l.items = 8; }));
  EXPECT_TRUE(differs([](Layout& l) { l.ahead = 1, l.residents = 1; })) << "blocks that stay join their warps in pairs";
  EXPECT_FALSE(differs([](Layout& l) { l.residents = 6; }));
}

TEST(JoinOrder, IsTheSameForAnyPowerOfTwoOfVectorsAtATime) {
  Layout layout;
  for (int items : {1, 2, 4, 8}) {
    layout.items = items;
    EXPECT_EQ(vectors_of_a_sum(layout), 128);
  }
  layout.items = 3;
  EXPECT_EQ(vectors_of_a_sum(layout) % 3, 0) << "a partial value takes whole tiles";
}

TEST(RowModel, GoesByBytesWavesAndLaunches) {
  const Rows rows(softmax_in_steps(), {32768, 4096});
  const double one = rows.predicted(rows.layout), bytes = 2.0 * 32768 * 4096 * 4;
  EXPECT_NEAR(one, bytes / (132 * 24) / 1000 + 2, 0.02 * one);
  EXPECT_NEAR(Rows(softmax_in_steps(), {65536, 4096}).predicted(rows.layout), 2 * one, 0.02 * one);
  Layout few = rows.layout;
  few.residents = 1;
  EXPECT_GT(rows.predicted(few), 2 * one) << "256 threads with 16 KB on their way starve the memory";
  const Rows short_of_blocks(softmax_in_steps(), {66, 4096});
  EXPECT_NEAR(short_of_blocks.predicted(short_of_blocks.layout) - 2, 2 * (one - 2) * 66 / 32768, 0.3) << "half of the multiprocessors have nothing to do, at least";
}

TEST(RowModel, HasTheWholeRowsOfBlocksThatStay) {
  // 528 rows of 33 clusters are 16 of each; one more is 17 of one.
  const Rows even(softmax_in_steps(), {528, 70000}), odd(softmax_in_steps(), {529, 70000});
  ASSERT_GT(even.layout.ahead, 0);
  EXPECT_NEAR((odd.predicted(odd.layout) - 2) / (even.predicted(even.layout) - 2), 17.0 / 16, 0.005);
}

TEST(RowAlternatives, AreNoneWhereAScheduleIsAskedFor) {
  const Rows rows(softmax_in_steps(), {32768, 4096});
  const Environment asked{"DAMO_CUDA_ROWS", "256,0,0,0"};
  EXPECT_THAT(rows.alternatives(), SizeIs(1));
}

TEST(TileAlternatives, AreOtherTilesAndAllOfThemFit) {
  const Shape shape = {8192, 16384};
  const Strides dense = contiguous_strides(shape), turned = {1, 8192};
  KernelSpec spec = spec_of("transpose_tanh", {map("tanh(x0)", {0}, 20), map("x0 + x1", {2, 1})}, {3}, 2);
  const ArrayLayout arrays[] = {{&shape, &turned}, {&shape, &dense}, {&shape, &dense}};
  const Geometry geometry(shape, arrays);
  const Layout layout = cuda_dialect().adapt(spec, classify(geometry, 2));
  ASSERT_GE(layout.tile_axis, 0);
  const std::vector<ScheduleGuess> all = cuda_dialect().alternatives(spec, layout, geometry, kH200);
  EXPECT_EQ(all[0].layout, layout);
  EXPECT_THAT(all, SizeIs(Gt(4u)));
  std::vector<std::string> texts;
  for (const ScheduleGuess& guess : all) {
    const std::string text = cuda_dialect().emit(spec, guess.layout);
    EXPECT_THAT(texts, ::testing::Not(Contains(text))) << "tiling " << guess.layout.tiling;
    texts.push_back(text);
    const LaunchConfig config = cuda_dialect().work(spec, guess.layout, geometry, kH200).launches[0].config;
    EXPECT_THAT(text, ::testing::HasSubstr("__launch_bounds__(" + std::to_string(config.block[0]) + ")"));
  }
  const Environment asked{"DAMO_CUDA_TILE", "32,32,256,0"};
  EXPECT_THAT(cuda_dialect().alternatives(spec, layout, geometry, kH200), SizeIs(1));
}

}  // namespace
}  // namespace damo
