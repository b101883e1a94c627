// Tables of a spec: what a launch brings of them, and that they have no part in the kernel's space.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/kernel/argument_block.hpp"
#include "runtime/kernel/body.hpp"
#include "runtime/kernel/spec_kernel.hpp"

namespace damo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// table[x], x being int64.
KernelSpec look_up() {
  KernelSpec spec;
  spec.name = "look_up";
  spec.inputs = {float16, int64};
  spec.tables = {true, false};
  spec.outputs = {float32};
  Step step;
  step.name = "look_up";
  step.code = "x0[x1]";
  step.inputs = {0, 1};
  step.inputs_as = {float16, int64};
  spec.steps = {step};
  spec.stores = {2};
  return spec;
}

Layout layout_of(const Geometry& geometry, int first_output) {
  Layout layout = classify(geometry, first_output);
  layout.access[0] = Access::kValue;
  return layout;
}

TEST(Tables, ALaunchBringsAddressAndSize) {
  const KernelSpec spec = look_up();
  const Shape space{5, 7}, table{3, 4};
  const Strides strides = contiguous_strides(space), table_strides = contiguous_strides(table);
  const ArrayLayout arrays[] = {{&table, &table_strides}, {&space, &strides}, {&space, &strides}};
  const Geometry geometry = geometry_of(spec, space, arrays);
  EXPECT_EQ(geometry.count, 35);
  EXPECT_EQ(geometry.longest_table, 12);
  const Layout layout = layout_of(geometry, spec.input_count());
  EXPECT_TRUE(layout.is_flat()) << "the table lies along none of the space's axes";
  EXPECT_THAT(argument_struct(spec, layout), HasSubstr("typedef i32 table_index;\nstruct Arguments {\n  Table<half, table_index> p0[1];\n  const i64* p1;\n  float* p2;\n"));
  EXPECT_THAT(step_functions(spec), HasSubstr("f0_look_up(Table<half, table_index> x0, i64 x1)"));
  ArgumentBlock block(spec, layout, geometry, 4);
  const float element = 0;
  block.set_pointer(0, &element);
  block.set_size(0, 12);
  block.set_pointer(2, &spec);
  const auto* words = static_cast<const std::uintptr_t*>(block.data());
  EXPECT_EQ(words[0], reinterpret_cast<std::uintptr_t>(&element));
  EXPECT_EQ(words[1], 12u);
  EXPECT_EQ(words[3], reinterpret_cast<std::uintptr_t>(&spec));
  EXPECT_EQ(block.pointer(2), &spec);
}

TEST(Tables, ALongOneHasLongPlaces) {
  const KernelSpec spec = look_up();
  const Shape space{5}, table{std::int64_t{1} << 31};
  const Strides strides{1};
  const ArrayLayout arrays[] = {{&table, &strides}, {&space, &strides}, {&space, &strides}};
  const Layout layout = layout_of(geometry_of(spec, space, arrays), spec.input_count());
  EXPECT_TRUE(layout.wide);
  EXPECT_THAT(argument_struct(spec, layout), HasSubstr("typedef i64 table_index;\n"));
}

TEST(Tables, AreNoElementsOfTheSpace) {
  const KernelSpec spec = look_up();
  EXPECT_TRUE(spec.is_value(0)) << "a launch brings it by value";
  EXPECT_EQ(spec.element_bytes(0), 0);
  EXPECT_EQ(spec.element_bytes(1), 8);
  KernelSpec plain = spec;
  plain.tables.clear();
  EXPECT_THAT(argument_struct(plain, Layout{.rank = 1, .access = {Access::kDense, Access::kDense, Access::kDense}}), Not(HasSubstr("Table")));
}

}  // namespace
}  // namespace damo
