// Arrays amid a frame: how they lie, which kernels read them, and what a launch brings.
#include "runtime/kernel/framed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "runtime/array/array_layout.hpp"
#include "runtime/kernel/argument_block.hpp"
#include "runtime/kernel/spec_kernel.hpp"

namespace damo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

KernelSpec copy_of(DType dtype) {
  KernelSpec spec;
  spec.name = "copy";
  spec.inputs = spec.outputs = {dtype};
  spec.stores = {0};
  return spec;
}

class Finds final : public Dialect {
 public:
  explicit Finds(bool finds) : finds_(finds) {}
  std::string_view name() const override { return "none"; }
  std::string emit(const KernelSpec&, const Layout&) const override { return ""; }
  Work work(const KernelSpec&, const Layout&, const Geometry&, const Processors&) const override { return {}; }
  int vector_width(const KernelSpec&, const Layout&) const override { return 1; }
  bool finds_frames() const override { return finds_; }

 private:
  bool finds_;
};

/// An array of its own extents within a space, of which it begins at `before`.
class Framed {
 public:
  Framed(Shape space, Strides before, Shape extents) : strides(contiguous_strides(extents)), space_(std::move(space)), in_order_(contiguous_strides(space_)) {
    frame.before = std::move(before);
    frame.extents = std::move(extents);
    frame.bits = 0x40400000;
  }
  Geometry geometry() const {
    const ArrayLayout arrays[] = {{.shape = &space_, .strides = &strides, .frame = &frame}, {.shape = &space_, .strides = &in_order_}};
    return geometry_of(copy_of(float32), space_, arrays);
  }
  Layout layout() const { return classify(geometry(), 1); }
  bool is_fast(int vector) const {
    ArgumentBlock block(copy_of(float32), layout(), geometry(), vector);
    return block.set_fast();
  }

  FrameLayout frame;
  Strides strides;

 private:
  Shape space_;
  Strides in_order_;
};

TEST(Framed, LiesAsItDoesWithin) {
  const Framed array({5, 8}, {1, 2}, {3, 4});
  EXPECT_EQ(to_string(array.layout()), "r2 framed row dense");
  const Geometry geometry = array.geometry();
  ASSERT_EQ(geometry.framed.size(), 1u);
  EXPECT_EQ(geometry.framed[0].axes, 0b11u);
  EXPECT_EQ(geometry.framed[0].before, (Strides{1, 2}));
  EXPECT_EQ(geometry.framed[0].extents, (Strides{3, 4}));
  EXPECT_EQ(geometry.strides[0], (Strides{4, 1}));
  EXPECT_EQ(geometry.strides[1], (Strides{8, 1}));
}

TEST(Framed, KeepsAxesWithAFrameApart) {
  const Framed rows({4, 5, 8}, {0, 1, 0}, {4, 3, 8});  // within its frame it would be one axis
  EXPECT_EQ(rows.geometry().extents, (Shape{4, 5, 8}));
  EXPECT_EQ(rows.geometry().framed[0].axes, 0b010u);
  EXPECT_EQ(rows.geometry().framed[0].extents, (Strides{0, 3, 0}));
  EXPECT_EQ(Framed({2, 3, 5, 8}, {0, 0, 0, 3}, {2, 3, 5, 4}).geometry().extents, (Shape{30, 8}));
  const Framed none({4, 8}, {0, 0}, {4, 8});
  EXPECT_TRUE(none.geometry().framed.empty());
  EXPECT_EQ(to_string(none.layout()), "r1 dense dense");
}

TEST(Framed, OfNothingHasNoPlaceInside) {
  const Framed empty({4, 3}, {0, 2}, {4, 0});
  ASSERT_EQ(empty.geometry().framed.size(), 1u);
  EXPECT_EQ(empty.geometry().framed[0].before, (Strides{0, 3}));
  EXPECT_EQ(empty.geometry().framed[0].extents, (Strides{0, 1}));
  const Framed one({4, 1}, {0, 1}, {4, 0});  // an axis of one place that is no element
  ASSERT_EQ(one.geometry().framed.size(), 1u);
  EXPECT_EQ(one.geometry().framed[0].before, (Strides{0, 1}));
}

TEST(Framed, IsNeverTakenForOneElement) {
  Framed one({4, 8}, {1, 2}, {2, 4});
  one.strides = {0, 0};
  EXPECT_EQ(to_string(one.layout()), "r2 framed strided dense");
  one.strides = {1, 2};
  EXPECT_EQ(to_string(one.layout()), "r2 framed strided dense");  // no tile turns it
}

TEST(Framed, MovesVectorsThatLieOnOneSideOfEachBorder) {
  EXPECT_TRUE(Framed({5, 16}, {1, 8}, {3, 4}).is_fast(4));
  EXPECT_TRUE(Framed({5, 16}, {1, 0}, {3, 16}).is_fast(4));
  EXPECT_FALSE(Framed({5, 16}, {1, 2}, {3, 12}).is_fast(4));
  EXPECT_FALSE(Framed({5, 16}, {1, 4}, {3, 10}).is_fast(4));
  EXPECT_TRUE(Framed({5, 16}, {1, 2}, {3, 12}).is_fast(2));
}

TEST(Framed, IsReadByElementwiseKernelsOfTargetsThatCan) {
  const Framed array({5, 8}, {1, 2}, {3, 4}), none({4, 8}, {0, 0}, {4, 8});
  const KernelSpec spec = copy_of(float32);
  EXPECT_TRUE(follows_frames(spec, array.layout(), array.geometry(), Finds(true)));
  EXPECT_FALSE(follows_frames(spec, array.layout(), array.geometry(), Finds(false)));
  EXPECT_TRUE(follows_frames(spec, none.layout(), none.geometry(), Finds(false)));
  Layout joined = array.layout();
  joined.joined = true;
  EXPECT_FALSE(follows_frames(spec, joined, array.geometry(), Finds(true)));
}

TEST(Framed, IsServedByCodeForTheSameFrameAlone) {
  const Layout both = Framed({5, 8}, {1, 2}, {3, 4}).layout(), rows = Framed({5, 8}, {1, 0}, {3, 8}).layout();
  EXPECT_TRUE(serves(both, both, 1 << 20));
  EXPECT_FALSE(serves(both, rows, 16));
  EXPECT_FALSE(serves(rows, Framed({5, 8}, {0, 0}, {5, 8}).layout(), 16));
}

TEST(Framed, BringsItsValueAndItsPlaces) {
  const Framed array({5, 8}, {1, 2}, {3, 4});
  const std::string text = argument_struct(copy_of(float32), array.layout());
  EXPECT_THAT(text, HasSubstr("float frame0[2];"));
  EXPECT_THAT(text, HasSubstr("u32 before0[2];"));
  EXPECT_THAT(text, HasSubstr("u32 inside0[2];"));
  EXPECT_THAT(argument_struct(copy_of(float32), Framed({5, 8}, {0, 0}, {5, 8}).layout()), Not(HasSubstr("frame0")));
}

TEST(Framed, ReachesItsOwnElements) {
  const Framed array({500, 800}, {100, 200}, {3, 4});
  const Shape space{500, 800};
  EXPECT_EQ(range_of({.shape = &space, .strides = &array.strides, .frame = &array.frame}, 4).bytes(), 48u);
}

}  // namespace
}  // namespace damo
