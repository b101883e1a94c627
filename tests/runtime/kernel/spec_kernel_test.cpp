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
