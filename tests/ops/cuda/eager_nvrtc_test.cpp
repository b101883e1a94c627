// The CUDA texts of kernels of snippets under NVRTC: each layout compiles, without a warning.
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "ops/eager/elementwise_text.hpp"
#include "ops/eager/join_spec.hpp"
#include "ops/eager/snippet.hpp"
#include "ops/reductions.hpp"
#include "runtime/cuda/cuda_backend.hpp"
#include "runtime/cuda/dialect.hpp"
#include "runtime/cuda/nvrtc.hpp"
#include "runtime/kernel/spec_kernel.hpp"

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

struct UsersReduction {
  JoinDefinition definition;
  Shape of_second;  ///< of the second array; of the first it is the space's
};

/// Halves beside a broadcast array, places and numbers; elements read by their address; a large accumulator that must
/// be constructed.
std::vector<UsersReduction> users_reductions(const Shape& space) {
  const Shape row = {space[0], 1};
  return {{{.dtype_out = float16,
            .neutral = text("0"),
            .reduce = text("a + b"),
            .map = text("(float)x[i] * y[i] * s + (float)r + (float)(i % 3)"),
            .arguments = "const half* x, const float* y, float s"},
           row},
          {{.dtype_out = bfloat16,
            .neutral = text("0"),
            .reduce = text("a + b"),
            .map = text("(float)x[i] * (float)y[(i + 1) % 7]"),
            .arguments = "const __nv_bfloat16* x, const half* y"},
           space},
          {{.dtype_out = float64,
            .neutral = text("Moments()"),
            .reduce = text("joined(a, b)"),
            .map = text("Moments(x[i], y[i])"),
            .arguments = "const double* x, const unsigned char* y",
            .preamble = text("struct alignas(16) Moments { double v[8] = {}; Moments() = default; __device__ "
                             "Moments(double x, double y) { v[0] = x; v[7] = y; } };\n"
                             "__device__ Moments joined(Moments a, Moments b) { for (int k = 0; k < 8; ++k) a.v[k] += "
                             "b.v[k]; return a; }"),
            .post = text("a.v[0] / a.v[7] + n"),
            .accumulator = "Moments"},
           space}};
}

TEST(EagerNvrtc, CompilesReductionsOfEveryForm) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  for (const auto& [space, mask] :
       {std::pair(Shape{2, 70001}, 2u), {Shape{600, 33}, 2u}, {Shape{3000, 64}, 1u}, {Shape{3, 20000}, 3u}}) {
    for (UsersReduction& one : users_reductions(space)) {
      const JoinSpec made = join_spec(std::move(one.definition));
      const Shape number = {}, shapes[] = {space, one.of_second}, kept = reduced_shape(space, mask, true);
      const Strides strides[] = {contiguous_strides(shapes[0]), contiguous_strides(shapes[1])},
                    of_kept = contiguous_strides(kept);
      std::vector<ArrayLayout> layouts;
      for (std::size_t k = 0; k < made.parameters.size(); ++k) {
        if (made.spec.values[k])
          layouts.push_back({&number, &number});
        else
          layouts.push_back({&shapes[k], &strides[k]});
      }
      layouts.push_back({&kept, &of_kept});
      const Geometry geometry = geometry_of(made.spec, space, layouts, mask);
      Layout layout = classify_reducing(geometry);
      for (std::size_t i = 0; i < made.spec.values.size(); ++i) {
        if (made.spec.values[i]) layout.access[i] = Access::kValue;
      }
      layout = cuda_dialect().share_rows(made.spec, layout, geometry, {132, 1});
      EXPECT_EQ(log_of(cuda_dialect().emit(made.spec, layout), SourceKind::kCudaC, entry_names(made.spec, layout)), "")
          << to_string(layout);
    }
  }
}

TEST(EagerNvrtc, CompilesElementwiseSnippets) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  const ElementwiseSnippet snippet{
      "axpy", parse_parameters("float a, const float* x, const __nv_bfloat16* y, float* z"),
      text("z[i] = a * x[i] + (float)y[i]"), text("__device__ float helper(float v) { return v; }")};
  EXPECT_EQ(log_of(elementwise_text(snippet, {.rank = 0, .dense = {true, true, true}}), SourceKind::kCudaC, {"damo_axpy"}),
            "");
  EXPECT_EQ(log_of(elementwise_text(snippet, {.rank = 3, .wide = true, .dense = {false, true, false}}),
                   SourceKind::kCudaC, {"damo_axpy"}),
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
