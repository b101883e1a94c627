// What is chosen for kernels that reduce, by their shapes and the GPU: how many launches, lanes of a row, blocks of a cluster, and blocks that join across rows.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/cuda/dialect.hpp"
#include "runtime/cuda/reducing_schedule.hpp"
#include "runtime/cuda/text_as_cuda_c.hpp"
#include "runtime/kernel/exponential_sums.hpp"
#include "runtime/kernel/moments.hpp"
#include "runtime/kernel/reducing_specs.hpp"

namespace damo {
namespace {

TEST(CudaReducingLayouts, LaunchesOnceWhereABlockReadsARowInAFewTrips) {
  const auto launches = [](std::int64_t rows, std::int64_t length, int cost) {
    KernelSpec spec;
    spec.name = "sum";
    spec.inputs = spec.outputs = {float32};
    Step step = join("T(0)", "a + b", 0);
    step.cost = cost;
    spec.steps = {step};
    spec.stores = {1};
    const Shape shape = {rows, length}, row = {rows, 1};
    const Strides dense = contiguous_strides(shape), of_row = contiguous_strides(row);
    const ArrayLayout lies[] = {{&shape, &dense}, {&row, &of_row}};
    const Processors h200 = {132, 8, 227 * 1024};
    const Geometry geometry(shape, lies, 2);
    return cuda_dialect().work(spec, cuda_layout(spec, geometry, h200), geometry, h200).launches.size();
  };
  for (std::int64_t length : {100, 8192, 16384, 24576}) EXPECT_EQ(launches(1, length, 1), 1u) << length << ": the mean of a batch's losses";
  EXPECT_EQ(launches(7, 16384, 1), 1u);
  for (std::int64_t length : {40000, 65536, 1 << 24}) EXPECT_EQ(launches(1, length, 1), 2u) << length;
  EXPECT_EQ(launches(1, 16384, 100), 2u) << "where elements are dear, several blocks compute them sooner";
}

TEST(CudaReducingLayouts, LetsThreadsJoinMoreOfSixteenBitFloats) {
  const auto layout = [](DType dtype, const Shape& shape) {
    KernelSpec spec = spec_of("sum", {sum_of(0)}, {1});
    spec.inputs = {dtype};
    spec.steps[0].join->bytes = 4;
    const Shape kept = {shape[0], 1};
    const Strides dense = contiguous_strides(shape), of_kept = contiguous_strides(kept);
    const ArrayLayout arrays[] = {{&shape, &dense}, {&kept, &of_kept}};
    return cuda_layout(spec, Geometry(shape, arrays, 2), {132, 8, 227 * 1024});
  };
  EXPECT_EQ(layout(float32, {16384, 8192}).lanes, 256);
  for (DType dtype : {bfloat16, float16}) {
    EXPECT_EQ(layout(dtype, {16384, 8192}).lanes, 128) << "which have a whole row on its way at once";
    EXPECT_EQ(layout(dtype, {2048, 8192}).lanes, 256) << "of fewer rows multiprocessors would be idle";
    EXPECT_EQ(layout(dtype, {2670, 50257}).items, 4) << "of rows that begin anywhere";
  }
}

TEST(CudaReducingLayouts, CutsColumnsIntoChunksForBlocksThatAreAllResidentUnlessTheyCompute) {
  const auto blocks = [](DType dtype, int cost) {  // of each multiprocessor
    KernelSpec spec = spec_of("sum", {sum_of(0)}, {1});
    spec.inputs = {dtype};
    spec.steps[0].join->bytes = 4;
    spec.steps[0].cost = cost;
    const Shape shape = {16384, 8192}, kept = {1, 8192};
    const Strides dense = contiguous_strides(shape), of_kept = contiguous_strides(kept);
    const ArrayLayout arrays[] = {{&shape, &dense}, {&kept, &of_kept}};
    const Geometry geometry(shape, arrays, 1);
    const Processors h100 = {132, 8, 227 * 1024};
    const Work work = cuda_dialect().work(spec, cuda_layout(spec, geometry, h100), geometry, h100);
    const auto& grid = work.launches[0].config.grid;
    return static_cast<double>(std::int64_t{grid.x} * grid.y) / h100.count;
  };
  EXPECT_LE(blocks(float32, 1), 8.0);
  EXPECT_GT(blocks(float32, 1), 6.0);
  EXPECT_GT(blocks(float32, 50), 24.0);
  EXPECT_LE(blocks(bfloat16, 1), 4.5);
  EXPECT_GT(blocks(bfloat16, 1), 2.0);
}

TEST(CudaReducingLayouts, GivesAllThatTakesLongToJoinAsManyBlocksAsAreResident) {
  const Processors h200 = {132, 8, 227 * 1024};
  struct Found {
    int items, residents;
    double blocks;  ///< of each multiprocessor
  };
  const auto found = [&](KernelSpec spec, DType dtype, std::uint32_t mask, const Shape& shape) {
    spec.inputs = {dtype};
    for (Step& step : spec.steps) {
      if (step.join) step.join->bytes = std::max(step.join->bytes, 4);
    }
    const Shape kept = mask == 1 ? Shape{1, shape[1]} : mask == 2 ? Shape{shape[0], 1}
                                                                  : Shape{1, 1};
    const Strides dense = contiguous_strides(shape), of_kept = contiguous_strides(kept);
    std::vector<ArrayLayout> arrays = {{&shape, &dense}};
    for (std::size_t i = 0; i < spec.outputs.size(); ++i) arrays.push_back({&kept, &of_kept});
    const Geometry geometry(shape, arrays, mask);
    const Layout layout = cuda_layout(spec, geometry, h200);
    const Work work = cuda_dialect().work(spec, layout, geometry, h200);
    const auto& grid = work.launches[0].config.grid;
    return Found{layout.items, layout.residents, static_cast<double>(std::int64_t{grid.x} * grid.y) / h200.count};
  };
  std::vector<Step> steps = {join("0", "a + b", 0, "a / T(n)"), map("x0 - x1", {0, 1}), map("x0 * x0", {2}), join("0", "a + b", 3, "a / T(n)")};
  for (Step& step : steps) step.compute = step.result = float32;
  KernelSpec variance = spec_of("var", std::move(steps), {4});
  for (Step& step : variance.steps) {
    if (step.join) step.join->bytes = 4;
  }
  variance = *with_joined_moments(variance);
  KernelSpec sum = spec_of("sum", {sum_of(0)}, {1}), of_five_words = sum;
  of_five_words.steps[0].join->bytes = 20;

  const Found columns = found(variance, bfloat16, 1, {16384, 8192});
  EXPECT_EQ(columns.items, 8) << "64 elements";
  EXPECT_EQ(columns.residents, 2);
  EXPECT_LE(columns.blocks, 2);
  EXPECT_GT(columns.blocks, 1.5);
  const Found all = found(variance, bfloat16, 3, {16384, 8192});
  EXPECT_EQ(all.residents, 2);
  EXPECT_LE(all.blocks, 2);
  EXPECT_GT(all.blocks, 1.5);
  const Found few = found(variance, bfloat16, 2, {134, 1000000});
  EXPECT_LE(few.blocks, 8) << "a block a row would leave half of the places empty";
  EXPECT_GT(few.blocks, 6.8);
  EXPECT_GT(found(variance, bfloat16, 2, {300, 1000000}).blocks, 6.8) << "and here the last blocks would run alone";
  const Found of_words = found(variance, float32, 1, {16384, 8192});
  EXPECT_LE(of_words.blocks, of_words.residents);
  EXPECT_GT(of_words.blocks, of_words.residents - 1);
  EXPECT_EQ(found(sum, bfloat16, 1, {16384, 8192}).residents, 0) << "what is joined at once leaves four blocks their registers";
  const Found wide = found(of_five_words, bfloat16, 1, {16384, 8192});
  EXPECT_EQ(wide.residents, 2) << "and five words of a column do not";
  EXPECT_EQ(wide.items, 8);
  EXPECT_LE(wide.blocks, 2);
  EXPECT_EQ(found(of_five_words, bfloat16, 1, {16384, 8196}).residents, 0) << "vectors of four have too little on their way";
  EXPECT_NEAR(found(sum, float32, 2, {512, 262144}).blocks, 512.0 / 132, 0.01) << "rows enough are not cut";
  EXPECT_GT(found(sum, float32, 2, {200, 262144}).blocks, 16);
}

TEST(CudaReducingLayouts, GivesAThreadAShortRowThatBeginsAnywhere) {
  const Processors h200 = {132, 8, 227 * 1024};
  const auto layout = [&](std::int64_t dimensions, std::int64_t points, DType dtype) {
    KernelSpec spec = spec_of("squares", {map("(x0 - x1) * (x0 - x1)", {0, 1}), sum_of(2)}, {3});
    spec.inputs = {dtype, dtype};
    const Shape all = {points, 64, dimensions}, kept = {points, 64, 1};
    const Strides points_lie = {dimensions, 0, 1}, centers_lie = {0, dimensions, 1}, of_kept = contiguous_strides(kept);
    const ArrayLayout arrays[] = {{&all, &points_lie}, {&all, &centers_lie}, {&kept, &of_kept}};
    return cuda_layout(spec, Geometry(all, arrays, 4), h200);
  };
  for (DType dtype : {float32, bfloat16}) {
    const Layout three = layout(3, 1 << 20, dtype);
    EXPECT_TRUE(three.whole);
    EXPECT_EQ(three.vector, 1);
    EXPECT_EQ(three.lanes, 1);
    EXPECT_EQ(three.items, 3);
    EXPECT_FALSE(layout(3, 8, dtype).whole) << "few rows";
    EXPECT_FALSE(layout(17, 1 << 20, dtype).whole) << "more registers than a row may have";
    EXPECT_GT(layout(8, 1 << 20, dtype).vector, 1) << "whole vectors";
  }
}

TEST(CudaReducingLayouts, GivesManyShortRowsFewLanesOfAWarp) {
  using Form = std::vector<int>;  // lanes, items, vector, residents
  const auto form = [](KernelSpec spec, DType dtype, const Shape& shape) {
    spec.inputs = {dtype};
    if (dtype != float32) spec.outputs.assign(spec.outputs.size(), dtype);
    for (Step& step : spec.steps) {
      if (step.join) step.join->bytes = 4;
    }
    const bool is_sum = spec.steps.size() == 1;
    const Shape row = {shape[0], 1};
    const Strides dense = contiguous_strides(shape), of_row = contiguous_strides(row);
    const ArrayLayout arrays[] = {{&shape, &dense}, is_sum ? ArrayLayout{&row, &of_row} : ArrayLayout{&shape, &dense}};
    const Layout found = cuda_layout(spec, Geometry(shape, arrays, 2), {132, 8, 227 * 1024});
    return Form{found.lanes, found.items, found.vector, found.residents};
  };
  const KernelSpec soft = softmax_in_steps(), sum = spec_of("sum", {sum_of(0)}, {1});
  EXPECT_EQ(form(soft, bfloat16, {500000, 200}), (Form{8, 4, 8, 3}));
  EXPECT_EQ(form(soft, bfloat16, {500000, 301}), (Form{8, 5, 8, 3})) << "of rows that begin anywhere a vector more";
  EXPECT_EQ(form(soft, bfloat16, {500000, 300}), (Form{16, 5, 4, 3})) << "halves of vectors are whole";
  EXPECT_EQ(form(soft, bfloat16, {200000, 1000}), (Form{32, 4, 8, 3}));
  EXPECT_EQ(form(soft, bfloat16, {200000, 1001}), (Form{32, 4, 8, 4}));
  EXPECT_EQ(form(soft, bfloat16, {100, 200}), (Form{32, 1, 8, 0})) << "few rows: each has a warp";
  EXPECT_EQ(form(soft, bfloat16, {20000, 2004}), (Form{128, 2, 8, 8})) << "too long for a warp";
  EXPECT_EQ(form(soft, float32, {500000, 200}), (Form{32, 2, 4, 0}));
  EXPECT_EQ(form(sum, bfloat16, {500000, 100}), (Form{8, 4, 4, 0}));
  EXPECT_EQ(form(sum, float32, {500000, 100}), (Form{8, 4, 4, 0}));
  EXPECT_EQ(form(sum, float32, {100, 100}), (Form{32, 1, 4, 0})) << "few rows";
}

TEST(CudaReducingLayouts, GivesThreadsWholeRowsOfRunsThatAreOnePieceOfMemory) {
  using Form = std::vector<int>;  // rows of a thread, lanes, items, vector
  const Processors h200 = {132, 8, 227 * 1024};
  const auto laid = [&](KernelSpec spec, DType dtype, const Shape& shape, const Strides& strides, std::uint32_t mask = 2) {
    spec.inputs.assign(spec.inputs.size(), dtype);
    spec.outputs.assign(spec.outputs.size(), dtype);
    Shape row = shape;
    for (int axis = 0; axis < row.rank(); ++axis) row[axis] = mask >> axis & 1u ? 1 : row[axis];
    const Strides dense = contiguous_strides(shape), of_row = contiguous_strides(row);
    std::vector<ArrayLayout> arrays(spec.inputs.size(), {&shape, &strides});
    arrays.push_back(spec.steps.size() == 1 ? ArrayLayout{&row, &of_row} : ArrayLayout{&shape, &dense});
    return cuda_layout(spec, Geometry(shape, arrays, mask), h200);
  };
  const auto form = [&](const KernelSpec& spec, DType dtype, const Shape& shape) {
    const Layout found = laid(spec, dtype, shape, contiguous_strides(shape));
    EXPECT_EQ(found.whole, found.rows_each > 0 || spec.steps.size() > 1);
    return Form{found.rows_each, found.lanes, found.items, found.vector};
  };
  const KernelSpec soft = softmax_in_steps(), sum = spec_of("sum", {sum_of(0)}, {1});
  EXPECT_EQ(form(soft, float32, {1 << 24, 3}), (Form{4, 1, 3, 1}));
  EXPECT_EQ(form(sum, float32, {1 << 24, 10}), (Form{1, 1, 5, 2})) << "pairs of floats are whole";
  EXPECT_EQ(form(soft, bfloat16, {1 << 24, 24}), (Form{1, 1, 3, 8}));
  EXPECT_EQ(form(soft, bfloat16, {1 << 24, 2}), (Form{8, 1, 1, 2})) << "at most so many rows";
  EXPECT_EQ(form(soft, float64, {1 << 24, 31}), (Form{1, 1, 31, 1}));
  EXPECT_EQ(form(soft, float32, {1 << 22, 63}), (Form{1, 1, 63, 1}));
  EXPECT_EQ(form(soft, float32, {132 * 32, 3}), (Form{1, 1, 3, 1})) << "few rows: each multiprocessor has a warp's";
  for (const Shape& shape : {Shape{132 * 32 - 1, 3}, Shape{1 << 22, 65}, Shape{1 << 22, 32}}) EXPECT_EQ(form(soft, float32, shape)[0], 0) << to_string(shape) << ": too few rows, too long ones, and ones that lie in the same banks";
  EXPECT_EQ(form(softmax_gradient(), float32, {1 << 22, 33})[0], 0) << "two arrays' rows do not fit registers";
  const Shape shape = {1 << 22, 10};
  EXPECT_EQ(laid(soft, float32, shape, {11, 1}).rows_each, 0) << "rows with gaps between them";
  EXPECT_EQ(laid(soft, float32, shape, {1, 1 << 22}).rows_each, 0) << "columns";
  const Layout windows = laid(sum, float32, {1 << 14, 3, 64, 2}, contiguous_strides({1 << 14, 3, 64, 2}), 10);
  EXPECT_EQ((Form{windows.rows_each, windows.lanes, windows.items, windows.vector}), (Form{0, 1, 3, 2})) << "neighbouring threads read neighbouring pieces";
  const Layout wide = laid(sum, float32, {1 << 14, 2, 64, 8}, contiguous_strides({1 << 14, 2, 64, 8}), 10);
  EXPECT_GT(wide.lanes, 1) << "a piece is more than a vector";
}

TEST(CudaReducingLayouts, KeepsBlocksForLongRowsOfOneArrayOrTwo) {
  const auto layout = [](const KernelSpec& spec, const Shape& shape, const Processors& processors = {132, 8, 227 * 1024}) {
    const Shape row = {shape[0], 1};
    const Strides dense = contiguous_strides(shape), of_row = contiguous_strides(row);
    const ArrayLayout arrays[] = {{&shape, &dense}, {&shape, &dense}, {&shape, &dense}, {&row, &of_row}};
    return cuda_layout(spec, Geometry(shape, arrays, 2), processors);
  };
  const auto stays = [&](std::int64_t length, int cluster, int ahead) {
    const Layout found = layout(softmax_in_steps(), {2000, length});
    EXPECT_EQ(found.cluster, cluster) << length;
    EXPECT_EQ(found.ahead, ahead) << length;
    EXPECT_EQ(found.lanes, 512) << length;
  };
  stays(65505, 2, 1);
  stays(65509, 4, 2);  // the first of its lines may have 31 elements before it
  stays(65536, 2, 1);
  stays(65537, 4, 2);
  stays(131072, 4, 1);
  stays(262144, 8, 1);
  EXPECT_EQ(layout(log_softmax(), {2000, 65536}).cluster, 4) << "what was read is wanted beside what is kept";
  EXPECT_EQ(layout(log_softmax(), {2000, 262144}).ahead, 0) << "likewise";
  EXPECT_EQ(layout(log_softmax(), {2000, 16384}).ahead, 0) << "shorter";
  EXPECT_EQ(layout(softmax_gradient(), {2000, 16384}).cluster, 1) << "two arrays";
  EXPECT_EQ(layout(softmax_gradient(), {2000, 50257}).cluster, 4);
  EXPECT_EQ(layout(log_softmax(), {200, 65536}).ahead, 0) << "too few rows";
  EXPECT_EQ(layout(log_softmax(), {2000, 65536}, {132, 1, 227 * 1024}).ahead, 0) << "no clusters";
  EXPECT_EQ(layout(softmax_in_steps(), {2000, 65536}, {132, 8, 100 * 1024}).ahead, 0) << "no room for a row";
  KernelSpec half = softmax_in_steps();
  half.inputs = half.outputs = {bfloat16};
  EXPECT_EQ(layout(half, {2000, 16384}).ahead, 0);
  EXPECT_EQ(layout(half, {2000, 32768}).cluster, 1);
  EXPECT_EQ(layout(half, {2000, 65536}).cluster, 2);
  EXPECT_EQ(layout(half, {20000, 8191}).items, 5) << "a vector more, that few threads have";
  const Shape shape = {2000, 262144}, row = {2000, 1};
  const Strides dense = contiguous_strides(shape), of_row = contiguous_strides(row);
  const ArrayLayout arrays[] = {{&shape, &dense}, {&shape, &dense}, {&shape, &dense}, {&row, &of_row}};
  const Geometry geometry(shape, arrays, 2);
  const Work work = cuda_dialect().work(softmax_in_steps(), layout(softmax_in_steps(), shape), geometry, {132, 8, 227 * 1024});
  EXPECT_EQ(work.launches[0].config.grid.x, 128) << "16 clusters, if the groups of multiprocessors have room for them";
  EXPECT_EQ(work.launches[0].config.shared_bytes, 128u * 1024);
}

TEST(CudaReducingLayouts, HoldsTilesOfColumnsWhereABlockOrAClusterDoesAndElseTakesAPassAfterTheOther) {
  const Processors h100 = {132, 8, 227 * 1024};
  const auto geometry_of = [](const Shape& shape, std::uint32_t mask, bool turned) {
    Strides lies = contiguous_strides(shape), turns = lies;
    if (turned) turns = {1, shape[0]};
    const ArrayLayout arrays[] = {{&shape, &lies}, {&shape, &turns}};
    return Geometry(shape, arrays, mask);
  };
  using Form = std::vector<int>;  // beside, lanes, items, vector, cluster, residents
  const auto form = [&](const Shape& shape, std::uint32_t mask, DType dtype = float32, bool turned = false, const Processors& processors = {132, 8, 227 * 1024}) {
    KernelSpec spec = softmax_in_steps();
    spec.inputs = spec.outputs = {dtype};
    for (Step& step : spec.steps) {
      if (step.join) step.join->bytes = 4;
    }
    const Layout found = cuda_layout(spec, geometry_of(shape, mask, turned), processors);
    return found.beside > 0 ? Form{found.beside, found.lanes, found.items, found.vector, found.cluster, found.residents} : Form{};
  };
  EXPECT_EQ(form({64, 100000}, 1), Form()) << "8 lanes hold them";
  EXPECT_EQ(form({64, 100000}, 1, bfloat16), Form()) << "16 lanes do";
  EXPECT_NE(form({65, 100000}, 1, bfloat16), Form());
  EXPECT_EQ(form({128, 256, 4096}, 2), (Form{8, 32, 8, 4, 1, 4})) << "a line of the cache wide";
  EXPECT_EQ(form({512, 100000}, 1), (Form{4, 64, 8, 4, 1, 4}));
  EXPECT_EQ(form({1000, 4096}, 1), (Form{4, 64, 8, 4, 2, 4})) << "too few tiles for clusters that stay";
  EXPECT_EQ(form({4096, 4096}, 1), (Form{4, 64, 8, 4, 8, 4}));
  EXPECT_EQ(form({8192, 2048}, 1), (Form{4, 128, 8, 4, 8, 2}));
  EXPECT_EQ(form({16384, 1024}, 1), (Form{2, 256, 8, 4, 8, 2}));
  EXPECT_EQ(form({32768, 4096}, 1), (Form{2, 512, 8, 4, 8, 1}));
  EXPECT_EQ(form({32769, 4096}, 1), Form());
  EXPECT_EQ(form({4096, 32768}, 1, float32, false, {132, 1, 227 * 1024}), (Form{2, 512, 8, 4, 1, 1})) << "no clusters";
  EXPECT_EQ(form({16, 4096, 32, 4}, 10), (Form{4, 64, 8, 4, 8, 4})) << "pieces of four";
  EXPECT_EQ(form({4096, 8000}, 1, bfloat16), Form()) << "multiprocessors would hold too little for the meetings of clusters";
  EXPECT_NE(form({4096, 512}, 1, bfloat16), Form()) << "all tiles at once";
  EXPECT_NE(form({4096, 32768}, 1, bfloat16, true), Form()) << "what is written would be parts of lines";
  const auto is_split = [&](const Shape& shape, DType dtype = float32) {
    KernelSpec spec = softmax_in_steps();
    spec.inputs = spec.outputs = {dtype};
    return cuda_dialect().prefers_passes(spec, geometry_of(shape, 1, false), h100);
  };
  EXPECT_FALSE(is_split({32768, 4096}));
  EXPECT_TRUE(is_split({32769, 4096}));
  EXPECT_TRUE(is_split({1048576, 128}));
  EXPECT_TRUE(is_split({16384, 8192}, bfloat16));
  EXPECT_FALSE(is_split({32769, 40000})) << "enough blocks of columns";
  EXPECT_FALSE(is_split({40000, 16})) << "so little that launches count";
  for (const DType dtype : {float32, bfloat16}) {
    KernelSpec spec = softmax_in_steps();
    spec.inputs = spec.outputs = {dtype};
    EXPECT_TRUE(cuda_dialect().prefers_passes(spec, geometry_of({1, kLongRow}, 2, false), h100)) << "fusion counts on it of one row so long";
  }
}

TEST(CudaReducingLayouts, JoinsMomentsWhereRowsWouldBeReadAgainOrAClusterWouldMeetForThem) {
  const Processors h100 = {132, 8, 227 * 1024};
  const auto step = [](const Step& step, DType dtype) {
    Step own = step;
    own.compute = own.result = dtype;
    if (own.join) own.join->bytes = static_cast<int>(itemsize(dtype));
    return own;
  };
  const auto joins = [&](const Shape& shape, std::uint32_t mask, bool writes, DType dtype = float32) {
    std::vector<Step> steps = {join("0", "a + b", 0, "a / T(n)"), map("x0 - x1", {0, 1}), map("x0 * x0", {2}), join("0", "a + b", 3, "a / T(n)"), map("x0 * x1", {2, 4})};
    for (Step& own : steps) own = step(own, float32);
    KernelSpec spec = spec_of("norm", std::move(steps), {writes ? 5 : 4});
    spec.inputs = spec.outputs = {dtype};
    const Strides lies = contiguous_strides(shape);
    Shape row = shape;
    for (int axis = 0; axis < shape.rank(); ++axis) row[axis] = mask >> axis & 1u ? 1 : shape[axis];
    const Strides row_lies = contiguous_strides(row);
    const ArrayLayout arrays[] = {{&shape, &lies}, {writes ? &shape : &row, writes ? &lies : &row_lies}};
    return prefers_one_cuda_reading(spec, *with_joined_moments(spec), Geometry(shape, arrays, mask), h100);
  };
  EXPECT_FALSE(joins({16384, 8192}, 2, true)) << "a block holds a row";
  EXPECT_FALSE(joins({16384, 8192}, 2, false));
  EXPECT_FALSE(joins({1024, 131072}, 2, true)) << "a cluster does, and writes elements";
  EXPECT_TRUE(joins({1024, 131072}, 2, false)) << "one reading";
  EXPECT_TRUE(joins({134, 1000000}, 2, true)) << "nothing holds it";
  EXPECT_TRUE(joins({128, 1 << 20}, 2, true));
  EXPECT_TRUE(joins({1, 1 << 27}, 2, false));
  EXPECT_TRUE(joins({16384, 8192}, 1, false)) << "a tile that a cluster holds";
  EXPECT_FALSE(joins({128, 256, 4096}, 2, true)) << "one that a block holds";
  EXPECT_TRUE(joins({1 << 20, 128}, 1, true)) << "columns";
  EXPECT_FALSE(joins({2670, 50257}, 2, false, bfloat16)) << "rows that begin anywhere";
  EXPECT_TRUE(joins({2670, 50257}, 2, false));
}

TEST(CudaReducingLayouts, JoinsExponentialsWhereRowsWouldBeReadAgain) {
  const Processors h100 = {132, 8, 227 * 1024};
  const auto joins = [&](const Shape& shape, std::uint32_t mask, DType dtype = float32) {
    KernelSpec spec = softmax_in_steps();
    spec.inputs = spec.outputs = {dtype};
    const Strides lies = contiguous_strides(shape);
    const ArrayLayout arrays[] = {{&shape, &lies}, {&shape, &lies}};
    const Geometry geometry(shape, arrays, mask);
    return prefers_one_cuda_reading(spec, *with_joined_exponentials(spec), geometry, h100);
  };
  EXPECT_FALSE(joins({16384, 8192}, 2)) << "a block holds a row";
  EXPECT_FALSE(joins({512, 262144}, 2)) << "a cluster does";
  EXPECT_TRUE(joins({134, 1000000}, 2)) << "nothing does";
  EXPECT_FALSE(joins({4096, 32768}, 1)) << "a tile does";
  EXPECT_TRUE(joins({262144, 512}, 1, bfloat16)) << "columns that nothing holds";
  EXPECT_TRUE(joins({134, 1000000}, 2, bfloat16));
  EXPECT_TRUE(joins({1 << 20, 128}, 1)) << "columns";
}

TEST(CudaReducingLayouts, GivesRowsInPiecesToNeighbouringThreadsAndAPassAKernel) {
  const Processors h100 = {132, 8, 227 * 1024};
  const Shape shape = {256, 4096, 32, 4}, row = {256, 1, 32, 1}, few = {16, 4096, 32, 4};  // too few for clusters that stay
  const Strides lies = contiguous_strides(shape), row_lies = contiguous_strides(row), few_lie = contiguous_strides(few);
  const ArrayLayout elements[] = {{&few, &few_lie}, {&few, &few_lie}}, values[] = {{&shape, &lies}, {&row, &row_lies}}, many[] = {{&shape, &lies}, {&shape, &lies}};
  for (const auto& [dtype, beside] : {std::pair<DType, int>{float32, 8}, {bfloat16, 16}}) {
    KernelSpec sum = spec_of("sum", {sum_of(0)}, {1}), softmax = softmax_in_steps();
    sum.inputs = sum.outputs = softmax.inputs = softmax.outputs = {dtype};
    const Layout layout = cuda_layout(sum, Geometry(shape, values, 10), h100);
    EXPECT_EQ(layout.beside, beside) << "a line of the cache together";
    EXPECT_EQ(layout.beside * layout.lanes, 256);
    EXPECT_FALSE(layout.whole);
    EXPECT_TRUE(layout.chunked);
    const Geometry geometry(few, elements, 10);
    const KernelSpec form = *with_joined_exponentials(softmax);
    EXPECT_TRUE(prefers_one_cuda_reading(softmax, form, geometry, h100));
    EXPECT_TRUE(prefers_cuda_passes(form, geometry, h100)) << "two of them";
    EXPECT_FALSE(prefers_cuda_passes(softmax, geometry, h100)) << "three: a tile of a cluster";
    EXPECT_FALSE(prefers_one_cuda_reading(softmax, form, Geometry(shape, many, 10), h100)) << "clusters that stay read ahead while they meet";
  }
}

TEST(CudaReducingLayouts, TakesAPassAfterTheOtherWhereRowsThatNothingHoldsWouldLeaveMultiprocessorsIdle) {
  const Processors h100 = {132, 8, 227 * 1024};
  const auto passes = [&](std::int64_t rows, std::int64_t length) {
    const Shape shape = {rows, length};
    const Strides lies = contiguous_strides(shape);
    const ArrayLayout arrays[] = {{&shape, &lies}, {&shape, &lies}};
    return prefers_cuda_passes(softmax_in_steps(), Geometry(shape, arrays, 2), h100);
  };
  EXPECT_TRUE(passes(65, 1000000));
  EXPECT_FALSE(passes(128, 1000000));
  EXPECT_TRUE(passes(134, 1000000)) << "two rows of the last round";
  EXPECT_FALSE(passes(264, 1000000));
  EXPECT_FALSE(passes(134, 100000)) << "clusters hold them";
  EXPECT_TRUE(passes(1, 1 << 20));
  EXPECT_FALSE(passes(1, (1 << 20) - 1)) << "a launch more takes longer";
}

TEST(CudaReducingLayouts, JoinsAcrossRowsInAsManyBlocksAsTheShapeAndTheGpuAsk) {
  const KernelSpec spec = norm_gradient();
  const auto work = [&](const Shape& shape, const Processors& processors) {
    const Shape row = {shape[0], 1}, column = {1, shape[1]};
    const Strides dense = contiguous_strides(shape), of_row = contiguous_strides(row), of_column = contiguous_strides(column);
    const ArrayLayout arrays[] = {{&shape, &dense}, {&shape, &dense}, {&shape, &dense}, {&row, &of_row}, {&column, &of_column}, {&column, &of_column}};
    const Geometry geometry(shape, arrays, 2);
    EXPECT_TRUE(cuda_dialect().joins_across(spec, geometry, processors)) << to_string(shape);
    return cuda_dialect().work(spec, cuda_layout(spec, geometry, processors), geometry, processors);
  };
  const Processors h200 = {132, 8, 227 * 1024};
  const Work norm = work({16384, 8192}, h200);
  EXPECT_EQ(norm.chunks, 132) << "one block of 512 threads a multiprocessor, which reads ahead";
  EXPECT_EQ(norm.launches[0].config.shared_bytes, 2 * 8192 * sizeof(float)) << "a row of each array";
  EXPECT_EQ(work({131072, 1024}, h200).chunks, 8 * 132) << "of 64 threads";
  EXPECT_EQ(work({100, 8192}, h200).chunks, 50) << "of 512 threads, which do not, where there are fewer rows than blocks";
  EXPECT_EQ(work({3, 8192}, h200).chunks, 2) << "two rows a block, where there are few";
  EXPECT_EQ(work({1 << 22, 64}, h200).chunks % 132, 0);
  EXPECT_LE(divide_up((1 << 22) / 32, work({1 << 22, 64}, h200).chunks), 256) << "rows that a value takes, of which a block has 32";
}

TEST(CudaReducingLayouts, LeavesJoinsAcrossRowsToAKernelOfTheirOwnWhereTheyDoNotFit) {
  const KernelSpec spec = norm_gradient();
  const auto fits = [&](const Shape& shape, bool turned, const Processors& processors) {
    const Shape row = {shape[0], 1}, column = {1, shape[1]};
    Strides dense = contiguous_strides(shape);
    if (turned) dense = {1, shape[0]};
    const Strides of_row = contiguous_strides(row), of_column = contiguous_strides(column);
    const ArrayLayout arrays[] = {{&shape, &dense}, {&shape, &dense}, {&shape, &dense}, {&row, &of_row}, {&column, &of_column}, {&column, &of_column}};
    return cuda_dialect().joins_across(spec, Geometry(shape, arrays, 2), processors);
  };
  EXPECT_TRUE(fits({1000, 1024}, false, {132, 1, 48 * 1024}));
  EXPECT_FALSE(fits({1000, 8192}, false, {132, 1, 48 * 1024})) << "more than the shared memory";
  EXPECT_FALSE(fits({1000, 1000000}, false, {132, 8, 227 * 1024})) << "more than a cluster holds";
  EXPECT_FALSE(fits({1000, 1024}, true, {132, 8, 227 * 1024})) << "neighbours in memory are of unlike rows";
}

}  // namespace
}  // namespace damo
