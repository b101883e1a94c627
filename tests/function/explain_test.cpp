#include <damo/function.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/ops/linalg.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/reduce.hpp>
#include <damo/ops/shape.hpp>

namespace damo {
namespace {

using ::testing::HasSubstr;

TEST(Explain, ShowsFormulasTrafficAndWhatEndsAGroup) {
  const Variable x = matrix("x"), y = matrix("y"), b = vector("b");
  const int line = __LINE__ + 1;
  const Variable z = exp(1.5 * x + y) * x + b, t = tanh(transpose(z)) - 2.0;
  z.set_name("z");
  const Function f = function({x, y, b}, {z, t, x - y}, {.device = Device("null"), .name = "demo"});
  const std::string text = f.explain();
  EXPECT_THAT(text, HasSubstr("function demo on null: 3 inputs, 3 nodes, 3 outputs\n"));
  EXPECT_THAT(text, HasSubstr("fused{6 ops} -> float32 (?, ?), float32 (?, ?)  at "));
  EXPECT_THAT(text, HasSubstr("explain_test.cpp:" + std::to_string(line) + ", " + std::to_string(line + 2) + "\n"));
  EXPECT_THAT(text, HasSubstr("       z = (exp(((1.5 * x) + y)) * x) + b\n"));
  EXPECT_THAT(text, HasSubstr("       v1.0 = x - y\n"));
  EXPECT_THAT(text, HasSubstr("moves 16 bytes an element and 1 broadcast input\n"));
  EXPECT_THAT(text, HasSubstr("ends here: feeds 2 dimshuffle: not elementwise: a view\n"));
  EXPECT_THAT(text, HasSubstr("a view: no kernel, no memory\n"));
  EXPECT_THAT(text, HasSubstr("       v3 = tanh(v2) - 2\n"));
  EXPECT_THAT(text, HasSubstr("fuse_elementwise: 9 -> 3 nodes in "));
}

TEST(Explain, EndsLongFormulasInAnEllipsis) {
  const Variable x = vector(std::string(500, 'W'));
  EXPECT_THAT(function({x}, {x * 2.0 + x}, {.device = Device("null")}).explain(), HasSubstr("WWW\xE2\x80\xA6\n"));
}

TEST(Explain, TakesNoLongerForARuleThanForItsPass) {
  const Variable x = vector("x");
  Variable y = x;
  for (int i = 0; i < 4; ++i) y = abs(abs(y));
  const Function f = function({x}, {y}, {.device = Device("null")});
  for (const PassReport& pass : f.build_report().passes) {
    for (const RuleReport& rule : pass.rules) EXPECT_LE(rule.milliseconds, pass.milliseconds) << rule.name << " of " << pass.name << ", asked " << rule.asked;
  }
}

TEST(Explain, NamesTheLimitThatEndsAGroup) {
  const Variable x = vector("x");
  const Function f = function({x}, {exp(exp(x))}, {.device = Device("null"), .fusion = {.cost = 20}});
  EXPECT_THAT(f.explain(), HasSubstr("ends here: feeds 2 exp: together beyond the limit of cost (24 > 20)\n"));
  const Function g = function({x}, {exp(exp(x))}, {.fuse = false, .device = Device("null")});
  EXPECT_THAT(g.explain(), HasSubstr("ends here: feeds 2 exp: fusion is off\n"));
  EXPECT_THAT(f.explain(), HasSubstr("ends here: gives result 0\n"));
}

TEST(Explain, TellsWhatTheFuserDecided) {
  const Variable x = matrix("x"), w = matrix("w");
  const auto page = [&](const Variable& y, FusionLimits limits = {}) { return function({x, w}, {y}, {.device = Device("null"), .allow_unused_inputs = true, .fusion = limits}).explain(); };
  EXPECT_THAT(page(sum(exp(sum(x, 0, true)) * x, 1)), HasSubstr("reductions over other axes"));
  EXPECT_THAT(page(tanh(exp(x) + dot(exp(x), w))), HasSubstr("feeds 2 dot: not elementwise: a matrix product\n"));
  EXPECT_THAT(page(tanh(exp(x) + dot(exp(x), w))), HasSubstr("one kernel would make a cycle through other nodes\n"));
  EXPECT_THAT(page(exp(x) + exp(w) + tanh(x), {.inputs = 1}), HasSubstr("together beyond the limit of inputs (1)\n"));
  const Variable row = input({float32, {1, 64}}, "row"), full = input({float32, {64, 64}}, "full");
  EXPECT_THAT(function({row, full}, {tanh(tanh(row)) + full}, {.device = Device("null")}).explain(),
              HasSubstr("its shape (64, 64) is not (1, 64), and computing it again for each element costs more than reading it\n"));
}

TEST(Explain, StaysShortForALargeGraph) {
  const Variable x = vector("x");
  Variable y = x;
  for (int i = 0; i < 500; ++i) y = tanh(y);
  const Function f = function({x}, {y}, {.fuse = false, .device = Device("null")});
  EXPECT_THAT(f.explain(), HasSubstr("  ... 440 more nodes\n"));
}

}  // namespace
}  // namespace damo
