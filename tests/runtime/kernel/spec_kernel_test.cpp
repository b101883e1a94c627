#include "runtime/kernel/spec_kernel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace damo {
namespace {

KernelSpec doubling() {
  KernelSpec spec;
  spec.name = "double";
  spec.inputs = spec.outputs = {float32};
  Step step;
  step.name = "add";
  step.code = "x0 + x1";
  step.inputs = {0, 0};
  spec.steps = {step};
  spec.stores = {1};
  return spec;
}

const Layout kFlat{.access = {Access::kDense, Access::kDense}};
const Layout kRows{.rank = 2, .access = {Access::kRow, Access::kDense}};

TEST(SpecKernel, PrintsItsSpecInTheDialectOfItsDevice) {
  const SpecKernel kernel(doubling(), Device("null").backend());
  EXPECT_THAT(kernel.source(kFlat), ::testing::HasSubstr("f0_add(v0, v0)"));
}

TEST(SpecKernel, TakesATextWrittenByHandForItsDialectOnly) {
  KernelSpec spec = doubling();
  spec.overrides = {{"cuda", [](const Layout&) { return std::string("for a GPU"); }},
                    {"null", [](const Layout& layout) { return "by hand, " + to_string(layout); }}};
  const SpecKernel kernel(spec, Device("null").backend());
  EXPECT_EQ(kernel.source(kFlat), "by hand, " + to_string(kFlat));
  EXPECT_EQ(kernel.request(kFlat).source, kernel.source(kFlat));
}

TEST(SpecKernel, CountsElementsWhereAnInputIsTheirNumbers) {
  KernelSpec spec = doubling();
  spec.inputs = {float32, int64};
  spec.ordinals = {{}, 0b101};  // of three axes the first and the last
  const Shape space{5, 3, 1 << 30};
  const Strides strides = contiguous_strides(space);
  const ArrayLayout arrays[] = {{&space, &strides}, {&space, &strides}};
  const Geometry geometry = geometry_of(spec, space, arrays);
  EXPECT_EQ(geometry.extents, space);
  EXPECT_EQ(geometry.strides[0], strides);
  EXPECT_EQ(geometry.strides[1], (Strides{1 << 30, 0, 1}));
  EXPECT_TRUE(classify(geometry, 2).wide);  // 5 * 2^30 numbers do not fit 32 bits
  EXPECT_EQ(bytes_of(spec, geometry), std::size_t{2} * 15 * (std::size_t{1} << 30) * 4);
  const SpecKernel kernel(spec, Device("null").backend());
  EXPECT_THAT(kernel.source(kernel.layout_of(geometry)), ::testing::HasSubstr("f0_add"));
}

TEST(SpecKernel, CompilesALayoutOnceAndServesNarrowerOnesWithIt) {
  SpecKernel kernel(doubling(), Device("null").backend());
  const SpecKernel::Variant& rows = kernel.variant(kRows, 1 << 20);
  EXPECT_EQ(&kernel.variant(kRows, 1 << 20), &rows);
  EXPECT_EQ(&kernel.variant({.access = {Access::kDense, Access::kDense}}, 1 << 20), &rows);
  EXPECT_EQ(kernel.variants().size(), 1u);
  kernel.variant({.access = {Access::kScalar, Access::kDense}}, 1 << 20);
  EXPECT_EQ(kernel.variants().size(), 2u);
}

}  // namespace
}  // namespace damo
