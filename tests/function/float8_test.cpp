// float8_e4m3 and float8_e5m2 in graphs and Arrays: what moves elements keeps their bits, arithmetic refuses them. How numbers are rounded to them is seen to in
// cast_test.cpp, products in tests/linalg/float8_product_test.cpp.
#include <damo/damo.hpp>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "support/devices.hpp"
#include "support/errors.hpp"

namespace damo::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Codes = std::vector<std::uint8_t>;

std::uint8_t code_at(DType dtype, int place) { return static_cast<std::uint8_t>(dtype == float8_e5m2 && place % 128 > 0x7c ? (place & 0x80) | 0x7e : place); }

/// (16, 16): all numbers of the dtype and its NaNs, in the order of their bits. float8_e5m2 has three NaNs, which a kernel that goes by float32 makes one: here
/// they are one from the start.
Array every_float8(DType dtype, Device device) {
  Codes codes(256);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = code_at(dtype, static_cast<int>(i));
  const Array plain = Array::from(codes, device).reshape({16, 16});
  return plain.view(dtype, plain.shape(), plain.strides(), 0);
}

Codes codes_of(const Array& x) {
  const Array packed = x.contiguous();
  return packed.view(uint8, packed.shape(), packed.strides(), 0).to_vector<std::uint8_t>();
}

/// The codes of rows of every_float8.
Codes rows_of(DType dtype, const std::vector<int>& rows) {
  Codes codes;
  for (const int row : rows) {
    for (int i = 0; i < 16; ++i) codes.push_back(code_at(dtype, 16 * row + i));
  }
  return codes;
}

class Float8OnEachDevice : public OnEachDevice {};

TEST_P(Float8OnEachDevice, WhatMovesElementsKeepsTheirBits) {
  if (!DAMO_HAS_CPU) GTEST_SKIP() << "needs the CPU back end";
  const Array rows = Array::from(std::vector<std::int64_t>{3, -1, 3}, device());
  const std::vector<int> all = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  std::vector<int> twice = all, backwards(all.rbegin(), all.rend());
  twice.insert(twice.end(), all.begin(), all.end());

  for (const DType dtype : {float8_e4m3, float8_e5m2}) {
    Codes turned;
    for (int i = 0; i < 256; ++i) turned.push_back(code_at(dtype, i % 16 * 16 + i / 16));
    const Array given = every_float8(dtype, device());
    const Variable x = matrix("x", dtype), positions = vector("rows", int64);
    const Results results = function({x, positions}, {contiguous(transpose(x)), contiguous(flip(x, 0)), concatenate({x, x}, 0), take(x, positions, 0), reshape(x, {256}), roll(x, 1, 0)},
                                     {.device = device()})(given, rows);
    EXPECT_EQ(codes_of(results[0]), turned);
    EXPECT_EQ(codes_of(results[1]), rows_of(dtype, backwards));
    EXPECT_EQ(codes_of(results[2]), rows_of(dtype, twice));
    EXPECT_EQ(codes_of(results[3]), rows_of(dtype, {3, 15, 3}));
    EXPECT_EQ(codes_of(results[4]), rows_of(dtype, all));
    EXPECT_EQ(codes_of(results[5]), rows_of(dtype, {15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}));
    for (const Array& result : results) EXPECT_EQ(result.dtype(), dtype);
    EXPECT_EQ(codes_of(contiguous(transpose(given))), turned);
    Codes diagonal_codes;
    for (int i = 0; i < 16; ++i) diagonal_codes.push_back(code_at(dtype, 17 * i));
    EXPECT_EQ(codes_of(contiguous(diagonal(given))), diagonal_codes);
    EXPECT_EQ(codes_of(concatenate(std::vector{given, given}, 0)), rows_of(dtype, twice));
    EXPECT_EQ(codes_of(take(given, rows, 0)), rows_of(dtype, {3, 15, 3}));
    EXPECT_EQ(codes_of(given.to(Device("cpu")).to(device())), rows_of(dtype, all));
  }
}

TEST_P(Float8OnEachDevice, ChoosesWritesAndLooksAtElements) {
  for (const DType dtype : {float8_e4m3, float8_e5m2}) {
    const bool has_infinity = dtype == float8_e5m2;
    const std::vector<double> numbers = {0.5, -3, 448, 1e9, std::nan(""), -0.0};
    const Variable x = vector("x"), y = vector("y", dtype), mask = vector("mask", bool_);
    const Variable small = cast(x, dtype);
    const Results results = function({x, y, mask}, {where(mask, small, y), where(mask, y, 0.3), set_subtensor(y, {Index(1, 3)}, 2), isnan(small), isfinite(small), signbit(small)},
                                     {.device = device()})(astype(Array::from(numbers, device()), float32), Array::full({6}, 1.5, dtype, device()),
                                                           Array::from(std::vector<bool>{true, false, true, false, true, false}, device()));
    const auto values = [&](std::size_t i) { return results[i].to_doubles(); };
    EXPECT_EQ(results[0].dtype(), dtype);
    EXPECT_EQ(values(0)[0], 0.5);
    EXPECT_EQ(values(0)[1], 1.5);
    EXPECT_EQ(values(0)[2], 448);
    EXPECT_TRUE(std::isnan(values(0)[4]));
    EXPECT_THAT(values(1), ElementsAre(1.5, 0.3125, 1.5, 0.3125, 1.5, 0.3125));
    EXPECT_THAT(values(2), ElementsAre(1.5, 2, 2, 1.5, 1.5, 1.5));
    EXPECT_THAT(values(3), ElementsAre(0, 0, 0, has_infinity ? 0 : 1, 1, 0));
    EXPECT_THAT(values(4), ElementsAre(1, 1, 1, 0, 0, 1));
    EXPECT_THAT(values(5), ElementsAre(0, 1, 0, 0, 0, 1));
  }
}

TEST_P(Float8OnEachDevice, IsReadAndWrittenByFusedKernels) {
  const Variable x = vector("x", float8_e4m3), scale = scalar("scale");
  const Variable wide = cast(x, float32) * scale, small = cast(tanh(wide) * 4.0, float8_e5m2);
  const Function f = function({x, scale}, {small, cast(cast(wide, float8_e4m3), float32) + 1.0}, {.device = device()});
  const Array codes = every_float8(float8_e4m3, device()).reshape({256});
  const Results results = f(codes, Array::scalar(0.0625F, device()));
  const std::vector<double> given = codes.to_doubles(), got = results[0].to_doubles(), rounded = results[1].to_doubles();
  for (std::size_t i = 0; i < given.size(); ++i) {
    const double want = float(Float8E5M2(std::tanh(given[i] / 16) * 4)), other = double(float(Float8E4M3(given[i] / 16))) + 1;
    EXPECT_TRUE(got[i] == want || (std::isnan(got[i]) && std::isnan(want))) << given[i] << " " << got[i];
    EXPECT_TRUE(rounded[i] == other || (std::isnan(rounded[i]) && std::isnan(other))) << given[i] << " " << rounded[i];
  }
}

TEST_P(Float8OnEachDevice, AFillIsCast) {
  for (const DType dtype : {int32, float32}) {
    const Variable x = vector("x", float8_e5m2), y = cast(second(x, constant(Array::full({1}, 3, float8_e5m2))), dtype);
    const Results results = function({x}, {y}, {.device = device()})(Array::full({2}, 0.5, float8_e5m2, device()));
    EXPECT_EQ(results[0].dtype(), dtype);
    EXPECT_THAT(results[0].to_doubles(), ElementsAre(3, 3));
  }
}

TEST_P(Float8OnEachDevice, UsersKernelsReadAndWriteIt) {
  const RawKernel doubled{{.name = "doubled",
                           .inputs = {"const __nv_fp8_e4m3* x"},
                           .outputs = {"__nv_fp8_e5m2* y"},
                           .scalars = {"int size"},
                           .body = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < size) y[i] = __nv_fp8_e5m2(2.0f * float(x[i]));"}};
  const Variable x = vector("x", float8_e4m3);
  EXPECT_THAT(Array(function({x}, {doubled(x)}, {.device = device()})(astype(Array::from(std::vector<double>{1, -3, 448}, device()), float8_e4m3))).to_doubles(), ElementsAre(2, -6, 896));
}

TEST_P(Float8OnEachDevice, IsPrinted) {
  EXPECT_EQ(to_string(Array::full({2}, 0.3, float8_e4m3, device())), "[0.3 0.3]") << "in the fewest digits that give it";
}

TEST_P(Float8OnEachDevice, ArraysRefuseArithmetic) {
  const Array x = Array::full({4, 4}, 1, float8_e4m3, device()), y = Array::full({4, 4}, 1, float32, device());
  const std::pair<const char*, std::function<void()>> calls[] = {
      {"add", [&] { add(x, x); }},         {"mul", [&] { x * 2.0; }},           {"exp", [&] { exp(x); }},      {"eq", [&] { eq(x, x); }},          {"sum", [&] { sum(x); }},
      {"mean", [&] { mean(x); }},          {"max", [&] { max(x); }},            {"argmax", [&] { argmax(x); }}, {"stddev", [&] { stddev(x); }},     {"cumsum", [&] { cumsum(x, 0); }},
      {"sort", [&] { sort(x); }},          {"rfft", [&] { rfft(x); }},          {"cholesky", [&] { cholesky(x); }}, {"inc_subtensor", [&] { inc_subtensor(x, {0}, x); }},
      {"uniform", [&] { RandomGenerator(1, device()).uniform({2}, 0, 1, float8_e4m3); }}};
  for (const auto& [name, call] : calls) EXPECT_THAT(error_of<TypeError>(call), AllOf(HasSubstr(name), HasSubstr("float8_e4m3"), HasSubstr("cast it to float32 first"))) << name;
  EXPECT_THAT(error_of<TypeError>([&] { x + y; }), AllOf(HasSubstr("float8_e4m3 and float32 have no common dtype"), HasSubstr("cast it to float32 first")));
  EXPECT_THAT(error_of<TypeError>([&] { concatenate(std::vector{x, y}, 0); }), HasSubstr("no common dtype"));
}

DAMO_ON_EACH_DEVICE(Float8OnEachDevice);

TEST(Float8Graph, RefusesArithmetic) {
  const Variable x = matrix("x", float8_e5m2), y = matrix("y");
  const std::pair<const char*, std::function<void()>> calls[] = {
      {"add", [&] { x + x; }},          {"mul", [&] { x * 2.0; }},     {"tanh", [&] { tanh(x); }},         {"maximum", [&] { maximum(x, 0.0); }}, {"lt", [&] { lt(x, x); }},
      {"sum", [&] { sum(x); }},         {"max", [&] { max(x); }},      {"argmin", [&] { argmin(x, 0); }},  {"cumsum", [&] { cumsum(x, 0); }},     {"argsort", [&] { sort(x, 0); }},
      {"softmax", [&] { softmax(x, 1); }}, {"cholesky", [&] { cholesky(x); }}, {"inc_subtensor", [&] { inc_subtensor(x, {0}, subtensor(x, {0})); }}};
  for (const auto& [name, call] : calls) EXPECT_THAT(error_of<TypeError>(call), AllOf(HasSubstr("does not compute with float8_e5m2"), HasSubstr("cast it to float32 first"))) << name;
  EXPECT_THAT(error_of<TypeError>([&] { x + y; }), HasSubstr("float8_e5m2 and float32 have no common dtype"));
  EXPECT_THAT(error_of<TypeError>([&] { where(eq(y, y), x, y); }), HasSubstr("no common dtype"));
}

TEST(Float8Graph, GradientsPassWhatMovesElements) {
  const Variable x = matrix("x"), q = cast(x, float8_e4m3), places = constant(Array::from(std::vector<std::int64_t>{0, 0}));
  const auto total = [](const Variable& y) { return sum(cast(y, float32)); };
  const Variable cost = total(subtensor(q, {Index(1, 3)})) * 3.0 + total(concatenate({q, q}, 0)) + total(transpose(flip(q, 1))) + total(take(q, places, 0)) + total(where(gt(x, 0.0), q, 0.0)) +
                        total(subtensor(q, gt(x, 10.0)));
  const Array gradient(function({x}, {grad(cost, x)}, {.device = Device("cpu")})(Array::full({4, 2}, 0.5F, float32, Device("cpu"))));
  EXPECT_THAT(gradient.to_doubles(), ElementsAre(6, 6, 7, 7, 7, 7, 4, 4));
}

TEST(Float8Graph, NanGuardSeesWhatLeavesTheRange) {
  const Variable x = vector("x");
  for (const DType dtype : {float8_e4m3, float8_e5m2}) {
    const Function f = function({x}, {cast(x, dtype)}, {.device = Device("cpu"), .nan_guard = true});
    f(Array::full({3}, 448, float32, Device("cpu")));
    EXPECT_THAT(error_of([&] { f(Array::full({3}, 1e6, float32, Device("cpu"))); }), HasSubstr(dtype == float8_e4m3 ? "cast gave nan" : "cast gave inf"));
  }
}

TEST(Float8Graph, GradientsOfItsValuesAreFloat32) {
  const Variable x = vector("x"), w = vector("w", float8_e4m3);
  const Variable cost = sum(cast(reshape(cast(x, float8_e4m3), {2, 2}), float32) * 3.0) + sum(cast(w, float32) * 1000.3);
  const std::vector<Variable> gradients = grad(cost, std::vector{x, w});
  EXPECT_EQ(gradients[0].dtype(), float32);
  EXPECT_EQ(gradients[1].dtype(), float32);
  const Results results = function({x, w}, gradients, {.device = Device("cpu")})(Array::full({4}, 0.7F), Array::full({2}, 1, float8_e4m3, Device("cpu")));
  EXPECT_THAT(results[0].to_doubles(), Each(3.0));
  EXPECT_THAT(results[1].to_doubles(), Each(double(1000.3F))) << "which 8 bits would make a NaN";
  EXPECT_THAT(error_of<TypeError>([&] { grad(scalar("c", float8_e4m3), std::vector{w}); }), HasSubstr("cast it to a floating dtype"));
}

}  // namespace
}  // namespace damo::testing
