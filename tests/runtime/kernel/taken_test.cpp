// Arrays that are taken: how they lie, which kernels find their slices, and what the texts say.
#include "runtime/kernel/taken.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/array/array_layout.hpp"
#include "runtime/kernel/argument_block.hpp"
#include "runtime/kernel/slice_text.hpp"
#include "runtime/kernel/spec_kernel.hpp"

namespace damo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// x0 + x1, or where it reduces the sum of these; inputs and outputs of the dtype.
KernelSpec spec_of(bool reduces, DType dtype = float32) {
  KernelSpec spec;
  spec.name = "add";
  spec.inputs = {dtype, dtype};
  spec.outputs = {dtype};
  Step step;
  step.name = "add";
  step.code = "x0 + x1";
  step.compute = step.result = dtype;
  step.inputs = {0, 1};
  if (reduces) step.join = Join{.neutral = "0", .reduce = "a + b"};
  spec.steps = {step};
  spec.stores = {2};
  return spec;
}

/// Rows of a table, each `apart` elements behind the one before, beside an array of the space, or of its rows' sums.
class Rows {
 public:
  Rows(Shape space, bool reduces = false, DType dtype = float32, std::int64_t apart = 0) : spec_(spec_of(reduces, dtype)), space_(std::move(space)), out_(space_), reduced_(reduces ? 0b10u : 0u) {
    taken.shape = {space_[0], 1};
    taken.strides = {1, 0};
    taken.apart = apart == 0 ? space_[1] : apart;
    taken.extent = 100;
    if (reduces) out_[1] = 1;
  }
  Geometry geometry() {
    in_order_ = contiguous_strides(space_);
    of_out_ = contiguous_strides(out_);
    const ArrayLayout arrays[] = {{&space_, &strides, &taken}, {&space_, &in_order_}, {&out_, &of_out_}};
    return geometry_of(spec_, space_, arrays, reduced_);
  }
  Layout layout() { return reduced_ != 0 ? classify_reducing(geometry()) : classify(geometry(), 2); }
  bool follows() { return follows_positions(spec_, layout(), geometry()); }
  bool follows(Layout layout) { return follows_positions(spec_, layout, geometry()); }
  const KernelSpec& spec() const { return spec_; }

  Strides strides{0, 1};
  TakenLayout taken;

 private:
  KernelSpec spec_;
  Shape space_, out_;
  Strides in_order_, of_out_;
  std::uint32_t reduced_;
};

TEST(Taken, LiesAsItsSlicesDo) {
  Rows rows({33, 40});
  EXPECT_EQ(to_string(rows.layout()), "r2 taken row dense dense");
  const Geometry geometry = rows.geometry();
  ASSERT_EQ(geometry.strides.size(), 3u);
  ASSERT_EQ(geometry.taken.size(), 1u);
  EXPECT_EQ(geometry.taken[0].kept, (Strides{1, 0}));
  EXPECT_EQ(geometry.taken[0].apart, 40);
  EXPECT_EQ(to_string(Rows({1, 40}).layout()), "r1 taken row dense dense");  // one slice is not where the array begins
  EXPECT_THAT(to_string(Rows({33, 40}, true).layout()), HasSubstr("r1 taken row row repeat, rows of r1"));
}

TEST(Taken, IsReadOnceForEachPosition) {
  Rows rows({33, 40}), sums({33, 40}, true);
  EXPECT_EQ(bytes_of(rows.spec(), rows.geometry()), std::size_t{3} * 33 * 40 * 4);
  EXPECT_EQ(bytes_of(sums.spec(), sums.geometry()), std::size_t{2} * 33 * 40 * 4 + 33 * 4);
}

TEST(Taken, IsNoArrayThatAllRowsShare) {
  Rows sums({33, 40}, true);
  Layout layout = sums.layout();
  mark_every_row(layout, sums.geometry(), 2);
  EXPECT_EQ(layout.access[0], Access::kRow);
}

TEST(Taken, IsFoundByRowsOfSlices) {
  EXPECT_TRUE(Rows({33, 40}).follows());
  EXPECT_TRUE(Rows({33, 40}, true).follows());
  EXPECT_TRUE(Rows({33, 16}).follows());
  EXPECT_FALSE(Rows({33, 15}).follows());
  EXPECT_TRUE(Rows({33, 64}, false, int8).follows());
  EXPECT_FALSE(Rows({33, 63}, false, int8).follows());
}

TEST(Taken, IsNotFoundByOtherForms) {
  Rows rows({33, 40}), sums({33, 40}, true);
  const auto with = [](Rows& of, auto change) {
    Layout layout = of.layout();
    change(layout);
    return of.follows(layout);
  };
  EXPECT_FALSE(with(rows, [](Layout& layout) { layout.tile_axis = 0; }));
  EXPECT_FALSE(with(rows, [](Layout& layout) { layout.joined = true; }));
  EXPECT_FALSE(with(rows, [](Layout& layout) { layout.access[0] = Access::kStrided; }));
  EXPECT_FALSE(with(sums, [](Layout& layout) { layout.form = Form::kColumns; }));
  EXPECT_FALSE(with(sums, [](Layout& layout) { layout.rows_each = 1; }));
  EXPECT_FALSE(with(sums, [](Layout& layout) { layout.beside = 8; }));
  EXPECT_TRUE(with(sums, [](Layout& layout) { layout.ahead = 2; }));
  rows.strides = {0, 2};
  EXPECT_FALSE(rows.follows());  // every second element of a slice
}

TEST(Taken, IsNotFoundWherePositionsMoveAlongARow) {
  Rows rows({33, 40}), sums({33, 40}, true);
  for (Rows* of : {&rows, &sums}) {
    of->strides = {40, 0};
    of->taken.shape = {1, 40};
    of->taken.strides = {0, 1};
    EXPECT_FALSE(of->follows());
  }
}

/// Sums over bags of slices, each `apart` elements behind the one before, of (bags, positions, places).
class Bags {
 public:
  Bags(Shape space, Strides strides, std::uint32_t reduced) : space_(std::move(space)), strides_(std::move(strides)), out_(space_), reduced_(reduced) {
    spec_.name = "sum";
    spec_.inputs = spec_.outputs = {float32};
    spec_.steps = {{.name = "sum", .code = "x0", .inputs = {0}, .join = Join{.neutral = "0", .reduce = "a + b"}}};
    spec_.stores = {1};
    taken_ = {.shape = {space_[0], space_[1], 1}, .strides = {space_[1], 1, 0}, .apart = 64, .extent = 100};
    for (int axis = 0; axis < space_.rank(); ++axis) out_[axis] = reduced >> axis & 1u ? 1 : space_[axis];
    of_out_ = contiguous_strides(out_);
  }
  Geometry geometry() const {
    const ArrayLayout arrays[] = {{&space_, &strides_, &taken_}, {&out_, &of_out_}};
    return geometry_of(spec_, space_, arrays, reduced_);
  }
  Layout layout() const { return classify_reducing(geometry()); }
  bool follows() const { return follows_positions(spec_, layout(), geometry()); }
  bool follows(Layout layout) const { return follows_positions(spec_, layout, geometry()); }
  const KernelSpec& spec() const { return spec_; }

 private:
  KernelSpec spec_;
  Shape space_;
  Strides strides_;
  TakenLayout taken_;
  Shape out_;
  Strides of_out_;
  std::uint32_t reduced_;
};

TEST(Taken, IsFoundByColumnsOfSlices) {
  const Bags bags({9, 4, 64}, {0, 0, 1}, 0b010u);
  EXPECT_THAT(to_string(bags.layout()), HasSubstr("r2 taken row"));
  EXPECT_THAT(to_string(bags.layout()), HasSubstr("columns of r1"));
  EXPECT_TRUE(bags.follows());
  EXPECT_TRUE(Bags({9, 4, 64}, {0, 0, 1}, 0b011u).follows());
  EXPECT_FALSE(Bags({9, 4, 64}, {0, 0, 2}, 0b010u).follows());
  EXPECT_FALSE(Bags({9, 4, 15}, {0, 0, 1}, 0b010u).follows());
  EXPECT_FALSE(Bags({9, 4, 64}, {0, 0, 1}, 0b110u).follows());
  const auto with = [&](auto change) {
    Layout layout = bags.layout();
    change(layout);
    return bags.follows(layout);
  };
  EXPECT_FALSE(with([](Layout& layout) { layout.turned = true; }));
  EXPECT_FALSE(with([](Layout& layout) { layout.pieces = true; }));
  EXPECT_FALSE(with([](Layout& layout) { layout.beside = 8; }));
  EXPECT_FALSE(with([](Layout& layout) { layout.ahead = 2; }));
  EXPECT_FALSE(with([](Layout& layout) { layout.cluster = 2; }));
  EXPECT_THAT(argument_struct(bags.spec(), bags.layout()), HasSubstr("  i64 of0[2];\n  i64 by0[1];\n"));
}

TEST(Taken, ReachesFromTheFirstPositionToTheLast) {
  const Shape shape{33, 40};
  const Strides strides{0, 1};
  TakenLayout taken{.shape = {33, 1}, .strides = {1, 0}, .apart = 50, .extent = 100};
  EXPECT_EQ(range_of({&shape, &strides, &taken}, 4).first, 0);
  EXPECT_EQ(range_of({&shape, &strides, &taken}, 4).last, (99 * 50 + 40) * 4);
  taken.apart = -50;
  EXPECT_EQ(range_of({&shape, &strides, &taken}, 4).first, -99 * 50 * 4);
  EXPECT_EQ(range_of({&shape, &strides, &taken}, 4).last, 40 * 4);
}

TEST(Taken, IsServedByCodeThatFindsIt) {
  const Layout found = Rows({33, 40}).layout(), one = Rows({1, 40}).layout();
  Layout copied = found;
  copied.taken.clear();
  EXPECT_FALSE(serves(found, copied, 1000));
  EXPECT_FALSE(serves(copied, found, 1000));
  EXPECT_TRUE(serves(found, one, 40));
}

TEST(Taken, HasItsPositionsAmongArguments) {
  Rows rows({33, 40}), sums({33, 40}, true);
  EXPECT_THAT(argument_struct(rows.spec(), rows.layout()), HasSubstr("  float* p2;\n  const i64* positions0;\n  i64 apart0;\n"));
  EXPECT_THAT(argument_struct(rows.spec(), rows.layout()), HasSubstr("  i32 s0[2];\n  i32 of0[2];\n"));
  EXPECT_THAT(argument_struct(sums.spec(), sums.layout()), HasSubstr("  i64 k0[1];\n  i64 of0[1];\n  i64 r0[1];\n"));
  EXPECT_EQ(slice_offset(3, 2), "a.positions3[c0 * a.of3[0] + c1 * a.of3[1]] * a.apart3");
  EXPECT_EQ(slice_offset(3, 1, "offset"), "a.positions3[offset(c0) * offset(a.of3[0])] * a.apart3");
  EXPECT_EQ(slice_offset(3, 0), "a.positions3[0] * a.apart3");
}

TEST(Taken, IsFastWhereSlicesBeginWithVectors) {
  const auto is_fast = [](std::int64_t apart) {
    Rows rows({33, 40}, false, float32, apart);
    ArgumentBlock block(rows.spec(), rows.layout(), rows.geometry(), 4);
    return block.set_fast();
  };
  EXPECT_TRUE(is_fast(40));
  EXPECT_TRUE(is_fast(-44));
  EXPECT_FALSE(is_fast(42));
}

TEST(Taken, IsRefusedByAKernelThatDoesNotFindIt) {
  Rows rows({33, 15});
  SpecKernel kernel(rows.spec(), Device("null").backend());
  BoundKernel bound(kernel);
  const Shape space{33, 15};
  const Strides strides = contiguous_strides(space);
  const ArrayLayout arrays[] = {{&space, &rows.strides, &rows.taken}, {&space, &strides}, {&space, &strides}};
  EXPECT_THROW(bound.bind(space, arrays), InternalError);
}

}  // namespace
}  // namespace damo
