// What the texts of kernels that reduce ask of vectors, and where they take rows apart. Values: reducing_text_test.cpp, and tests/emulated_gpu on clusters.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/cuda/dialect.hpp"
#include "runtime/cuda/text_as_cuda_c.hpp"
#include "runtime/kernel/reducing_specs.hpp"

namespace damo {
namespace {

TEST(CudaReducingLoads, AsksForEachVectorOfATilesClusterWhetherItIsThere) {
  const KernelSpec spec = softmax_in_steps();
  const Shape space{50257, 2};
  const Strides strides = contiguous_strides(space);
  const std::vector<ArrayLayout> arrays(2, ArrayLayout{&space, &strides});
  Layout layout = cuda_layout(spec, Geometry(space, arrays, 1));
  layout.beside = 1, layout.lanes = 512, layout.items = 13, layout.vector = 2, layout.cluster = 8, layout.whole = true, layout.ends = Ends::kVectors;
  const std::string text = cuda_dialect().emit(spec, layout);
  EXPECT_THAT(text, ::testing::HasSubstr("__cluster_dims__(8, 1, 1)"));
  EXPECT_THAT(text, ::testing::HasSubstr("at < end"));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("u < 12 ||")));
}

TEST(CudaReducingLoads, TakesRowsThatStayApartWhereLinesOfTheCacheBegin) {
  const auto text = [](const Shape& shape) {
    const Strides dense = contiguous_strides(shape);
    const ArrayLayout arrays[] = {{&shape, &dense}, {&shape, &dense}};
    const KernelSpec spec = softmax_in_steps();
    return cuda_dialect().emit(spec, cuda_layout(spec, Geometry(shape, arrays, 2), {132, 8, 227 * 1024}));
  };
  EXPECT_THAT(text({2670, 70001}), ::testing::AllOf(::testing::HasSubstr("const u32 shift = (u32(reinterpret_cast<u64>(r0) / sizeof(float)) + u32(begin)) & 31u;"), ::testing::HasSubstr("& 3u) == (shift & 3u);")));
  EXPECT_THAT(text({20000, 5001}), ::testing::AllOf(::testing::HasSubstr("const u32 shift = (u32(reinterpret_cast<u64>(r0) / sizeof(float)) + u32(begin)) & 3u;"), ::testing::HasSubstr("const bool inner0 = whole0 && a.length > 0 && i64(c0) * a.k0[0] >= i64(shift) && (a.kept[0] - 1 - c0) * a.k0[0] >= 3;")));
}

/// A group norm's weights, of which a channel has one.
std::string text_of_groups(DType dtype, std::int64_t channels, std::int64_t places) {
  KernelSpec spec = damo::spec_of("normed", {sum_of(0), map("(x0 - x1) * x2", {0, 2, 1})}, {3}, 2);
  spec.inputs = {dtype, dtype}, spec.outputs = {dtype};
  const Shape shape = {4096, 32, channels, places}, weights = {32, channels, 1};
  const Strides dense = contiguous_strides(shape), of_weights = contiguous_strides(weights);
  const ArrayLayout arrays[] = {{&shape, &dense}, {&weights, &of_weights}, {&shape, &dense}};
  return cuda_dialect().emit(spec, cuda_layout(spec, Geometry(shape, arrays, 12), {132, 8, 227 * 1024}));
}

TEST(CudaReducingLoads, ReadsOnceAVectorWhatRepeatsAlongTheInnermostAxis) {
  const std::string text = text_of_groups(float32, 8, 128);
  EXPECT_THAT(text, ::testing::HasSubstr("x1[u] = *(r1 + along1(a, at));"));
  EXPECT_THAT(text, ::testing::HasSubstr("const float v1 = float(x1[u]);"));
  EXPECT_THAT(text, ::testing::HasSubstr("  const place q1 = place(divide(u32(p), a.reduced_magic[1], a.reduced_shift[1]));\n  p = q1;\n  return p * place(a.r1[0]);")) << "its place along that axis is none";
  EXPECT_LT(text.find("x1[u] = "), text.find("Joined2 j2")) << "before the join, so that it has come behind it";
  EXPECT_LT(text.find("x0[u] = "), text.find("x1[u] = ")) << "but behind the row";
}

TEST(CudaReducingLoads, ReadsLateWhatRegistersHaveNoRoomFor) {
  const std::string text = text_of_groups(float32, 8, 2560);  // 512 lanes of 40 elements, two blocks resident
  EXPECT_THAT(text, ::testing::HasSubstr("__launch_bounds__(512, 2)"));
  EXPECT_GT(text.find("x1[u] = "), text.find("Joined2 j2"));
}

TEST(CudaReducingLoads, FindsRowsOfSeveralAxesThatAreOneStretchByTheirBeginning) {
  const std::string text = text_of_groups(bfloat16, 8, 128);
  EXPECT_THAT(text, ::testing::HasSubstr("x0[u] = load<8>(b0 + u * "));
  EXPECT_THAT(text, ::testing::HasSubstr("store<8>(b2 + u * "));
}

}  // namespace
}  // namespace damo
