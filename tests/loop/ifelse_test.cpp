// ifelse: the right value, and nothing of the other.
#include <cmath>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "support/devices.hpp"

namespace damo {
namespace {

using ::testing::HasSubstr;
using testing::error_of;

/// Its input, counted.
struct CountedOp final : Op {
  explicit CountedOp(int* calls) : calls(calls) {}
  std::string name() const override { return "counted"; }
  Props props() const override { return {{"which", static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(calls))}}; }
  Apply make_node(Inputs inputs) const override { return {*this, {inputs.at(0)}, {inputs.at(0).type()}}; }
  Shapes infer_shape(const Apply&, std::span<const Shape> inputs) const override { return {{inputs[0]}}; }
  Gradients gradient(const Apply&, std::span<const Variable> gradients) const override { return gradients[0]; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    Cell &from = context.storage(node.input(0)), &to = context.storage(node.output());
    return [this, self = shared_from_this(), &from, &to] {
      ++*calls;
      to.array().copy_from(from.array());
    };
  }
  int* calls;
};

class IfElse : public testing::OnEachDevice {
 protected:
  Options on() const { return {.device = device()}; }
  Array flag(bool value) const { return Array::from(std::vector<std::int32_t>{value ? 1 : 0}, Shape(), device()); }
};

TEST_P(IfElse, ComputesOnlyWhatItGives) {
  int then = 0, otherwise = 0, both = 0, nested = 0;
  const Variable c = scalar("c", int32), x = vector("x"), y = vector("y");
  const Variable common = make_op<CountedOp>(&both)(exp(x));
  const Variable inner = ifelse(c > 5, make_op<CountedOp>(&nested)(y * 3.0), y + 1.0);
  const Variable chosen = ifelse(c > 0, make_op<CountedOp>(&then)(common * 2.0) + inner, make_op<CountedOp>(&otherwise)(common) - y);
  const Function f = function({c, x, y}, {chosen}, on());
  const Array zeros = array({0, 0}), ones = array({1, 2});
  EXPECT_EQ(Array(f(flag(true), zeros, ones)).to_doubles(), (std::vector<double>{4, 5}));
  EXPECT_EQ(Array(f(flag(false), zeros, ones)).to_doubles(), (std::vector<double>{0, -1}));
  EXPECT_EQ(Array(f(flag(false), zeros, ones)).to_doubles(), (std::vector<double>{0, -1}));
  EXPECT_EQ(then, 1);
  EXPECT_EQ(otherwise, 2);
  EXPECT_EQ(both, 3);
  EXPECT_EQ(nested, 0);
}

TEST_P(IfElse, GivesSeveralValuesOfShapesThatDiffer) {
  const Variable c = scalar("c", int32), x = vector("x"), y = vector("y");
  const std::vector<Variable> made = ifelse(c > 0, {x * 2.0, x}, {y, y + 1.0});
  const Function f = function({c, x, y}, {made[0], made[1]}, on());
  const auto [a, b] = f.call<2>(flag(true), array({1, 2}), array({3, 4, 5}));
  EXPECT_EQ(a.to_doubles(), (std::vector<double>{2, 4}));
  EXPECT_EQ(b.to_doubles(), (std::vector<double>{1, 2}));
  const auto [d, e] = f.call<2>(flag(false), array({1, 2}), array({3, 4, 5}));
  EXPECT_EQ(d.to_doubles(), (std::vector<double>{3, 4, 5}));
  EXPECT_EQ(e.to_doubles(), (std::vector<double>{4, 5, 6}));
}

TEST_P(IfElse, HasTheGradientOfWhatItTook) {
  const Variable c = scalar("c", int32), x = vector("x"), y = vector("y");
  const Variable cost = sum(ifelse(c > 0, x * x, x * y * 3.0));
  const std::vector<Variable> slopes = grad(cost, {x, y});
  for (const Options& options : {on(), Options{.fuse = false, .rewrite = false, .device = device()}}) {
    const Function f = function({c, x, y}, {slopes[0], slopes[1]}, options);
    const auto [x1, y1] = f.call<2>(flag(true), array({1, 2}), array({3, 4}));
    EXPECT_EQ(x1.to_doubles(), (std::vector<double>{2, 4}));
    EXPECT_EQ(y1.to_doubles(), (std::vector<double>{0, 0}));
    const auto [x2, y2] = f.call<2>(flag(false), array({1, 2}), array({3, 4}));
    EXPECT_EQ(x2.to_doubles(), (std::vector<double>{9, 12}));
    EXPECT_EQ(y2.to_doubles(), (std::vector<double>{3, 6}));
  }
}

// Where its own values, or slopes, are no numbers, and where it cannot run at all.
TEST_P(IfElse, HasAGradientWhateverTheOtherBranchIsThere) {
  const Variable s = scalar("s", float64), x = vector("x", float64);
  const Variable root = ifelse(s > 0.0, sqrt(s), 3.0 * s), nested = ifelse(s > 0.0, log(s) * s, ifelse(s > -1.0, s * s, acos(s))) + s * s;
  const Variable element = ifelse(s > 0.0, sum(x) * s, sum(subtensor(x, {5})));
  // Two branches need the root, whose slope is no number where neither is taken.
  const Variable shared_root = sqrt(s), of_two = ifelse(s > 1.0, shared_root, s * 0.0 + 1.0) + ifelse(s > 2.0, shared_root * 4.0, s);
  int then = 0, otherwise = 0;
  const Variable counted = ifelse(s > 0.0, make_op<CountedOp>(&then)(s * s) * s, make_op<CountedOp>(&otherwise)(exp(s * s)) * s);
  const auto number = [&](double value) { return Array::from(std::vector<double>{value}, Shape(), device()); };
  for (const Options& options : {on(), Options{.fuse = false, .rewrite = false, .device = device()}}) {
    const Function f = function({s}, {grad(root, s), grad(nested, s)}, options);
    const auto at = [&](double value) {
      const auto [a, b] = f.call<2>(number(value));
      return std::pair(a.to_doubles()[0], b.to_doubles()[0]);
    };
    EXPECT_EQ(at(0.0), std::pair(3.0, 0.0));
    EXPECT_EQ(at(-0.5), std::pair(3.0, -2.0));
    EXPECT_DOUBLE_EQ(at(4.0).first, 0.25);
    EXPECT_DOUBLE_EQ(at(4.0).second, std::log(4.0) + 1 + 8);
    const Function two = function({s}, {grad(of_two, s)}, options);
    for (const auto& [value, slope] : {std::pair(-1.0, 1.0), {2.0, 0.5 / std::sqrt(2.0) + 1}, {4.0, 1.25}}) EXPECT_DOUBLE_EQ(Array(two(number(value))).to_doubles()[0], slope) << value;
    const std::vector<Variable> slopes = grad(element, {s, x});
    const auto [by_s, by_x] = function({s, x}, {slopes[0], slopes[1]}, options).call<2>(number(2), Array::ones({3}, float64, device()));
    EXPECT_EQ(by_s.to_doubles(), std::vector<double>{3});
    EXPECT_EQ(by_x.to_doubles(), (std::vector<double>{2, 2, 2}));
    EXPECT_EQ(Array(function({s}, {grad(grad(root * root * root, s), s)}, options)(number(-2))).to_doubles()[0], 162 * -2) << "the second one, of 27 s^3";
  }
  EXPECT_DOUBLE_EQ(Array(function({s}, {grad(counted, s)}, on())(number(-1))).to_doubles()[0], 3 * std::exp(1.0));
  EXPECT_EQ(then, 0) << "the gradient computes what the branch that was taken needs";
  EXPECT_EQ(otherwise, 1);
}

// Whether an extent is known before the call runs differs from call to call then.
TEST_P(IfElse, GivesShapesThatAgreeInSomeCallsOnly) {
  const Variable c = scalar("c", int32), x = vector("x"), y = vector("y");
  const Variable above = ifelse(c > 0, subtensor(x, {x > 0.0}), x), chosen = ifelse(c > 0, x, y);
  const Variable loop = scan({.initial = {sum(chosen)}, .steps = size_of(chosen)}, [](const Variable& h) { return h * 0.5; });
  const Function masked = function({c, x}, {grad(sum(above), x)}, on()), looped = function({c, x, y}, {sum(loop), grad(sum(loop), y)}, on());
  const Array values = array({1, -2, 3}), ones = array({1, 1, 1});
  for (const bool first : {false, true, false, true}) {
    EXPECT_EQ(Array(masked(flag(first), values)).to_doubles(), first ? (std::vector<double>{1, 0, 1}) : (std::vector<double>{1, 1, 1})) << first;
  }
  for (const std::int64_t length : {2, 3, 2, 3, 4}) {
    const auto [value, slope] = looped.call<2>(flag(false), ones, Array::ones({length}, float32, device()));
    const double halves = 1 - std::pow(0.5, static_cast<double>(length));
    EXPECT_DOUBLE_EQ(value.to_doubles()[0], static_cast<double>(length) * halves);
    EXPECT_EQ(slope.to_doubles(), std::vector<double>(static_cast<std::size_t>(length), halves));
  }
}

TEST_P(IfElse, ChoosesAtEachStepOfALoop) {
  const Variable x = scalar("x", int64);
  const ScanOutputs integers = while_loop({x, constant(std::int64_t{0})}, [](const Variable& n, const Variable&) { return n > 1; },
                                          [](const Variable& n, const Variable& count) { return std::vector{ifelse(eq(n % 2, 0), int_div(n, 2), n * 3 + 1), count + 1}; }, 1000);
  const Function f = function({x}, {integers[1]}, on());
  EXPECT_EQ(Array(f(Array::from(std::vector<std::int64_t>{27}, Shape(), device()))).to_doubles()[0], 111);
  EXPECT_EQ(Array(f(Array::from(std::vector<std::int64_t>{1}, Shape(), device()))).to_doubles()[0], 0);
}

TEST(IfElseErrors, NameWhatDoesNotFit) {
  const Variable x = vector("x"), y = matrix("y"), c = scalar("c");
  EXPECT_THAT(error_of<TypeError>([&] { ifelse(c, x, x); }), HasSubstr("ifelse: the condition is no bool"));
  EXPECT_THAT(error_of<ShapeError>([&] { ifelse(x > 0, x, x); }), HasSubstr("ifelse: the condition must be 0-d"));
  EXPECT_THAT(error_of<ShapeError>([&] { ifelse(c > 0, x, y); }), HasSubstr("ifelse: values 0 differ in rank"));
  EXPECT_THAT(error_of<TypeError>([&] { ifelse(c > 0, x, cast(x, int32)); }), HasSubstr("ifelse: values 0 differ in dtype"));
  EXPECT_THAT(error_of<GraphError>([&] { ifelse(c > 0, {x, x}, {x}); }), HasSubstr("ifelse: 2 values or else 1"));
  EXPECT_THAT(error_of<GraphError>([&] { ifelse(c > 0, std::vector<Variable>{}, std::vector<Variable>{}); }), HasSubstr("ifelse: there are no values to choose between"));
}

DAMO_ON_EACH_DEVICE(IfElse);

}  // namespace
}  // namespace damo
