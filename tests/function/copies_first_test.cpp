// Which inputs of a kernel that reduces are copied before it (src/ops/copies_first.hpp), and that results are those of arrays in C order.
#include "ops/copies_first.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include <damo/damo.hpp>

#include "support/noise.hpp"

namespace damo {
namespace {

/// Of float32 inputs and outputs.
KernelSpec spec_of(int inputs, int outputs) {
  KernelSpec spec;
  spec.inputs = std::vector<DType>(static_cast<std::size_t>(inputs), float32);
  spec.outputs = std::vector<DType>(static_cast<std::size_t>(outputs), float32);
  return spec;
}

struct Lying {
  Shape shape;
  Strides strides;
};

std::vector<int> copied(int inputs, const Shape& space, const std::vector<Lying>& arrays) {
  std::vector<ArrayLayout> layouts;
  for (const Lying& array : arrays) layouts.push_back({&array.shape, &array.strides});
  return copies_first(spec_of(inputs, static_cast<int>(arrays.size()) - inputs), space, layouts);
}

TEST(CopiesFirst, TakesWhatLiesAcrossAnOutput) {
  const Shape space{40, 50};
  EXPECT_EQ(copied(1, space, {{space, {1, 40}}, {space, {50, 1}}}), std::vector<int>{0});
  EXPECT_EQ(copied(2, space, {{space, {50, 1}}, {space, {1, 40}}, {space, {50, 1}}}), std::vector<int>{1});
  EXPECT_EQ(copied(2, space, {{{50}, {1}}, {space, {1, 40}}, {space, {50, 1}}}), std::vector<int>{1});
}

TEST(CopiesFirst, LeavesWhatHasNoNeighboursInALine) {
  const Shape space{40, 50};
  EXPECT_TRUE(copied(1, space, {{space, {50, 1}}, {space, {50, 1}}}).empty());     // C order
  EXPECT_TRUE(copied(1, space, {{space, {-50, -1}}, {space, {50, 1}}}).empty());   // backwards
  EXPECT_TRUE(copied(1, space, {{space, {100, 2}}, {space, {50, 1}}}).empty());    // every second
  EXPECT_TRUE(copied(1, space, {{space, {5000, 100}}, {space, {50, 1}}}).empty());  // each in a line of its own
  EXPECT_TRUE(copied(1, space, {{space, {1, 0}}, {space, {50, 1}}}).empty());      // repeats
  EXPECT_TRUE(copied(1, space, {{{40, 1}, {1, 1}}, {space, {50, 1}}}).empty());    // one a row
  EXPECT_TRUE(copied(1, {8, 50}, {{{8, 50}, {1, 8}}, {{8, 50}, {50, 1}}}).empty());  // fewer than a line holds
  EXPECT_TRUE(copied(1, {}, {{{}, {}}, {{}, {}}}).empty());
}

TEST(CopiesFirst, OfReductionsAloneAsksForMoreLinesThanTheCacheHolds) {
  const Shape few{4096, 64}, many{4096, 1024}, row{4096, 1}, many_row{4096, 1};
  EXPECT_TRUE(copied(2, few, {{few, {1, 4096}}, {few, {64, 1}}, {row, {1, 1}}}).empty());
  EXPECT_EQ(copied(2, many, {{many, {1, 4096}}, {many, {1024, 1}}, {many_row, {1, 1}}}), std::vector<int>{0});
  EXPECT_TRUE(copied(1, many, {{many, {1, 4096}}, {many_row, {1, 1}}}).empty());  // nothing lies otherwise
}

class CopiesFirstOnEachDevice : public testing::NoiseOnEachDevice {
 protected:
  CopiesFirstOnEachDevice() : NoiseOnEachDevice(5) {}
};

std::vector<Variable> results(const Variable& x, const Variable& y) {
  return {softmax(x + y, 1), sum(x * y, 0), max(x, 1), cumsum(x, 1), cumsum(softmax(x, 1), 1), x - mean(x, 0), sum(astype(x, float32) * astype(y, float32), 1)};
}

TEST_P(CopiesFirstOnEachDevice, GivesWhatArraysInCOrderGive) {
  for (const DType dtype : {float32, bfloat16, float64}) {
    const Array a = noise({96, 300}, dtype), b = noise({300, 96}, dtype);
    const Variable x = input({dtype, {96, 300}}), turned = input({dtype, {300, 96}}), y = input({dtype, {300, 96}});
    const Variable both[] = {x, y}, in_order[] = {turned, y};
    const Results got = function(both, results(transpose(x), y), {.device = device()})(a, b), expected = function(in_order, results(turned, y), {.device = device()})(transpose(a).copy(), b);
    const double step = dtype == float64 ? 1e-12 : dtype == float32 ? 1e-5 : 1e-2;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::vector<double> values = astype(got[i], float64).to_vector<double>(), wanted = astype(expected[i], float64).to_vector<double>();
      ASSERT_EQ(values.size(), wanted.size());
      for (std::size_t k = 0; k < wanted.size(); ++k) ASSERT_NEAR(values[k], wanted[k], step * (1 + std::abs(wanted[k]))) << "result " << i << ", element " << k << ", " << damo::name(dtype);
    }
  }
}

DAMO_ON_EACH_DEVICE(CopiesFirstOnEachDevice);

}  // namespace
}  // namespace damo
