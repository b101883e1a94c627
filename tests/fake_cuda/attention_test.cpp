// Where attention is kernels of its own, and that they compile, on the tests' own driver.
#include <damo/damo.hpp>

#include <gmock/gmock.h>

#include "ops/attention/attention_kernels.hpp"
#include "ops/attention/attention_op.hpp"
#include "runtime/cuda/cuda_backend.hpp"
#include "runtime/cuda/nvrtc.hpp"

namespace damo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string explained(const Options& options) {
  const auto tensor = [&](const char* name) { return input({bfloat16, {2, 4, kUnknown, 16}}, name); };
  const Variable q = tensor("q"), k = tensor("k"), v = tensor("v"), z = nn::attention(q, k, v, {.causal = true});
  const std::vector<Variable> by = lop({z}, {z}, {q, k, v});
  return function(std::vector<Variable>{q, k, v}, std::vector<Variable>{z, by[0], by[1], by[2]}, options).explain();
}

TEST(AttentionNvrtc, IsKernelsOfItsOwnUnlessThePassIsOff) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  const std::string text = explained({.device = Device("cuda:0")});
  EXPECT_THAT(text, HasSubstr("attention{causal=true, scale=0.25}"));
  EXPECT_THAT(text, HasSubstr("attention_gradient{causal=true, scale=0.25}"));
  EXPECT_THAT(text, Not(HasSubstr("matmul")));
  for (const Options& options : {Options{.disable = {"attention_kernels"}, .device = Device("null")}, Options{.fuse = false, .device = Device("null")}, Options{.device = Device("null")}}) {
    EXPECT_THAT(explained(options), Not(HasSubstr("attention_gradient{")));
    EXPECT_THAT(explained(options), HasSubstr("matmul"));
  }
}

TEST(AttentionNvrtc, AsksForHalfTypesWhoseShapesAreKnownToFit) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  const auto takes = [](const TensorType& query, const TensorType& key, const TensorType* mask = nullptr, double scale = 1) {
    return has_attention_kernel({.scale = scale}, query, key, key, mask, Device("cuda:0"));
  };
  const auto type = [](DType dtype, std::int64_t features, std::int64_t batch = 2) { return TensorType{dtype, {batch, 4, kUnknown, features}}; };
  const TensorType seen{bool_, {1, kUnknown}}, weights{float32, {1, kUnknown}};
  EXPECT_TRUE(takes(type(float16, 64), type(float16, 64)));
  EXPECT_TRUE(takes(type(bfloat16, 128), type(bfloat16, 128), &seen));
  EXPECT_TRUE(takes({bfloat16, {4, 9, 80}}, {bfloat16, {2, 7, 80}})) << "no batch, grouped heads";
  EXPECT_FALSE(takes(type(float32, 64), type(float32, 64)));
  EXPECT_FALSE(takes(type(bfloat16, 64), type(float16, 64)));
  EXPECT_FALSE(takes(type(bfloat16, 24), type(bfloat16, 24)));
  EXPECT_FALSE(takes(type(bfloat16, 144), type(bfloat16, 144)));
  EXPECT_FALSE(takes(type(bfloat16, kUnknown), type(bfloat16, kUnknown)));
  EXPECT_FALSE(takes(type(bfloat16, 64), type(bfloat16, 64, 1))) << "one batch of keys for all queries";
  EXPECT_FALSE(takes(type(bfloat16, 64), type(bfloat16, 64), &weights));
  EXPECT_FALSE(takes(type(bfloat16, 64), type(bfloat16, 64), nullptr, -1));
  EXPECT_FALSE(has_attention_kernel({}, type(bfloat16, 64), type(bfloat16, 64), type(bfloat16, 64), nullptr, Device("null")));
}

// Queries, keys and values are of one product, as in most transformers.
TEST(AttentionNvrtc, WritesGradientsOfOneArraySideBySide) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  const auto text = [](const Shape& dims, std::int64_t keys) {
    const Variable all = input({bfloat16, dims}, "all"), other = input({bfloat16, {4, keys, 16}}, "other");
    const auto part = [&](int i) { return swap_axes(dims.rank() == 5 ? subtensor(all, {{}, {}, i}) : subtensor(all, {{}, i}), -2, -3); };
    const Variable z = nn::attention(part(0), keys > 0 ? other : part(1), part(2), {.causal = true});
    return function(std::vector<Variable>{all, other}, lop({z}, {z}, {all}), {.device = Device("cuda:0"), .allow_unused_inputs = true}).explain();
  };
  for (const Shape& dims : {Shape{2, 9, 3, 4, 16}, Shape{9, 3, 4, 16}}) {
    EXPECT_THAT(text(dims, 0), AllOf(HasSubstr("side_by_side=true"), Not(HasSubstr("concatenate")))) << to_string(dims);
  }
  EXPECT_THAT(text({9, 3, 4, 16}, 9), AllOf(HasSubstr("attention_gradient{"), Not(HasSubstr("side_by_side")))) << "keys from elsewhere";
}

// On a device that is not sm_90 nothing else compiles them.
TEST(AttentionNvrtc, CompilesTheKernelsOfWarpgroups) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  const cuda_backend::NvrtcCompiler compiler(90);
  const AttentionVariant narrow{.features = 64, .dtype = bfloat16, .causal = true, .warpgroups = true}, wide{.features = 128, .dtype = float16, .causal = true, .masked = true, .warpgroups = true};
  for (const AttentionKernel& kernel : {attention_forward(narrow), attention_by_query(narrow), attention_by_key(wide)}) {
    ASSERT_EQ(kernel.flags, std::vector<std::string>{"-arch=sm_90a"});
    EXPECT_LE(kernel.shared_bytes, 227u * 1024);
    const CompiledCode code = compiler.compile({.source = *kernel.source, .kind = SourceKind::kCudaC, .kernels = {kernel.name}, .flags = kernel.flags});
    EXPECT_FALSE(code.bytes.empty());
    EXPECT_EQ(code.log, "") << kernel.name;  // products that wait for registers would be named here
  }
}

}  // namespace
}  // namespace damo
