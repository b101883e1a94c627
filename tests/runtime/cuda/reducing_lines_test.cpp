// Single lines of the texts of kernels that reduce: how quotients are made, what joins across rows hold. Those that read: reducing_loads_test.cpp.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/cuda/dialect.hpp"
#include "runtime/cuda/text_as_cuda_c.hpp"
#include "runtime/kernel/reducing_specs.hpp"

namespace damo {
namespace {

TEST(CudaReducingLines, CorrectsAQuotientOfSixteenBitsOnceWhereAnotherStepReadsIt) {
  const auto text = [](DType dtype) {
    KernelSpec spec = softmax_in_steps();
    spec.inputs = spec.outputs = {dtype};
    for (Step& step : spec.steps) step.compute = step.result = dtype;
    const int quotient = spec.stores[0];
    Step next = map("x0 * T(2)", {quotient});
    next.compute = next.result = dtype;
    spec.steps.push_back(next);
    spec.stores = {quotient + 1};
    const Shape shape = {5000, 1000};
    const Strides dense = contiguous_strides(shape);
    const ArrayLayout arrays[] = {{&shape, &dense}, {&shape, &dense}};
    return cuda_dialect().emit(spec, cuda_layout(spec, Geometry(shape, arrays, 2), {132, 8, 227 * 1024}));
  };
  EXPECT_THAT(text(bfloat16), ::testing::HasSubstr("divide_once(v3, d4)"));
  EXPECT_THAT(text(float16), ::testing::HasSubstr("divide_once(v3, d4)"));
  EXPECT_THAT(text(float32), ::testing::HasSubstr("divide(v3, d4)"));
}

TEST(CudaReducingLines, DividesSixteenBitRowsByOneReciprocal) {
  for (DType dtype : {float16, bfloat16}) {
    KernelSpec spec = softmax_in_steps();
    spec.inputs = spec.outputs = {dtype};
    for (Step& step : spec.steps) step.compute = step.result = dtype;
    const Shape shape = {5000, 1000};
    const Strides dense = contiguous_strides(shape);
    const ArrayLayout arrays[] = {{&shape, &dense}, {&shape, &dense}};
    EXPECT_THAT(cuda_dialect().emit(spec, cuda_layout(spec, Geometry(shape, arrays, 2), {132, 8, 227 * 1024})), ::testing::HasSubstr("divide_to_half(v3, d4)")) << name(dtype);
  }
}

/// Gradients of a layer norm of such rows, more of them than there are blocks.
std::string text_of_gradients(DType dtype, const Shape& shape) {
  KernelSpec spec = layer_norm_gradients();
  for (DType& input : spec.inputs) input = dtype;
  for (DType& output : spec.outputs) output = dtype;
  if (dtype == float64) {
    for (Step& step : spec.steps) step.compute = step.result = dtype;
  }
  const Shape column = {1, shape[1]};
  const Strides dense = contiguous_strides(shape), of_column = contiguous_strides(column);
  const ArrayLayout whole = {&shape, &dense}, of_row = {&column, &of_column};
  std::vector<ArrayLayout> arrays;
  for (int i = 0; i < spec.parameter_count(); ++i) arrays.push_back(i == 2 || spec.parameter_count() - i <= 2 ? of_row : whole);
  return cuda_dialect().emit(spec, cuda_layout(spec, Geometry(shape, arrays, 2), {132, 8, 227 * 1024}));
}

TEST(CudaReducingLines, TakesBfloat16OfRowsAheadOutOfWords) {
  const std::string text = text_of_gradients(bfloat16, {16384, 8192});
  EXPECT_THAT(text, ::testing::HasSubstr("x0[u] = load_words<8>("));
  EXPECT_THAT(text, ::testing::HasSubstr("v0 = element(x0[u], k);"));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("float(x")));
  EXPECT_THAT(text_of_gradients(float16, {16384, 8192}), ::testing::Not(::testing::HasSubstr("load_words")));
}

TEST(CudaReducingLines, DividesTheSumOfEachRowByOneCount) {
  const std::string text = text_of_gradients(float32, {16384, 8192});
  EXPECT_THAT(text, ::testing::HasSubstr("count = count_of(float(a.length));\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("v3 = over(j3, count);"));
  EXPECT_THAT(text_of_gradients(float64, {16384, 4096}), ::testing::Not(::testing::HasSubstr("count_of(")));
}

TEST(CudaReducingLines, HoldsJoinsAcrossRowsInPiecesOfOneAccess) {
  const auto pieces = [](const KernelSpec& spec) {
    const Shape shape = {50, 1024}, row = {50, 1}, column = {1, 1024};
    const Strides dense = contiguous_strides(shape), of_row = contiguous_strides(row), of_column = contiguous_strides(column);
    const ArrayLayout arrays[] = {{&shape, &dense}, {&row, &of_row}, {&column, &of_column}};
    const std::string text = cuda_dialect().emit(spec, cuda_layout(spec, Geometry(shape, arrays, 2)));
    const std::string from = "Vec<Joined2, ";
    const std::size_t at = text.find(from);
    return at == std::string::npos ? text : text.substr(at + from.size(), text.find('>', at) - at - from.size());
  };
  EXPECT_EQ(pieces(sums_of_both()), "4");
  EXPECT_EQ(pieces(sums_of_both_in_float64()), "2") << "lanes that are 32 bytes apart ask for the same banks";
}

}  // namespace
}  // namespace damo
