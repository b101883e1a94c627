// grad and lop as builders of graphs: what they build, and what they say when they cannot. Values: tests/function.
#include <damo/gradient.hpp>

#include <gmock/gmock.h>

#include <damo/graph.hpp>
#include <damo/log.hpp>
#include <damo/ops/cast.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/reduce.hpp>
#include <damo/ops/shape.hpp>
#include "ops/rows.hpp"
#include "support/devices.hpp"
#include "support/graphs.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using damo::testing::OpaqueOp;
using ::testing::HasSubstr;

std::string nodes(std::initializer_list<Variable> inputs, std::initializer_list<Variable> outputs) {
  return damo::testing::nodes_text(
      FunctionGraph(std::span(inputs.begin(), inputs.size()), std::span(outputs.begin(), outputs.size()), true));
}
Variable known(std::string name, Shape dims = {3, 4}) { return input({float32, dims}, std::move(name)); }

TEST(Gradient, OfTheTableIsThereForEachRow) {
  for (const ElementwiseRow& row : builtin_rows()) EXPECT_TRUE(bool(row.gradient)) << row.name;
}

TEST(Gradient, BuildsNoMoreThanTheChainNeeds) {
  const Variable x = known("x"), y = known("y"), g = known("g");
  EXPECT_EQ(nodes({x, y, g}, {lop(x * y, g, x)}), "mul");
  EXPECT_TRUE(lop(x + y, g, x).is_same(g));
  EXPECT_TRUE(lop(x, g, x).is_same(g)) << "an output may be asked for itself";
  EXPECT_EQ(nodes({x, y, g}, {lop(x * y + x, g, x)}), "mul add");
}

TEST(Gradient, HasTheDtypeAndDimsOfItsVariable) {
  const Variable x = known("x"), bias = input({float16, {4}}, "bias"), column = input({float64, {3, 1}}, "column");
  const Variable y = x * bias + column;
  const auto gradients = lop({y}, {input({y.dtype(), {3, 4}})}, {x, bias, column});
  EXPECT_EQ(gradients[0].type(), x.type());
  EXPECT_EQ(gradients[1].type(), bias.type());
  EXPECT_EQ(gradients[2].type(), column.type());
}

TEST(Gradient, NodesOfABuiltInRuleStandAtTheUsersLine) {
  const Variable x = known("x");
  const Variable y = gelu(x);
  const int line = __LINE__ - 1;
  const FunctionGraph graph(std::vector{x}, std::vector{lop(y, x, x)});
  for (NodeId node : graph.nodes()) EXPECT_EQ(graph.where(node).line, line) << graph.describe(node);
}

TEST(Gradient, SpreadsWhatHasFewerAxesThanItsVariable) {
  const Variable x = matrix("x"), y = matrix("y"), g = matrix("g"), row = vector("row");
  EXPECT_THAT(nodes({x, y, g}, {lop(x * y, g, x)}), Not(HasSubstr("second")));
  EXPECT_THAT(nodes({x, row}, {lop(x * 2.0, row, x)}), HasSubstr("second"));
}

TEST(Gradient, GoesThroughChainsThatWouldOverflowAStack) {
  Variable x = vector("x"), y = x;
  for (int i = 0; i < 100'000; ++i) y = y * 1.5;
  EXPECT_EQ(lop(y, vector("g"), x).rank(), 1);
}

TEST(Gradient, IsZeroOrAnErrorWhereNothingDependsOnTheVariable) {
  const Variable x = vector("x"), y = vector("y");
  EXPECT_THAT(error_of([&] { lop(x * 2.0, x, y); }),
              HasSubstr("y float32 (?,) is not part of the graph of the outputs"));
  EXPECT_THAT(error_of([&] { lop(x * 2.0, x, y); }), HasSubstr("Disconnected::kZero"));
  EXPECT_THAT(error_of([&] { lop(x * 2.0, x, y); }), HasSubstr("gradient_test.cpp:" + std::to_string(__LINE__)));
  EXPECT_THAT(error_of([&] { lop(where(lt(y, 0.0), x, 1.0), x, y); }),
              HasSubstr("read only by ops that pass no gradient on"));
  EXPECT_EQ(lop(x * 2.0, x, y, Disconnected::kZero).type(), y.type());
}

TEST(Gradient, WarnsOfWhatIsDisconnected) {
  const Variable x = vector("x"), y = vector("y");
  std::string lines;
  set_log_sink([&](LogLevel, std::string_view line) { lines += line; });
  EXPECT_EQ(lop(x * 2.0, x, y, Disconnected::kWarn).type(), y.type());
  EXPECT_THAT(lines, HasSubstr("y float32 (?,) is not part of the graph of the outputs: its gradient is zeros, asked for at "));
  EXPECT_THAT(lines, HasSubstr("gradient_test.cpp:" + std::to_string(__LINE__ - 2)));
  lines.clear();
  lop(x * 2.0, x, y, Disconnected::kZero);
  EXPECT_EQ(lines, "");
  set_log_sink({});
}

TEST(Gradient, TakesKnownOnesForThoseOfTheGraph) {
  const Variable x = known("x", {}), g = known("g", {}), h = exp(x), other = sin(x);
  EXPECT_EQ(nodes({x, g}, {grad(h * h, x, {.known = {{h, g}}})}), "exp mul") << "what lies above h is not asked for";
  EXPECT_EQ(nodes({x, g}, {grad(h + x, x, {.known = {{other, g}}})}), "cos mul exp mul add add") << "h's and the other's, which is no part of the cost";
  EXPECT_TRUE(grad(h, x, {.known = {{x, g}}}).is_same(g));
  EXPECT_THAT(error_of([&] { grad(h, x, {.known = {{h, g}, {h, g}}}); }), HasSubstr("the known gradient by exp float32 () is given twice"));
  EXPECT_THAT(error_of([&] { grad(h, x, {.known = {{h, cast(g, float64)}}}); }), HasSubstr("grad: known gradient 0 is float32 (), its gradient float64 ()"));
  EXPECT_THAT(error_of([&] { grad(h, x, {.known = {{Variable(), g}}}); }), HasSubstr("grad: known gradient 0 or its gradient is an empty Variable"));
}

TEST(Gradient, LeavesOutWhatCountsAsConstant) {
  const Variable x = known("x", {}), h = exp(x);
  EXPECT_EQ(nodes({x}, {grad(h * x, x, {.constants = {h}})}), "exp mul");
  EXPECT_EQ(nodes({x}, {grad(h * x, x)}), "mul exp mul mul add") << "otherwise it has a part of its own";
  EXPECT_THAT(error_of([&] { grad(h, x, {.constants = {h}}); }), HasSubstr("read only by ops that pass no gradient on"));
  EXPECT_THAT(error_of([&] { grad(h, x, {.constants = {x}}); }), HasSubstr("the gradient by x float32 () was asked for, which GradOptions::constants names"));
}

TEST(Gradient, NamesAnOpThatHasNone) {
  const Variable x = vector("x");
  const auto opaque = make_op<OpaqueOp>("sieve");
  const Variable y = opaque(x * 2.0);
  const int line = __LINE__ - 1;
  const std::string text = error_of([&] { lop(exp(y), x, x); });
  EXPECT_THAT(text, HasSubstr("the gradient by input 0 of sieve is not defined: op sieve has no gradient"));
  EXPECT_THAT(text, HasSubstr("sieve built at "));
  EXPECT_THAT(text, HasSubstr("gradient_test.cpp:" + std::to_string(line)));
  EXPECT_THAT(text, HasSubstr("override Op::gradient"));
  EXPECT_EQ(lop(exp(y), x, y).type(), y.type()) << "what lies above it has one";
}

TEST(Gradient, RefusesWhatHasNone) {
  const Variable x = vector("x"), n = vector("n", int32), cost = scalar("cost");
  EXPECT_THAT(error_of([&] { grad(x, x); }), HasSubstr("the cost must be 0-d, it is x float32 (?,)"));
  EXPECT_THAT(error_of([&] { grad(x, x); }), HasSubstr("lop(cost, gradients, x)"));
  EXPECT_THAT(error_of([&] { grad(scalar("k", int32), x); }), HasSubstr("k int32 () has no gradient"));
  EXPECT_THAT(error_of([&] { grad(sum(n), x); }), HasSubstr("grad: sum int64 () has no gradient"));
  EXPECT_THAT(error_of([&] { lop(x * 2.0, x, n); }), HasSubstr("n int32 (?,) has no gradient"));
  EXPECT_THAT(error_of([&] { lop(n, n, x); }), HasSubstr("lop: output 0, n int32 (?,), has no gradient"));
  EXPECT_THAT(error_of([&] { lop(x, matrix("g"), x); }),
              HasSubstr("lop: output 0 is float32 (?,), its gradient float32 (?, ?)"));
  EXPECT_THAT(error_of([&] { lop({x}, {x, x}, {x}); }), HasSubstr("2 gradients for 1 outputs"));
  EXPECT_THAT(error_of([&] { lop(x, Variable(), x); }), HasSubstr("empty Variable"));
}

/// Its gradient is what the test says.
class WithGradientOp final : public Op {
 public:
  using Rule = std::function<Gradients(const Apply&, std::span<const Variable>)>;
  explicit WithGradientOp(Rule rule) : rule_(std::move(rule)) {}
  std::string name() const override { return "with_gradient"; }
  Apply make_node(Inputs in) const override {
    return {*this, {in.begin(), in.end()}, {in.at(0).type(), in.at(0).type()}};
  }
  Gradients gradient(const Apply& node, std::span<const Variable> g) const override { return rule_(node, g); }

 private:
  Rule rule_;
};

TEST(Gradient, OfAUsersOpIsCheckedAgainstItsInput) {
  const Variable x = vector("x"), y = vector("y");
  const auto error = [&](WithGradientOp::Rule rule) {
    const auto op = make_op<WithGradientOp>(std::move(rule));
    return error_of([&] { lop(op(x, y), x, x); });
  };
  EXPECT_EQ(error([](const Apply&, auto g) { return Gradients{g[0], Gradient::disconnected()}; }), "nothing thrown");
  EXPECT_THAT(error([](const Apply&, auto g) {
                return Gradients{cast(g[0], float64), g[0]};
              }),
              HasSubstr("with_gradient: the gradient by input 0 is float64 (?,), the input float32 (?,)"));
  EXPECT_THAT(error([](const Apply&, auto g) {
                return Gradients{expand_dims(g[0], 0), g[0]};
              }),
              HasSubstr("float32 (1, ?)"));
  EXPECT_THAT(error([](const Apply&, auto g) { return Gradients{g[0]}; }), HasSubstr("1 gradients for 2 inputs"));
  EXPECT_THAT(error([](const Apply& node, auto g) {
                return Gradients{g[0] + cast(node.input(1), bool_) * matrix("m"), g[0]};
              }),
              HasSubstr("in the gradient of with_gradient built at"));
  EXPECT_THAT(error([](const Apply&, auto g) {
                return Gradients{Gradient::not_defined("it was forgotten"), g[0]};
              }),
              HasSubstr("is not defined: it was forgotten"));
}

TEST(Gradient, GivesZerosForOutputsThatNothingDependsOn) {
  const Variable x = vector("x");
  bool both = false;
  const auto op = make_op<WithGradientOp>([&](const Apply& node, std::span<const Variable> g) {
    both = g.size() == 2 && g[0].type() == node.output(0).type() && g[1].type() == node.output(1).type();
    return Gradients(g[0] + g[1]);
  });
  EXPECT_EQ(lop(op.outputs({x})[1], x, x).type(), x.type());
  EXPECT_TRUE(both);
}

}  // namespace
}  // namespace damo
