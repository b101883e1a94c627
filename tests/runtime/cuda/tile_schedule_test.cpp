// Which blocks hold tiles of columns and of rows in pieces, and stay: the condition of tile_schedule.hpp, line by line. Those that hold one tile each: reducing_layouts_test.cpp.
#include "runtime/cuda/tile_schedule.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "runtime/cuda/reducing_schedule.hpp"
#include "runtime/cuda/row_alternatives.hpp"
#include "runtime/cuda/staying_rows.hpp"
#include "runtime/cuda/text_as_cuda_c.hpp"
#include "runtime/kernel/reducing_specs.hpp"

namespace damo {
namespace {

class TilesThatStay : public ::testing::Test {
 protected:
  using Form = std::vector<int>;  // beside, lanes, items, vector, cluster, ahead

  static KernelSpec typed(KernelSpec spec, DType dtype) {
    for (DType& each : spec.inputs) each = dtype;
    for (DType& each : spec.outputs) each = dtype;
    for (Step& step : spec.steps) {
      if (step.join && step.join->members.empty()) step.join->bytes = dtype == float64 ? 8 : 4;
    }
    return spec;
  }
  /// Of arrays of one shape, the outputs of which may lie the other way round.
  static Geometry geometry_of(const KernelSpec& spec, const Shape& shape, std::uint32_t mask, bool turned) {
    const Strides lies = contiguous_strides(shape), turns = turned ? Strides{1, shape[0]} : lies;
    std::vector<ArrayLayout> arrays;
    for (int i = 0; i < spec.parameter_count(); ++i) arrays.push_back({&shape, spec.is_output(i) ? &turns : &lies});
    return Geometry(shape, arrays, mask);
  }
  static Layout layout(const KernelSpec& spec, const Shape& shape, std::uint32_t mask = 1, bool turned = false, const Processors& processors = {132, 8, 227 * 1024}) { return cuda_layout(spec, geometry_of(spec, shape, mask, turned), processors); }
  /// Nothing of tiles whose blocks do not stay.
  static Form form(const KernelSpec& spec, const Shape& shape, std::uint32_t mask = 1, bool turned = false, const Processors& processors = {132, 8, 227 * 1024}) {
    const Layout found = layout(spec, shape, mask, turned, processors);
    return found.beside > 0 && found.ahead > 0 ? Form{found.beside, found.lanes, found.items, found.vector, found.cluster, found.ahead} : Form{};
  }
};

TEST_F(TilesThatStay, AreAsWideAsTheFewestBlocksThatHoldThemAllow) {
  const KernelSpec soft = typed(softmax_in_steps(), float32), half = typed(softmax_in_steps(), bfloat16), wide = typed(softmax_in_steps(), float64);
  EXPECT_EQ(form(soft, {600, 131072}), (Form{16, 64, 5, 4, 2, 2})) << "two lines";
  EXPECT_EQ(form(soft, {1024, 131072}), (Form{16, 64, 8, 4, 2, 1}));
  EXPECT_EQ(form(soft, {1025, 131072}), (Form{16, 64, 5, 4, 4, 2}));
  EXPECT_EQ(form(soft, {4096, 32768}), (Form{16, 64, 8, 4, 8, 1}));
  EXPECT_EQ(form(soft, {8192, 32768}), (Form{8, 128, 8, 4, 8, 1})) << "one";
  EXPECT_EQ(form(soft, {8192, 16384}, 1, true), (Form{4, 128, 16, 4, 4, 1})) << "half of one: a result that lies the other way";
  EXPECT_EQ(form(soft, {16384, 8192}), Form()) << "half of one would do";
  EXPECT_EQ(form(half, {4096, 32768}), (Form{8, 64, 8, 8, 8, 2})) << "512 threads";
  EXPECT_EQ(form(wide, {2048, 32768}), (Form{16, 64, 8, 2, 4, 1}));
  EXPECT_EQ(form(soft, {256, 4096, 32, 4}, 10), (Form{8, 64, 8, 4, 8, 1})) << "pieces of four: two blocks a multiprocessor";
  EXPECT_EQ(form(soft, {4096, 32767}), (Form{32, 32, 32, 1, 4, 1})) << "no whole vectors";
}

/// Results of fewer bytes than what is read: a tile of a quarter of a line has 8 elements, which are 8 bytes of int8.
TEST_F(TilesThatStay, AreNotSoNarrowThatSectorsAreWrittenInParts) {
  KernelSpec spec = typed(softmax_in_steps(), float32);
  EXPECT_EQ(layout(spec, {16384, 8192}).beside, 2) << "a quarter of a line";
  spec.outputs[0] = int8;
  EXPECT_EQ(layout(spec, {16384, 8192}).beside, 0) << "read twice";
  spec.outputs[0] = bfloat16;
  EXPECT_EQ(layout(spec, {16384, 8192}).beside, 2) << "16 bytes";
}

TEST_F(TilesThatStay, AreThoseThatTheConditionSays) {
  const KernelSpec soft = typed(softmax_in_steps(), float32);
  EXPECT_EQ(form(soft, {512, 262144}), Form()) << "several blocks are resident, of which each holds a tile";
  EXPECT_EQ(form(soft, {32768, 8192}), Form()) << "a quarter of a line";
  EXPECT_EQ(form(soft, {4096, 8000}), Form()) << "too few tiles";
  EXPECT_NE(form(soft, {4096, 8448}), Form());
  EXPECT_EQ(form(soft, {4096, 32768}, 1, false, {132, 8, 100 * 1024}), (Form{8, 128, 4, 4, 8, 1})) << "more blocks where one has no room";
  EXPECT_EQ(form(soft, {4096, 32768}, 1, false, {132, 8, 16 * 1024}), Form()) << "no room for the next one";
  EXPECT_EQ(form(soft, {4096, 32768}, 1, false, {132, 1, 227 * 1024}), Form()) << "no clusters";
  EXPECT_EQ(form(typed(softmax_in_steps(), bfloat16), {4096, 32767}), Form()) << "pieces of two bytes";
  KernelSpec values = typed(damo::spec_of("spread", {join("0", "a + b", 0, "a / T(n)"), map("x0 - x1", {0, 1}), map("x0 * x0", {2}), sum_of(3)}, {4}), float32);
  EXPECT_EQ(form(values, {4096, 32768}), Form()) << "writes no elements";
  EXPECT_EQ(form(typed(softmax_gradient(), float32), {4096, 32768}), (Form{8, 128, 4, 4, 8, 1})) << "two arrays";
  const KernelSpec late = typed(damo::spec_of("late", {max_of(0), map("exp(x0 - x1)", {0, 2}, 15), sum_of(3), map("x0 / x1 * x2", {3, 4, 1}, 4)}, {5}, 2), float32);
  EXPECT_EQ(form(late, {4096, 32768}), Form()) << "the last pass would wait for another array";
}

/// An array that the last pass alone reads is no obstacle where caches have it: a weight of each element of a column.
TEST_F(TilesThatStay, ReadSmallArraysAsTheyLie) {
  const KernelSpec late = typed(damo::spec_of("late", {max_of(0), map("exp(x0 - x1)", {0, 2}, 15), sum_of(3), map("x0 / x1 * x2", {3, 4, 1}, 4)}, {5}, 2), float32);
  const Shape shape = {4096, 32768}, weight = {4096, 1};
  const Strides lies = contiguous_strides(shape), weights = {1, 0};
  const ArrayLayout arrays[] = {{&shape, &lies}, {&weight, &weights}, {&shape, &lies}};
  const Layout found = cuda_layout(late, Geometry(shape, arrays, 1), {132, 8, 227 * 1024});
  EXPECT_EQ(found.ahead, 1);
  EXPECT_EQ(arrays_ahead(late, found), std::vector<int>{0});
}

/// Of weights along the columns a vector of these has one element, so they neither fill registers nor lie otherwise than what is held: a norm of channels is held by a block.
TEST_F(TilesThatStay, HoldNoVectorsOfWhatIsTheSameForNeighbours) {
  const auto layout_of = [](DType dtype, std::int64_t length) {
    const KernelSpec spec = typed(damo::spec_of("scaled", {map("x0 * x1", {0, 1}), sum_of(2), map("x0 / x1 * x2", {2, 3, 1}, 4)}, {4}, 2), dtype);
    const Shape shape = {length, 524288}, weight = {length, 1};
    const Strides lies = contiguous_strides(shape), weights = {1, 0};
    const ArrayLayout arrays[] = {{&shape, &lies}, {&weight, &weights}, {&shape, &lies}};
    return cuda_layout(spec, Geometry(shape, arrays, 1), {132, 8, 227 * 1024});
  };
  const Layout held = layout_of(float32, 256);
  EXPECT_EQ((std::vector{held.beside, held.lanes, held.items, held.cluster, held.ahead}), (std::vector{8, 32, 8, 1, 0})) << "a line wide";
  EXPECT_EQ(held.access[1], Access::kSteady);
  const Layout stays = layout_of(bfloat16, 1024);
  EXPECT_GT(stays.ahead, 0) << "although the first pass reads the weights";
  EXPECT_EQ(stays.beside * stays.vector * 2, 128) << "a line wide";
}

/// What a launch asks for, and what measuring may choose, fits into shared memory beside what threads and blocks give each other.
TEST_F(TilesThatStay, LeaveRoomForWhatTheyGiveEachOther) {
  const Processors h100 = {132, 8, 227 * 1024};
  for (const DType dtype : {float32, bfloat16, float64}) {
    const KernelSpec spec = typed(softmax_in_steps(), dtype);
    for (const Shape& shape : {Shape{600, 131072}, Shape{1700, 65536}, Shape{2200, 65536}, Shape{3000, 32768}, Shape{4096, 32768}}) {
      const Geometry geometry = geometry_of(spec, shape, 1, false);
      const Layout found = layout(spec, shape);
      if (found.ahead == 0) continue;
      const std::vector<ScheduleGuess> all = row_alternatives(spec, found, geometry, h100);
      for (const ScheduleGuess& guess : all) {
        EXPECT_LE(reducing_cuda_work(spec, guess.layout, geometry, h100).launches[0].config.shared_bytes + tile_meeting_bytes(spec, guess.layout), h100.shared_bytes) << to_string(guess.layout);
        EXPECT_LE(tile_meeting_bytes(spec, guess.layout), kColumnSharedBytes) << to_string(guess.layout);
      }
    }
  }
}

}  // namespace
}  // namespace damo
