// The graphs that divide_rows makes. Values: tests/function/divided_rows_test.cpp.
#include "ops/rewrites/divide_rows.hpp"

#include <chrono>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <damo/ops/cast.hpp>
#include <damo/ops/linalg.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/reduce.hpp>
#include <damo/ops/scan.hpp>
#include <damo/ops/shape.hpp>
#include <damo/ops/subtensor.hpp>
#include "support/formula.hpp"

namespace damo {
namespace {

using damo::testing::formula;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class DivideRows : public ::testing::Test {
 protected:
  FunctionGraph divided(const std::vector<Variable>& outputs) const {
    const Variable inputs[] = {x_, a_, b_, w_, u_};
    return divide_rows(merge_duplicates(FunctionGraph(inputs, outputs, true)));
  }
  std::string formula_of(const std::vector<Variable>& outputs) const { return formula(divided(outputs)); }
  /// Whether the pass changes anything.
  bool changes(const std::vector<Variable>& outputs) const {
    const Variable inputs[] = {x_, a_, b_, w_, u_};
    const FunctionGraph before = merge_duplicates(FunctionGraph(inputs, outputs, true)), after = divided(outputs);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (formula(before, before.outputs()[i]) != formula(after, after.outputs()[i])) return true;
    }
    return false;
  }
  static Variable half(const Variable& x, int part) { return subtensor(x, {{}, {8 * part, 8 * part + 8}}); }
  static Variable share(const Variable& x) { return x / sum(x, 1, keepdims); }

  const Variable x_ = input({float32, {kUnknown, 16}}, "x"), a_ = input({float32, {kUnknown, 8}}, "a"), b_ = input({float32, {kUnknown, 8}}, "b");
  const Variable w_ = input({float32, {16}}, "w"), u_ = matrix("u");
};

TEST_F(DivideRows, PartsOfANormAreWorkOnPartsOfItsArray) {
  const std::string a = "subtensor[:, 0:8](x)", b = "subtensor[:, 8:16](x)", sums = "sum(add(" + a + ", " + b + "))";
  const Variable n = share(x_);
  EXPECT_EQ(formula_of({half(n, 0) - half(n, 1)}), "sub(true_div(" + a + ", " + sums + "), true_div(" + b + ", " + sums + "))");
  const Variable m = x_ * w_ / max(x_, 1, keepdims), gate = half(m, 0) * half(m, 1);
  EXPECT_EQ(formula_of({gate}), "mul(true_div(mul(" + a + ", subtensor[0:8](w)), max(maximum(" + a + ", " + b + "))), true_div(mul(" + b + ", subtensor[8:16](w)), max(maximum(" + a + ", " + b + "))))") << "an operand with fewer axes is cut too";
}

TEST_F(DivideRows, APartOfAnArrayBesideItsRowsValuesIsEnough) {
  EXPECT_EQ(formula_of({half(x_, 1) - max(x_, 1, keepdims)}), "sub(subtensor[:, 8:16](x), max(maximum(subtensor[:, 0:8](x), subtensor[:, 8:16](x))))");
}

TEST_F(DivideRows, WhatIsPutTogetherIsReducedPartByPart) {
  EXPECT_EQ(formula_of({share(concatenate({a_, b_}, 1))}), "concatenate[1](true_div(a, sum(add(a, b))), true_div(b, sum(add(a, b))))");
  EXPECT_EQ(formula_of({mean(concatenate({a_, b_}, 1) * w_, 1, keepdims)}), "true_div(mean[1](add(mul(a, subtensor[0:8](w)), mul(b, subtensor[8:16](w)))), 2)");
}

TEST_F(DivideRows, PartsHaveTheGreatestExtentThatDividesAll) {
  const Variable x = input({float32, {kUnknown, 32}}, "x"), n = share(x), inputs[] = {x}, outputs[] = {exp(subtensor(n, {{}, {0, 8}})), transpose(subtensor(n, {{}, {8, {}}}))};
  const FunctionGraph graph = divide_rows(FunctionGraph(inputs, outputs));
  EXPECT_THAT(formula(graph, graph.outputs()[0]), StartsWith("exp(true_div(subtensor[:, 0:8](x), sum(add(add(subtensor[:, 0:8](x), subtensor[:, 8:16](x)), add("));
  EXPECT_THAT(formula(graph, graph.outputs()[1]), StartsWith("dimshuffle[1, 0](concatenate[1](true_div(subtensor[:, 8:16](x)"));
}

TEST_F(DivideRows, SumsOfNarrowFloatsAndOfIntegersAreJoinedInTheDTypeOfSums) {
  for (const DType dtype : {bfloat16, int8, bool_}) {
    const Variable x = input({dtype, {4, 64}}, "x"), total = sum(x, 1, keepdims), inputs[] = {x}, outputs[] = {subtensor(astype(x, total.dtype()) + total, {{}, {32, 64}}) * total};
    EXPECT_THAT(formula(divide_rows(FunctionGraph(inputs, outputs))), HasSubstr("sum(add(cast[" + std::string(name(dtype == bfloat16 ? float32 : int64)) + "](")) << name(dtype);
  }
}

/// The gradient by a weight stands beside its rows, and is put together of two.
TEST_F(DivideRows, ReductionsAlongOtherAxesAreDividedToo) {
  const Variable n = share(x_);
  const FunctionGraph graph = divided({half(n, 0) * half(n, 1), sum(n, 0)});
  EXPECT_THAT(formula(graph, graph.outputs()[1]), HasSubstr("concatenate[1](sum(true_div(subtensor[:, 0:8](x)"));
}

TEST_F(DivideRows, TheWholeMayBeNeededToo) {
  const Variable n = share(x_);
  const FunctionGraph graph = divided({half(n, 0) * half(n, 1), dot(n, w_)});
  EXPECT_THAT(formula(graph, graph.outputs()[1]), HasSubstr("(concatenate[1](true_div(subtensor[:, 0:8](x)"));
}

TEST_F(DivideRows, LeavesWhatGainsNothing) {
  const Variable n = share(x_), h = exp(x_);
  EXPECT_FALSE(changes({n * w_})) << "nobody looks at a part";
  EXPECT_FALSE(changes({half(h, 0) * half(h, 1)})) << "nothing is reduced";
  EXPECT_FALSE(changes({half(x_, 0) * half(x_, 1), sum(x_, 1)})) << "the parts follow from no row's value";
  EXPECT_FALSE(changes({dot(transpose(half(n, 0)), half(n, 1))})) << "products read views";
  EXPECT_FALSE(changes({dot(concatenate({a_, b_}, 1), w_) + sum(concatenate({a_, b_}, 1), 1)})) << "the parts are put together anyway";
}

TEST_F(DivideRows, LeavesWhatItCannotDivide) {
  const Variable n = share(x_);
  EXPECT_FALSE(changes({half(n, 0) * half(n, 1), cumsum(n, 1)})) << "a scan along the axis";
  EXPECT_FALSE(changes({half(n, 0) * half(n, 1), prod(n, 1)}));
  EXPECT_FALSE(changes({half(n, 0) * half(n, 1), n + index_along(n, 1)})) << "what goes by places";
  EXPECT_FALSE(changes({subtensor(n, {{}, {0, 4}}) * subtensor(n, {{}, {12, 16}})})) << "parts of 16 bytes";
  EXPECT_FALSE(changes({subtensor(n, {{}, {0, 16, 2}}) * subtensor(n, {{}, {1, 16, 2}})})) << "every other element";
  EXPECT_FALSE(changes({exp(subtensor(n, {{}, {0, 8}})), exp(subtensor(n, {{}, {8, 16}})), exp(subtensor(n, {{}, {4, 16}}))})) << "a stretch of several parts";
  const Variable m = share(u_);
  EXPECT_FALSE(changes({half(m, 0) * half(m, 1)})) << "of an extent that is not known";
  const Variable l = input({float32, {2, 1 << 15}}, "l"), s = share(l), inputs[] = {l}, outputs[] = {subtensor(s, {{}, {0, 1 << 14}}) * subtensor(s, {{}, {1 << 14, {}}})};
  EXPECT_THAT(formula(divide_rows(FunctionGraph(inputs, outputs))), StartsWith("mul(subtensor[:, 0:16384](true_div")) << "a long row";
  const Variable p = input({float32, {kUnknown, 2, 8}}, "p"), q = p - max(p, {0, 1}, keepdims), inputs_p[] = {p}, outputs_p[] = {subtensor(q, {{}, {0, 1}}) * subtensor(q, {{}, {1, 2}})};
  EXPECT_THAT(formula(divide_rows(FunctionGraph(inputs_p, outputs_p))), StartsWith("mul(subtensor[:, 0:1](sub(p, max(p")) << "the greatest of perhaps nothing";
}

/// Of one array that many reductions read each value is looked at once: ten times as many took a hundred times as long.
TEST_F(DivideRows, LooksAtEachValueOfALargeSpaceOnce) {
  const auto seconds = [&](int reductions) {
    std::vector<Variable> outputs{half(x_, 0) * 2.0};
    for (int i = 0; i < reductions; ++i) {
      const Variable y = x_ * (i + 2.0);
      outputs.push_back(sum(y / (y + 1.0), 1));
    }
    const Variable inputs[] = {x_};
    FunctionGraph graph(inputs, outputs, true);
    const auto begin = std::chrono::steady_clock::now();
    graph = divide_rows(std::move(graph));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  seconds(100);
  EXPECT_LT(seconds(3000), 40 * seconds(300) + 0.05);
}

/// The error of nothing to choose from names the shape that the user wrote.
TEST_F(DivideRows, LeavesAGreatestAcrossRowsThatMayBeNone) {
  const Variable n = share(x_);
  const FunctionGraph graph = divided({half(n, 0) * half(n, 1), max(n, 0)});
  EXPECT_THAT(formula(graph, graph.outputs()[1]), HasSubstr("max(concatenate[1](true_div(subtensor[:, 0:8](x)"));
}

TEST_F(DivideRows, LeavesLargeSpacesWhole) {
  Variable n = share(x_);
  for (int i = 0; i < 200; ++i) n = tanh(n * 1.5);
  EXPECT_FALSE(changes({half(n, 0) * half(n, 1)}));
}

}  // namespace
}  // namespace damo
