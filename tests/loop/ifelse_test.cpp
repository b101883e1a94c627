// ifelse: the right value, and nothing of the other.
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
}

DAMO_ON_EACH_DEVICE(IfElse);

}  // namespace
}  // namespace damo
