// The CUDA texts of reductions, scans and snippet kernels under NVRTC: each layout compiles, without a warning.
#include <gmock/gmock.h>

#include "ops/eager/elementwise_text.hpp"
#include "ops/eager/reduction_text.hpp"
#include "ops/eager/snippet.hpp"
#include "runtime/cuda/cuda_backend.hpp"
#include "runtime/cuda/dialect.hpp"
#include "runtime/cuda/nvrtc.hpp"

namespace damo {
namespace {

std::string log_of(std::string source, SourceKind kind, std::vector<std::string> kernels) {
  const cuda_backend::NvrtcCompiler compiler(90);
  CompileRequest request{std::move(source), kind, "generated"};
  request.kernels = std::move(kernels);
  try {
    return compiler.compile(request).log;
  } catch (const CompileError& error) {
    return error.log() + error.what();
  }
}

SourceText text(const char* text) { return SourceText(text, nullptr, 0); }

ReductionDefinition inner_product() {
  ReductionDefinition definition;
  definition.name = "inner";
  definition.parameters = parse_parameters("const half* x, float s, const float* y");
  definition.accumulator = "float";
  definition.accumulator_bytes = 4;
  definition.neutral = text("0");
  definition.reduce = text("a + b");
  definition.map = text("(float)x[i] * y[i] * s + (float)r");
  definition.result = float16;
  return definition;
}

TEST(EagerNvrtc, CompilesReductionsOfEveryLayout) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  const ReductionDefinition definition = inner_product();
  for (const ReductionForm form : {ReductionForm::kRows, ReductionForm::kColumns}) {
    for (const bool finishes : {false, true}) {
      ReductionLayout layout;
      layout.gpu = true;
      layout.form = form;
      layout.lanes = form == ReductionForm::kRows ? 32 : 8;
      layout.kept_rank = 1;
      layout.reduced_rank = finishes ? 2 : 1;
      layout.with_index = true;
      layout.wide = finishes;
      layout.finishes = finishes;
      layout.plain = {false, finishes};
      layout.unit = {true, false, true};
      std::vector<std::string> kernels = {main_kernel(definition)};
      if (!finishes) kernels.push_back(finish_kernel(definition));
      EXPECT_EQ(log_of(reduction_text(definition, layout), SourceKind::kCudaC, kernels), "");
    }
  }
}

TEST(EagerNvrtc, CompilesElementwiseSnippets) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  const ElementwiseSnippet snippet{
      "axpy", parse_parameters("float a, const float* x, const __nv_bfloat16* y, float* z"),
      text("z[i] = a * x[i] + (float)y[i]"), text("__device__ float helper(float v) { return v; }")};
  EXPECT_EQ(log_of(elementwise_text(snippet, {.rank = 0, .dense = {true, true, true}}), SourceKind::kCudaC, {"axpy"}),
            "");
  EXPECT_EQ(log_of(elementwise_text(snippet, {.rank = 3, .wide = true, .dense = {false, true, false}}),
                   SourceKind::kCudaC, {"axpy"}),
            "");
}

TEST(EagerNvrtc, CompilesRowsWithNumbersByValue) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  KernelSpec spec;
  spec.name = "scaled";
  spec.inputs = {float16, float32, bool_};
  spec.values = {true, false, true};
  spec.steps = {{.name = "scaled", .code = "x2 ? x0 * x1 : x1", .inputs = {0, 1, 2}}};
  spec.stores = {3};
  spec.outputs = {float32};
  for (const Access access : {Access::kDense, Access::kStrided, Access::kTransposed}) {
    Layout layout;
    layout.rank = access == Access::kDense ? 1 : 2;
    layout.tile_axis = access == Access::kTransposed ? 0 : -1;
    layout.access = {Access::kValue, access, Access::kValue, Access::kDense};
    EXPECT_EQ(log_of(cuda_dialect().emit(spec, layout), SourceKind::kGenerated, {entry_name(spec)}), "");
  }
}

}  // namespace
}  // namespace damo
