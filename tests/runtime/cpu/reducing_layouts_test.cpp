// How kernels that reduce go over their arrays on a CPU, by what the dialect says of a spec and a shape.
#include <vector>

#include <gtest/gtest.h>

#include "runtime/cpu/dialect.hpp"
#include "runtime/kernel/passes.hpp"
#include "runtime/kernel/reducing_specs.hpp"

namespace damo {
namespace {

TEST(CpuReducingLayouts, AKernelAPassWhereRowsAreFewOrColumnsAreNotHeldAndAreStored) {
  const auto is_split = [](const KernelSpec& spec, const Shape& shape, std::uint32_t mask) {
    const Shape made = mask == 1 ? Shape{1, shape[1]} : Shape{shape[0], 1};
    const bool stores = spec.stores[0] == 5;
    const Strides lies = contiguous_strides(shape), kept = contiguous_strides(made);
    const ArrayLayout arrays[] = {{&shape, &lies}, stores ? ArrayLayout{&shape, &lies} : ArrayLayout{&made, &kept}};
    return cpu_dialect().prefers_passes(spec, Geometry(shape, arrays, mask), {});
  };
  const KernelSpec soft = softmax_in_steps();
  ASSERT_EQ(soft.stores, std::vector<int>{5});
  EXPECT_TRUE(is_split(soft, {4097, 4096}, 1));
  EXPECT_FALSE(is_split(soft, {4096, 4096}, 1)) << "a task's exponentials are held";
  EXPECT_FALSE(is_split(soft, {512, 512}, 1)) << "all of it does";
  EXPECT_FALSE(is_split(soft, {4096, 4096}, 2)) << "rows are held";
  EXPECT_TRUE(is_split(soft, {16, 1048576}, 2)) << "few rows leave threads idle";
  EXPECT_TRUE(is_split(soft, {1, kLongRow}, 2)) << "fusion counts on it of one row so long";
  KernelSpec sums = soft;  // of e^(x - max), which nothing stores
  sums.steps.pop_back();
  sums.stores = {4};
  EXPECT_FALSE(is_split(sums, {4097, 4096}, 1));
  EXPECT_TRUE(is_split(normed(), {4096, 4096}, 1)) << "nothing is dear, and a task's columns leave the cache";
}

TEST(CpuReducingLayouts, ColumnsWhereRowsAreShortPiecesBesideEachOther) {
  const auto layout_of = [](const KernelSpec& spec, const Shape& shape, std::uint32_t mask, const Shape& weight = {}) {
    Shape made = shape;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (mask >> axis & 1u) made[axis] = 1;
    }
    const Strides lies = contiguous_strides(shape), kept = contiguous_strides(made), by = contiguous_strides(weight);
    std::vector<ArrayLayout> arrays = {{&shape, &lies}};
    if (spec.input_count() == 3) arrays.push_back({&weight, &by}), arrays.push_back({&made, &kept});
    for (int store : spec.stores) arrays.push_back(Passes(spec, [](int, const Passes&) { return false; }).is_element(store) ? ArrayLayout{&shape, &lies} : ArrayLayout{&made, &kept});
    const Geometry geometry(shape, arrays, mask);
    return cpu_dialect().share_rows(spec, classify_reducing(geometry), geometry, {});
  };
  EXPECT_TRUE(layout_of(moments(), {32, 4096, 32, 4}, 10).pieces);
  EXPECT_TRUE(layout_of(softmax(), {32, 4096, 32, 4}, 10).pieces);
  EXPECT_TRUE(layout_of(center(), {32, 4096, 32, 4}, 10, {32, 4}).pieces);
  EXPECT_TRUE(layout_of(center(), {32, 4096, 32, 4}, 10, {4096, 1, 1}).pieces) << "one weight for all that lie beside each other";
  EXPECT_FALSE(layout_of(center(), {32, 4096, 32, 4}, 10, {32, 1}).pieces) << "one for a piece";
  EXPECT_FALSE(layout_of(moments(), {32, 4096, 4, 32}, 10).pieces) << "pieces are long enough for lanes of their own";
  EXPECT_FALSE(layout_of(argmax(), {32, 4096, 32, 4}, 10).pieces) << "asks for places in a row";
  EXPECT_TRUE(layout_of(softmax(), {32, 4096, 32, 4}, 10).whole) << "64 columns a task, so that there are 64 tasks";
  EXPECT_FALSE(layout_of(softmax(), {64, 4097, 32, 4}, 10).whole) << "256 columns";
}

}  // namespace
}  // namespace damo
