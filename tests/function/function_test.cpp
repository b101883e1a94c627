// A Function as its user sees it: results, shapes, views, constants, threads.
#include <damo/damo.hpp>

#include <cmath>
#include <numeric>
#include <thread>

#include <gmock/gmock.h>

#include "support/devices.hpp"
#include "support/test_ops.hpp"

namespace damo {
namespace {

using damo::testing::AddOneOp;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using damo::testing::error_of;
using Floats = std::vector<float>;

class FunctionOnEachDevice : public damo::testing::OnEachDevice {
 protected:
  Options options(bool fuse = true) const { return {.fuse = fuse, .device = device()}; }
};

TEST_P(FunctionOnEachDevice, ComputesSeveralOutputs) {
  const auto x = vector("x"), y = vector("y");
  const Function f = function({x, y}, {x + y, x - y, x * y}, options());
  const auto [sum, difference, product] = f.call<3>(array({1, 2, 3}), array({4, 6, 8}));
  EXPECT_THAT(sum.to_vector<float>(), ElementsAre(5, 8, 11));
  EXPECT_THAT(difference.to_vector<float>(), ElementsAre(-3, -4, -5));
  EXPECT_THAT(product.to_vector<float>(), ElementsAre(4, 12, 24));
}

static_assert(!std::is_constructible_v<ArrayOperand, IsEmpty>, "where(!mask, x, y) of Arrays asks whether mask is empty, which is no element");

TEST_P(FunctionOnEachDevice, GivesResultsThatAreArraysInArithmetic) {
  const Variable x = vector("x");
  const Function f = function({x}, {2 * x}, {.device = device()});
  const Array a = Array::from({1.0f, 2.0f}, device());
  EXPECT_EQ((f(a) + 1).to_vector<float>(), (std::vector<float>{3, 5}));
  EXPECT_EQ(transpose(reshape(Array::from({1.0, 2.0, 3.0, 4.0}, {4}, device()), {2, 2})).to_vector<double>(), (std::vector<double>{1, 3, 2, 4}));
  EXPECT_EQ(cast(broadcast_to(a, {2, 2}), int64).to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 2, 1, 2}));
}

TEST_P(FunctionOnEachDevice, TakesListsAndRanges) {
  const Variable x = vector("x"), y = vector("y");
  const std::vector<Variable> inputs{x, y};
  const Variable cost = sum(x * y);
  const Results gradients = function({x, y}, grad(cost, inputs), {.device = device()})(array({1, 2}), array({3, 5}));
  EXPECT_EQ(gradients[0].to_vector<float>(), (std::vector<float>{3, 5}));
  EXPECT_EQ(gradients[1].to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(Array(function(inputs, {cost}, {.device = device()})(array({1, 2}), array({3, 5}))).to_vector<float>(), (std::vector<float>{13}));
}

TEST_P(FunctionOnEachDevice, TakesZeroElementsAtTheFirstCall) {
  const auto x = matrix("x");
  for (const bool fuse : {true, false}) {
    const Function f = function({x}, {exp(x) * 2.0, x + 1.0}, options(fuse));
    const auto [a, b] = f.call<2>(Array::empty({0, 5}, float32, device()));
    EXPECT_EQ(a.shape(), (Shape{0, 5}));
    EXPECT_EQ(b.shape(), (Shape{0, 5}));
    EXPECT_THAT(f.call<2>(array({2}, {1, 1}))[1].to_vector<float>(), ElementsAre(3));
    EXPECT_EQ(f.call<2>(Array::empty({3, 0}, float32, device()))[0].size(), 0);
  }
}

TEST_P(FunctionOnEachDevice, GivesZeroElementsToACustomOp) {
  const auto x = vector("x");
  const auto add_one = make_op<AddOneOp>();
  const Function f = function({x}, {add_one(x * 2.0) * 3.0}, options());
  EXPECT_EQ(Array(f(Array::empty({0}, float32, device()))).shape(), (Shape{0}));
  EXPECT_THAT(Array(f(array({1, 2}))).to_vector<float>(), ElementsAre(9, 15));
  EXPECT_EQ(Array(f(Array::empty({0}, float32, device()))).shape(), (Shape{0}));
}

TEST_P(FunctionOnEachDevice, TakesScalars) {
  const auto x = scalar("x");
  const Array y = function({x}, {x * x + 1.0}, options())(Array::scalar(3.0f, device()));
  EXPECT_EQ(y.rank(), 0);
  EXPECT_EQ(y.item().as_double(), 10);
}

TEST_P(FunctionOnEachDevice, StretchesAnAxisThatIsKnownToBeOne) {
  const auto x = input({float32, {1, kUnknown}}, "x"), y = matrix("y");
  for (const bool fuse : {true, false}) {
    const auto [a, b] = function({x, y}, {x * 2.0, x * 2.0 + y}, options(fuse)).call<2>(range({1, 3}), range({2, 3}));
    EXPECT_EQ(a.shape(), (Shape{1, 3})) << fuse;
    EXPECT_THAT(a.to_vector<float>(), ElementsAre(0, 2, 4)) << fuse;
    EXPECT_THAT(b.to_vector<float>(), ElementsAre(0, 3, 6, 3, 6, 9)) << fuse;
  }
}

TEST_P(FunctionOnEachDevice, StretchesNoOtherAxis) {
  const auto x = matrix("x"), y = matrix("y");
  for (const bool fuse : {true, false}) {
    const Function f = function({x, y}, {exp(x * 2.0 + y)}, options(fuse));
    const std::string text = error_of([&] { f(range({1, 3}), range({2, 3})); });
    EXPECT_THAT(text, HasSubstr("add: cannot broadcast (1, 3) with (2, 3): axis -2 1 against 2"));
    EXPECT_THAT(text, HasSubstr("declare it, input({float32, {1, kUnknown}}), or leave the axis out and use expand_dims"));
    EXPECT_THAT(text, HasSubstr("function_test.cpp:"));
    EXPECT_EQ(Array(f(range({2, 3}), range({2, 3}))).shape(), (Shape{2, 3}));
    EXPECT_EQ(Array(f(range({1, 3}), range({1, 3}))).shape(), (Shape{1, 3})) << "an extent of 1 is an extent like others";
  }
}

TEST_P(FunctionOnEachDevice, GivesOutputsThatOnlyTheCallShowsToDiffer) {
  // As far as types tell, both products share an iteration space; the arrays say otherwise.
  const auto x = input({float32, {1, kUnknown}}, "x"), y = matrix("y"), z = matrix("z");
  for (const bool fuse : {true, false}) {
    const Function f = function({x, y, z}, {x * y, x * z}, options(fuse));
    const auto [a, b] = f.call<2>(range({1, 2}, 1), range({2, 2}), range({3, 2}));
    EXPECT_THAT(a.to_vector<float>(), ElementsAre(0, 2, 2, 6)) << fuse;
    EXPECT_THAT(b.to_vector<float>(), ElementsAre(0, 2, 2, 6, 4, 10)) << fuse;
    const auto [c, d] = f.call<2>(range({1, 2}, 1), range({1, 2}), range({1, 2}, 5));
    EXPECT_THAT(c.to_vector<float>(), ElementsAre(0, 2)) << fuse;
    EXPECT_THAT(d.to_vector<float>(), ElementsAre(5, 12)) << fuse;
  }
}

TEST_P(FunctionOnEachDevice, MixesKnownAndUnknownExtents) {
  const auto x = input({float32, {3}}, "x");
  const auto y = vector("y");
  const Function f = function({x, y}, {x + y}, options());
  EXPECT_THAT(Array(f(array({1, 2, 3}), array({1, 1, 1}))).to_vector<float>(), ElementsAre(2, 3, 4));
  EXPECT_THAT(error_of([&] { f(array({1, 2, 3}), array({10})); }), HasSubstr("cannot broadcast (3,) with (1,)"));
}

TEST_P(FunctionOnEachDevice, GivesAnInputBackAsACopy) {
  const auto x = vector("x");
  const Array a = array({1, 2});
  const auto [same, more] = function({x}, {x, x + 1.0}, options()).call<2>(a);
  EXPECT_FALSE(same.shares_buffer_with(a));
  EXPECT_THAT(same.to_vector<float>(), ElementsAre(1, 2));
  EXPECT_THAT(more.to_vector<float>(), ElementsAre(2, 3));
}

TEST_P(FunctionOnEachDevice, GivesConstants) {
  const float values[] = {7, 8};
  const auto bytes = std::as_bytes(std::span(values));
  const auto c = constant(ConstantData{{float32, {2}}, {bytes.begin(), bytes.end()}});
  const auto x = vector("x");
  const Function f = function({x}, {c, x * c, constant(2.5f)}, options());
  for (int i = 0; i < 2; ++i) {
    auto [first, product, number] = f.call<3>(array({1, 2}));
    EXPECT_THAT(first.to_vector<float>(), ElementsAre(7, 8));
    EXPECT_THAT(product.to_vector<float>(), ElementsAre(7, 16));
    EXPECT_EQ(number.item().as_double(), 2.5);
    first.copy_from(array({0, 0}));  // a constant's value is not the caller's to change
  }
}

TEST_P(FunctionOnEachDevice, GivesTheSameVariableTwice) {
  const auto x = matrix("x");
  const auto y = x + 1.0, t = transpose(y);
  const auto [a, b, c, d] = function({x}, {y, y, t, t}, options()).call<4>(range({1, 2}));
  for (const Array& result : {a, b, c, d}) EXPECT_THAT(result.to_vector<float>(), ElementsAre(1, 2));
  EXPECT_EQ(c.shape(), (Shape{2, 1}));
  EXPECT_EQ(d.shape(), (Shape{2, 1}));
}

TEST_P(FunctionOnEachDevice, LooksThroughViews) {
  const auto x = matrix("x");
  const auto t = transpose(x);
  const auto e = expand_dims(transpose(t * 2.0), 0);
  for (const bool fuse : {true, false}) {
    const Function f = function({x}, {t, t + 1.0, e, transpose(t)}, options(fuse));
    const auto [a, b, c, d] = f.call<4>(range({2, 3}));
    EXPECT_THAT(a.to_vector<float>(), ElementsAre(0, 3, 1, 4, 2, 5));
    EXPECT_THAT(b.to_vector<float>(), ElementsAre(1, 4, 2, 5, 3, 6));
    EXPECT_EQ(c.shape(), (Shape{1, 2, 3}));
    EXPECT_THAT(c.to_vector<float>(), ElementsAre(0, 2, 4, 6, 8, 10));
    EXPECT_THAT(d.to_vector<float>(), ElementsAre(0, 1, 2, 3, 4, 5));
  }
}

TEST_P(FunctionOnEachDevice, ReadsStridedInputsWhereTheyLie) {
  const auto x = matrix("x"), y = matrix("y");
  const Array a = range({4, 6}), b = range({6, 4}).transpose();
  const Array every_other = a.slice({{}, {std::nullopt, std::nullopt, 2}}), backwards = a.slice({{}, {std::nullopt, std::nullopt, -1}});
  const Function f = function({x, y}, {x * 2.0 + y}, options());
  const auto expect = [&](const Array& left, const Array& right) {
    const auto l = left.to_vector<float>(), r = right.to_vector<float>(), got = Array(f(left, right)).to_vector<float>();
    for (std::size_t i = 0; i < l.size(); ++i) EXPECT_EQ(got[i], l[i] * 2 + r[i]) << i;
  };
  expect(a, b);
  expect(b, a);
  expect(backwards, a);
  expect(every_other, every_other);
  expect(every_other, b.slice({{}, {0, 3}}));
  expect(a.slice({{1, 4}, {1, 6}}), a.slice({{0, 3}, {0, 5}}));  // misaligned base, rows apart
}

TEST_P(FunctionOnEachDevice, KeepsAHeldResult) {
  const auto x = vector("x");
  const Function f = function({x}, {x * 2.0}, options());
  const Array first = f(array({1, 2})), second = f(array({3, 4})), third = f(array({5, 6}));
  EXPECT_THAT(first.to_vector<float>(), ElementsAre(2, 4));
  EXPECT_THAT(second.to_vector<float>(), ElementsAre(6, 8));
  EXPECT_THAT(third.to_vector<float>(), ElementsAre(10, 12));
}

TEST_P(FunctionOnEachDevice, TakesItsOwnResultAsInput) {
  const auto x = vector("x");
  const Function f = function({x}, {x * 2.0}, options());
  Array value = array({1, 3});
  for (int i = 0; i < 10; ++i) value = f(value);
  EXPECT_THAT(value.to_vector<float>(), ElementsAre(1024, 3072));
}

/// One kernel of so many arrays that a compiler gives up asking whether each two of them overlap.
TEST_P(FunctionOnEachDevice, ReadsReversedInputsForManyResults) {
  const Variable x = vector("x"), y = vector("y");
  std::vector<Variable> outputs;
  for (int i = 0; i < 20; ++i) outputs.push_back(x * static_cast<double>(i + 2) - y);
  const Function f = function(std::vector<Variable>{x, y}, outputs, {.device = device()});
  std::vector<float> values(100);
  std::iota(values.begin(), values.end(), 0.0f);
  const Array a = Array::from(values, device()), reversed = a.slice({{std::nullopt, std::nullopt, -1}});
  const Results results = f(a, reversed);
  for (int i = 0; i < 20; ++i) {
    const std::vector<double> got = results[static_cast<std::size_t>(i)].to_doubles();
    for (int k = 0; k < 100; ++k) ASSERT_EQ(got[static_cast<std::size_t>(k)], k * (i + 2) - (99 - k)) << "result " << i << ", element " << k;
  }
}

TEST_P(FunctionOnEachDevice, RunsInSeveralThreads) {
  const auto x = vector("x");
  const auto add_one = make_op<AddOneOp>();
  const Function f = function({x}, {add_one(x * 2.0) * 3.0, transpose(x) + 1.0}, options());
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 30; ++i) {
        const auto n = static_cast<std::size_t>(1 + (i + 7 * t) % 50);
        const Array in = Array::from(Floats(n, static_cast<float>(t)), device());
        const auto [y, z] = f.call<2>(in);
        if (y.to_vector<float>() != Floats(n, static_cast<float>(t * 2 + 1) * 3)) ++wrong;
        if (z.to_vector<float>() != Floats(n, static_cast<float>(t + 1))) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(FunctionOnEachDevice, RunsAChainOfManyNodes) {
  const auto x = vector("x");
  Variable y = x;
  for (int i = 0; i < 300; ++i) y = i % 2 ? y * 0.5 : y + 1.0;
  double want = 3;
  for (int i = 0; i < 300; ++i) want = i % 2 ? want * 0.5 : want + 1.0;
  EXPECT_NEAR(Array(function({x}, {y}, options())(array({3}))).item().as_double(), want, 1e-5);
}

DAMO_ON_EACH_DEVICE(FunctionOnEachDevice);

/// Options::fp_contract: without it a fused kernel rounds what kernels apart round.
class FpContract : public testing::OnEachDevice {
 protected:
  Options contracting(bool contracts) const { return {.fp_contract = contracts, .device = device(), .allow_unused_inputs = true}; }
};

TEST_P(FpContract, DifferencesOfEqualProductsAre0WithoutIt) {
  for (const DType dtype : {float32, float64}) {
    const Variable x = vector("x", dtype), y = vector("y", dtype), last = input({int64, {}}, "last");
    const Array a = RandomGenerator(3, device()).uniform({1000}, 0.1, 3, dtype);
    const Variable carried = scan({.initial = {x}, .steps = 3}, [&](const Variable& h) { return h + (x * x - y * y); })[0];
    const Variable product = scan({.initial = {x}, .steps = 3}, [&](const Variable& h) { return h + dot(x * x - y * y, y); })[0];
    const Variable chosen = ifelse(eq(last, 1), {cumsum(x * x - y * y)}, {x * 1.0})[0];
    const std::vector<Variable> outputs = {sqrt(x * x - y * y), x * y - y * x, sum(x * x - y * y), softmax(x * x - y * y), subtensor(carried, {-1}) - x, chosen, subtensor(product, {-1}) - x};
    (void)function(std::vector{x, y, last}, outputs, contracting(true)).call(std::vector{a, a.copy(), Array::scalar(std::int64_t{1}, device())});  // the same texts, with the same names
    const std::vector<Array> results = function(std::vector{x, y, last}, outputs, contracting(false)).call(std::vector{a, a.copy(), Array::scalar(std::int64_t{1}, device())});
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::vector<double> got = results[i].to_doubles();
      EXPECT_EQ(got, std::vector<double>(got.size(), i == 3 ? got[0] : 0.0)) << "output " << i << " of " << name(dtype);
    }
  }
}

TEST_P(FpContract, FusedAndUnfusedAreTheSameBitsWithoutIt) {
  const Variable x = matrix("x"), y = matrix("y"), z = matrix("z");
  const std::vector<Variable> outputs = {x * y + z * x - y * z, (x * y + z) * z - x, x - 0.3f * y};
  const Array a = RandomGenerator(3, device()).normal({37, 129}), b = RandomGenerator(4, device()).normal({37, 129}), c = RandomGenerator(5, device()).normal({37, 129});
  Options fused = contracting(false), apart = contracting(true);
  fused.rewrite = apart.rewrite = apart.fuse = false;
  const auto got = function(std::vector{x, y, z}, outputs, fused).call(std::vector{a, b, c}), want = function(std::vector{x, y, z}, outputs, apart).call(std::vector{a, b, c});
  for (std::size_t i = 0; i < outputs.size(); ++i) EXPECT_EQ(got[i].to_doubles(), want[i].to_doubles()) << i;
}

DAMO_ON_EACH_DEVICE(FpContract);

}  // namespace
}  // namespace damo
