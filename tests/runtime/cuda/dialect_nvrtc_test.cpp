// What the CUDA dialect prints is what NVRTC takes: every kind of dtype, every schedule.
#include <gtest/gtest.h>

#include <damo/error.hpp>

#include "runtime/cuda/cuda_backend.hpp"
#include "runtime/cuda/dialect.hpp"
#include "runtime/cuda/nvrtc.hpp"
#include "runtime/kernel/taken.hpp"

namespace damo::cuda_backend {
namespace {

/// y0 = wrap_mul(x0, x1) of integers, tanh(x0) * x1 of floats: prelude and CUDA's own names meet.
KernelSpec product(DType dtype) {
  const DType compute = is_narrow(dtype) ? float32 : dtype;
  const char* code = dtype == bool_ ? "x0 && x1" : is_floating(dtype) ? "tanh(x0) * x1" : "wrap_mul(x0, x1)";
  KernelSpec spec;
  spec.name = "product";
  spec.inputs = {dtype, dtype};
  spec.outputs = {dtype};
  Step step;
  step.name = "product";
  step.code = code;
  step.compute = compute;
  step.result = dtype;
  step.inputs = {0, 1};
  spec.steps = {step};
  spec.stores = {2};
  return spec;
}

const Layout kLayouts[] = {
    {.rank = 1, .access = {Access::kDense, Access::kDense, Access::kDense}},
    {.rank = 1, .access = {Access::kDense, Access::kScalar, Access::kDense}},
    {.rank = 2, .access = {Access::kRow, Access::kRepeat, Access::kDense}},
    {.rank = 3, .access = {Access::kStrided, Access::kRow, Access::kStrided}},
    {.rank = 3, .wide = true, .access = {Access::kStrided, Access::kRow, Access::kDense}},
    {.rank = 2, .access = {Access::kRow, Access::kDense, Access::kDense}, .taken = {0}},
    {.rank = 3, .wide = true, .access = {Access::kRow, Access::kRow, Access::kStrided}, .taken = {0, 1}},
    {.rank = 2, .tile_axis = 0, .access = {Access::kTransposed, Access::kDense, Access::kDense}},
};

TEST(CudaDialect, PrintsWhatNvrtcCompiles) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  const NvrtcCompiler compiler(90);
  for (const DType dtype : {bool_, int8, uint64, float8_e4m3, float8_e5m2, float16, bfloat16, float32, float64}) {
    KernelSpec spec = product(dtype);
    spec.guarded = {is_floating(dtype)};
    for (const Layout& layout : kLayouts) {
      const std::string text = cuda_dialect().emit(spec, cuda_dialect().adapt(spec, layout));
      try {
        EXPECT_EQ(compiler.compile({text, SourceKind::kGenerated, "product.cu"}).log, "") << text;
      } catch (const CompileError& error) {
        ADD_FAILURE() << name(dtype) << " " << to_string(layout) << "\n" << error.what();
      }
    }
  }
}

/// Rows of a norm, of a table of so many columns: in each way that blocks share or hold them.
TEST(CudaDialect, PrintsRowsAtPositionsThatNvrtcCompiles) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  const NvrtcCompiler compiler(90);
  for (const DType dtype : {float16, float32}) {
    KernelSpec spec = product(dtype);
    spec.inputs = {dtype};
    Step greatest = spec.steps[0];
    greatest.code = "x0";
    greatest.inputs = {0};
    greatest.join = Join{.neutral = "T(-1e30)", .reduce = "a > b ? a : b"};
    spec.steps = {greatest, spec.steps[0]};
    spec.steps[1].inputs = {0, 1};
    for (const std::int64_t length : {32, 67, 768, 4096, 12288, 50257}) {
      const Shape space{40000, length};
      const Strides slices{0, 1}, dense = contiguous_strides(space);
      const TakenLayout taken{.shape = {40000, 1}, .strides = {1, 0}, .apart = length, .extent = 100};
      const ArrayLayout arrays[] = {{&space, &slices, &taken}, {&space, &dense}};
      const Geometry geometry(space, arrays, 0b10);
      const Layout layout = cuda_dialect().share_rows(spec, classify_reducing(geometry), geometry, {132, 8, 227 * 1024});
      EXPECT_TRUE(follows_positions(spec, layout, geometry)) << to_string(layout);
      try {
        EXPECT_EQ(compiler.compile({cuda_dialect().emit(spec, layout), SourceKind::kGenerated, "rows.cu"}).log, "");
      } catch (const CompileError& error) {
        ADD_FAILURE() << name(dtype) << " " << to_string(layout) << "\n" << error.what();
      }
    }
  }
}

}  // namespace
}  // namespace damo::cuda_backend
