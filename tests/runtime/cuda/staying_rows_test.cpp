// Which kernels' blocks stay, in what form, and what their texts do with arrays beside the rows that are read ahead. Values: tests/emulated_gpu/staying_rows_test.cpp.
#include "runtime/cuda/staying_rows.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/cuda/dialect.hpp"
#include "runtime/cuda/text_as_cuda_c.hpp"
#include "runtime/kernel/reducing_specs.hpp"

namespace damo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr Processors kStayingOn = {132, 8, 227 * 1024};

/// Rows with mean 0 and variance 1, times a weight and with a bias.
KernelSpec norm_spec(DType dtype, bool has_bias = true) {
  const Step scaled = has_bias ? map("x0 * rsqrt(x1 + T(0.01)) * x2 + x3", {4, 6, 1, 2}) : map("x0 * rsqrt(x1 + T(0.01)) * x2", {3, 5, 1});
  const int first = has_bias ? 3 : 2;
  KernelSpec spec = damo::spec_of("layer_norm", {join("0", "a + b", 0, "a / T(n)"), map("x0 - x1", {0, first}), map("x0 * x0", {first + 1}), join("0", "a + b", first + 2, "a / T(n)"), scaled}, {first + 4}, first);
  for (DType& each : spec.inputs) each = dtype;
  for (DType& each : spec.outputs) each = dtype;
  return spec;
}

/// Of rows along the last axes of the shape, with weights of this shape.
struct StayingNorm {
  KernelSpec spec;
  Layout layout;
};
StayingNorm norm_of(DType dtype, const Shape& shape, const Shape& weights, std::uint32_t reduced, bool has_bias = true, const Processors& processors = kStayingOn) {
  StayingNorm norm{norm_spec(dtype, has_bias), {}};
  const Strides dense = contiguous_strides(shape), of_weights = contiguous_strides(weights);
  std::vector<ArrayLayout> arrays(static_cast<std::size_t>(norm.spec.parameter_count()), {&shape, &dense});
  for (int i = 1; i < norm.spec.input_count(); ++i) arrays[static_cast<std::size_t>(i)] = {&weights, &of_weights};
  norm.layout = cuda_layout(norm.spec, Geometry(shape, arrays, reduced), processors);
  return norm;
}

using Form = std::vector<int>;  // lanes, vectors of a thread, cluster, rows ahead
Form form(const StayingNorm& norm) { return {norm.layout.lanes, norm.layout.items, norm.layout.cluster, norm.layout.ahead}; }
Form of_layer(DType dtype, std::int64_t length, bool has_bias = true) { return form(norm_of(dtype, {(1 << 27) / length, length}, {1, length}, 2, has_bias)); }

TEST(StayingRows, KeepWhatAllRowsShareInSharedMemoryWhereNoCacheDoes) {
  EXPECT_EQ(of_layer(float32, 32768), (Form{512, 8, 2, 1})) << "weights and bias are 256 KB, of which each block has half";
  EXPECT_EQ(of_layer(float32, 98304), (Form{512, 6, 8, 2}));
  EXPECT_EQ(of_layer(bfloat16, 32768), (Form{512, 8, 1, 1})) << "128 KB, and a row of 64";
  EXPECT_EQ(of_layer(bfloat16, 98304), (Form{1024, 3, 4, 2})) << "without a gap";
  EXPECT_EQ(of_layer(bfloat16, 98304 - 8), (Form{512, 6, 4, 2}));
  EXPECT_EQ(of_layer(float32, 20480)[3], 0) << "160 KB, beside blocks of which two are resident";
  EXPECT_EQ(of_layer(float32, 32768, false)[3], 0) << "128 KB";
  EXPECT_EQ(of_layer(bfloat16, 49152, false)[3], 0) << "96 KB";
  EXPECT_EQ(of_layer(float32, 65521)[3], 0) << "a part of what rows share lies otherwise in each row that begins anywhere";
  const StayingNorm norm = norm_of(bfloat16, {4096, 32768}, {1, 32768}, 2);
  EXPECT_EQ(arrays_ahead(norm.spec, norm.layout), (std::vector<int>{0}));
  EXPECT_EQ(arrays_shared(norm.spec, norm.layout), (std::vector<int>{1, 2}));
  EXPECT_EQ(shared_bytes_of_rows(norm.spec, norm.layout), 2u * 2 * 32768);
  const std::string text = cuda_dialect().emit(norm.spec, norm.layout);
  EXPECT_THAT(text, HasSubstr("x2[u] = load_words<8>(reinterpret_cast<const bfloat16*>(held + 131072 + (u * 512 + lane) * 16));"));
  Layout elsewhere = norm.layout;
  elsewhere.aligned = false;
  EXPECT_THAT(cuda_dialect().emit(norm.spec, elsewhere), Not(HasSubstr("held + 131072"))) << "what is not aligned is read where it lies";
}

TEST(StayingRows, MayHaveSeveralAxesAndSteadyArraysBeside) {
  const auto of_groups = [](DType dtype, std::int64_t channels, std::int64_t places) {
    const std::int64_t rows = (1 << 27) / (channels * places);
    return norm_of(dtype, {rows / 32, 32, channels, places}, {32, channels, 1}, 12);
  };
  EXPECT_EQ(form(of_groups(float32, 8, 16384)), (Form{1024, 8, 4, 1}));
  EXPECT_EQ(form(of_groups(bfloat16, 8, 16384)), (Form{1024, 4, 4, 2}));
  EXPECT_EQ(form(of_groups(float32, 8, 128))[3], 0) << "a block holds them";
  EXPECT_EQ(form(of_groups(float32, 4096, 32))[3], 0) << "weights are too many to be read where they lie";
  EXPECT_EQ(form(of_groups(float32, 9, 14563))[3], 0) << "elements of odd stretches would be asked for one by one";
  const StayingNorm norm = of_groups(float32, 8, 16384);
  const std::string text = cuda_dialect().emit(norm.spec, norm.layout);
  EXPECT_THAT(text, HasSubstr("b0 + u * 16384"));
  EXPECT_THAT(text, Not(HasSubstr(" + along0(a, at)"))) << "a row is one stretch of memory";
  EXPECT_THAT(text, HasSubstr("x1[u] = *(r1 + along1(a, at));"));
}

TEST(StayingRows, AreLeftToBlocksThatHoldARowEachWhereAnArrayLiesOtherwise) {
  const Shape shape = {32, 32, 8, 16384}, part = {32, 1, 8, 16384};
  const Strides dense = contiguous_strides(shape), turned = {32 * 131072, 131072, 1, 8};
  const KernelSpec spec = norm_spec(float32);
  const auto ahead = [&](const ArrayLayout& weights) {
    const ArrayLayout whole = {&shape, &dense};
    const std::vector<ArrayLayout> arrays = {whole, weights, weights, whole};
    return cuda_layout(spec, Geometry(shape, arrays, 12), kStayingOn).ahead;
  };
  const Strides of_part = contiguous_strides(part);
  EXPECT_EQ(ahead({&shape, &turned}), 0);
  EXPECT_EQ(ahead({&part, &of_part}), 0) << "three arrays along a row, of which images' groups share two";
}

/// Lanes, vectors of a thread, cluster, rows ahead; arrays that rows share, and joins across rows, in shared memory.
std::vector<int> form_across(KernelSpec spec, DType dtype, std::int64_t length, std::int64_t count = 5000) {
  for (DType& each : spec.inputs) each = dtype;
  for (DType& each : spec.outputs) each = dtype;
  const Shape shape = {count, length}, column = {1, length};
  const Strides dense = contiguous_strides(shape), of_column = contiguous_strides(column);
  const ArrayLayout whole = {&shape, &dense}, shared = {&column, &of_column};
  std::vector<ArrayLayout> arrays = {whole, whole, shared, whole};
  while (static_cast<int>(arrays.size()) < spec.parameter_count()) arrays.push_back(shared);
  const Layout layout = cuda_layout(spec, Geometry(shape, arrays, 2), kStayingOn);
  return {layout.lanes, layout.items, layout.cluster, layout.ahead, static_cast<int>(arrays_shared(spec, layout).size()), static_cast<int>(joins_shared(spec, layout).size())};
}

TEST(StayingRows, JoinAcrossWhereRegistersAndSharedMemoryHoldARowTogether) {
  const KernelSpec layer = layer_norm_gradients(), rms = rms_norm_gradients();
  using Across = std::vector<int>;
  EXPECT_EQ(form_across(layer, float32, 8192), (Across{512, 4, 1, 1, 0, 0})) << "80 registers of a thread's 128, with the weights";
  EXPECT_EQ(form_across(layer, float32, 10240), (Across{512, 5, 1, 1, 1, 0})) << "90 with the sums of a vector and of all places, but for the weights";
  EXPECT_EQ(form_across(layer, float32, 12288), (Across{512, 3, 2, 1, 0, 0})) << "two blocks hold all of it in registers, evenly";
  EXPECT_EQ(form_across(layer, float32, 14336), (Across{512, 7, 1, 1, 1, 1})) << "a row of two arrays, weights and one join across rows: 224 KB";
  EXPECT_EQ(form_across(layer, float32, 16384), (Across{512, 4, 2, 1, 0, 0})) << "and so 256";
  EXPECT_EQ(form_across(layer, float32, 24576), (Across{512, 6, 2, 1, 1, 1}));
  EXPECT_EQ(form_across(layer, float32, 65536), (Across{512, 4, 8, 1, 0, 0}));
  EXPECT_EQ(form_across(layer, bfloat16, 12288), (Across{512, 3, 1, 1, 1, 0})) << "two blocks would have 1.5 vectors a thread";
  EXPECT_EQ(form_across(layer, bfloat16, 16384), (Across{512, 2, 2, 1, 0, 0}));
  EXPECT_EQ(form_across(layer, bfloat16, 65536), (Across{512, 4, 4, 1, 1, 1}));
  EXPECT_EQ(form_across(rms, float32, 12288), (Across{512, 3, 2, 1, 0, 0}));
  EXPECT_EQ(form_across(rms, float32, 14336), (Across{512, 7, 1, 1, 1, 0})) << "84 registers, and 4 of sums";
  EXPECT_EQ(form_across(layer, float32, 10240, 131)[3], 0) << "fewer rows than blocks";
  EXPECT_EQ(form_across(layer, float32, 24576, 66)[3], 1) << "as many as clusters";
  EXPECT_EQ(form_across(layer, float32, 24576, 65)[3], 0);
  EXPECT_EQ(form_across(layer, float32, 131072)[3], 0) << "more than eight blocks hold";
}

TEST(StayingRows, OfTwoShortArraysHaveBlocksOfManyRegistersAndOfWordsAreHeld) {
  const KernelSpec gradient = damo::spec_of("softmax_gradient", {max_of(0), map("exp(x0 - x1)", {0, 2}), sum_of(3), map("x0 / x1", {3, 4}), map("x0 * x1", {1, 5}), sum_of(6), map("(x0 - x1) * x2", {1, 7, 5})}, {8}, 2);
  const KernelSpec of_sum = damo::spec_of("softmax_of_sum", {map("x0 + x1", {0, 1}), max_of(2), map("exp(x0 - x1)", {2, 3}), sum_of(4), map("x0 / x1", {4, 5})}, {6}, 2);
  const auto form_of = [&](KernelSpec typed, DType dtype, std::int64_t length, std::int64_t count = 5000) {
    for (DType& each : typed.inputs) each = dtype;
    for (DType& each : typed.outputs) each = dtype;
    const Shape shape = {count, length};
    const Strides dense = contiguous_strides(shape);
    const std::vector<ArrayLayout> arrays(3, {&shape, &dense});
    const Layout layout = cuda_layout(typed, Geometry(shape, arrays, 2), kStayingOn);
    return Form{layout.lanes, layout.items, layout.cluster, layout.ahead, layout.residents};
  };
  EXPECT_EQ(form_of(gradient, float32, 12288), (Form{256, 12, 1, 0, 2}));
  EXPECT_EQ(form_of(gradient, float32, 16384), (Form{512, 8, 1, 0, 1}));
  EXPECT_EQ(form_of(gradient, float32, 32768), (Form{512, 8, 2, 1, 1}));
  EXPECT_EQ(form_of(gradient, float32, 98304), (Form{512, 6, 8, 2, 1}));
  EXPECT_EQ(form_of(gradient, bfloat16, 4096)[3], 0);
  EXPECT_EQ(form_of(gradient, bfloat16, 8192), (Form{512, 2, 1, 2, 2}));
  EXPECT_EQ(form_of(gradient, bfloat16, 8192, 2000)[3], 0) << "fewer than eight rows of each block";
  EXPECT_EQ(form_of(gradient, bfloat16, 12288), (Form{256, 6, 1, 0, 2})) << "fewer threads, of more registers";
  EXPECT_EQ(form_of(gradient, bfloat16, 16384), (Form{512, 4, 1, 2, 1}));
  EXPECT_EQ(form_of(gradient, float16, 24576), (Form{512, 6, 1, 2, 1}));
  EXPECT_EQ(form_of(gradient, bfloat16, 32768), (Form{512, 8, 1, 1, 1})) << "128 registers' worth, of which pairs share some";
  EXPECT_EQ(form_of(gradient, bfloat16, 49152), (Form{512, 6, 2, 2, 1}));
  EXPECT_EQ(form_of(of_sum, bfloat16, 16384), (Form{512, 4, 1, 0, 1})) << "whose threads meet twice";
}

}  // namespace
}  // namespace damo
