// Rows: what they own, when they are one, promotion, and users' own rows, which fuse and run like the built-in ones.
#include <damo/elementwise.hpp>

#include <cmath>
#include <optional>

#include <gmock/gmock.h>

#include <damo/ops/cast.hpp>
#include <damo/ops/math.hpp>
#include "ops/elementwise_op.hpp"
#include "ops/rewrites/fusion.hpp"
#include "runtime/exec/executor.hpp"
#include "support/devices.hpp"
#include "support/graphs.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using damo::testing::nodes_text;
using ::testing::ElementsAre;
using Variables = std::vector<Variable>;

const Elementwise& swish() {
  static const Elementwise row{{.name = "test_swish", .doc = "x sigmoid(x)", .code = "x0 / (T(1) + exp(-x0))", .cost = 20}};
  return row;
}
const Elementwise& axpy() {
  static const Elementwise row{{.name = "test_axpy", .doc = "a x + y", .code = "x0 * x1 + x2", .integer_code = "wrap_add(wrap_mul(x0, x1), x2)"}};
  return row;
}

TEST(ElementwiseRows, AreFoundByNameIfTheyAreBuiltIn) {
  const auto rows = elementwise_rows();
  EXPECT_EQ(rows.front()->name, "add");
  EXPECT_EQ(rows.back()->name, "softsign");
  EXPECT_EQ(find_elementwise("softsign"), rows.back());
  EXPECT_EQ(find_elementwise("no_such_row"), nullptr);
  EXPECT_EQ(find_elementwise(swish().row().name), nullptr);
  EXPECT_EQ(swish().row().file, __FILE__);
}

TEST(ElementwiseRows, OwnTheirText) {
  std::optional<Elementwise> row;
  {
    const std::string name = "row_made_at_run_time_with_a_long_name", code = "x0 * x1 + T(" + std::to_string(1) + ")", file = "some/file/that/was/read.rows";
    row.emplace(ElementwiseRow{.name = name, .doc = "made of " + name, .code = code, .line = 7, .file = file});
  }
  const std::string overwritten(200, '?');  // where the texts may have been
  const Variable x = vector("x"), y = (*row)(x, x);
  row.reset();
  EXPECT_EQ(y.owner().op().name(), "row_made_at_run_time_with_a_long_name");
  const auto owner = y.owner();
  const auto& op = static_cast<const ElementwiseOp&>(owner.op());
  EXPECT_EQ(op.row().code, "x0 * x1 + T(1)");
  EXPECT_EQ(op.step(std::vector<DType>{float32, float32}, {0, 1}).row.file, "some/file/that/was/read.rows");
  EXPECT_THAT(error_of([&] { Elementwise(op.row())(x); }), ::testing::HasSubstr("takes 2 inputs, 1 was given"));
}

Elementwise half_of(std::string code, int line = __builtin_LINE()) {
  return Elementwise({.name = "test_half_of", .doc = "x / 2", .code = std::move(code), .gradient = [](auto& g, auto&, auto&) { return g * 0.5; }, .line = line});
}

TEST(ElementwiseRows, ThatComputeTheSameAreOneOp) {
  const Variable x = vector("x");
  const Elementwise first = half_of("x0 / T(2)", 3), again = half_of("x0 / T(2)", 4);
  EXPECT_EQ(nodes_text(merge_duplicates(FunctionGraph(Variables{x}, Variables{first(x) + again(x)}))), "test_half_of add");
  const Elementwise other = half_of("x0 * T(0.5)");
  EXPECT_EQ(nodes_text(merge_duplicates(FunctionGraph(Variables{x}, Variables{first(x) + other(x)}))), "test_half_of test_half_of add");
}

// As a header that two files include has it: two objects, and a lambda's function in each file.
TEST(ElementwiseRows, OfOneLineAreOneOpThoughEachFileHasItsOwnGradientFunction) {
  const auto made = [](RowGradient gradient) { return ElementwiseRow{.name = "test_row_of_a_header", .code = "x0", .gradient = gradient, .line = 5, .file = "header.hpp"}; };
  const ElementwiseRow a = made([](auto& g, auto&, auto&) { return g; }), b = made([](auto& g, auto&, auto&) { return g; });
  EXPECT_FALSE(a.gradient == b.gradient);
  EXPECT_EQ(a, b);
  ElementwiseRow c = b;
  c.line = 6;
  EXPECT_FALSE(a == c) << "two gradient rules that may differ";
}

TEST(ElementwiseTypes, ArePromotedAsNumPyDoes) {
  const Variable i = vector("i", int32), h = vector("h", float16), f = vector("f"), d = vector("d", float64), b = vector("b", bool_);
  EXPECT_EQ((f + 1.5).dtype(), float32) << "a C++ number is weak";
  EXPECT_EQ((h * 2).dtype(), float16);
  EXPECT_EQ((i + 1).dtype(), int32);
  EXPECT_EQ((i + 1.5).dtype(), float64) << "a higher kind: the integer's own floating dtype";
  EXPECT_EQ((i + f).dtype(), float64);
  EXPECT_EQ((h + f).dtype(), float32);
  EXPECT_EQ((f + d).dtype(), float64);
  EXPECT_EQ((i / i).dtype(), float64);
  EXPECT_EQ(exp(i).dtype(), float64);
  EXPECT_EQ(lt(h, f).dtype(), bool_);
  EXPECT_EQ((b + b).dtype(), bool_);
  EXPECT_EQ(where(b, h, f).dtype(), float32) << "the condition takes no part";
  EXPECT_EQ(axpy()(2.0, h, 1).dtype(), float16);
}

TEST(ElementwiseTypes, BroadcastKnownAndUnknownExtents) {
  const auto of = [](const Shape& dims) { return input({float32, dims}); };
  EXPECT_EQ((of({3, 1}) + of({4})).dims(), (Shape{3, 4}));
  EXPECT_EQ((of({kUnknown, 4}) + of({3, 1})).dims(), (Shape{3, 4}));
  EXPECT_EQ((of({kUnknown}) + of({1})).dims(), (Shape{kUnknown}));
  EXPECT_EQ((of({}) + of({2, 0})).dims(), (Shape{2, 0}));
}

TEST(ElementwiseTypes, CastToTheSameDtypeIsNothing) {
  const Variable x = vector("x");
  EXPECT_TRUE(cast(x, float32).is_same(x));
  EXPECT_FALSE(cast(cast(x, int8), float32).is_same(x)) << "it cuts the fraction off";
}

TEST(ElementwiseTypes, NumbersKeepTheLineOfTheVariable) {
  const Variable x = vector("x"), y = 2.0 * x; const int line = __LINE__;
  EXPECT_EQ(y.where().line, line);
}

TEST(ElementwiseErrors, NameTheLineOfTheCallWhateverTheNumberOfInputs) {
  static const Elementwise two{{.name = "test_two", .code = "x0 + x1"}}, five{{.name = "test_five", .code = "x0 + x1 + x2 + x3 + x4"}};
  const Variable x = vector("x"), y = input({float32, {3}}, "y"), z = input({float32, {4}}, "z");
  const auto here = [](int line) { return "elementwise_test.cpp:" + std::to_string(line); };
  EXPECT_THAT(error_of([&] { two(y, z); }), ::testing::HasSubstr(here(__LINE__)));
  EXPECT_THAT(error_of([&] { five(2.0, y, 1, z, x); }), ::testing::HasSubstr(here(__LINE__)));
  EXPECT_THAT(error_of([&] { two(x); }), ::testing::HasSubstr(here(__LINE__)));
  EXPECT_EQ(two(1.0, x).where().line, __LINE__);
  EXPECT_EQ(std::string(five(x, x, x, x, x).where().file), __FILE__);
}

class ElementwiseOnEachDevice : public damo::testing::OnEachDevice {
 protected:
  std::vector<Array> run(const Variables& inputs, const Variables& outputs, const std::vector<Array>& arrays, bool fuse) {
    FunctionGraph graph = merge_duplicates(FunctionGraph(inputs, outputs));
    if (fuse) graph = fuse_elementwise(std::move(graph), {});
    text_ = nodes_text(graph);
    return Executor(graph, device(), false).call(arrays);
  }
  std::string text_;
};

TEST_P(ElementwiseOnEachDevice, FusesUsersRowsWithBuiltInOnes) {
  const Variable x = vector("x"), y = vector("y");
  const std::vector<float> values = {-2, 0, 0.5, 3};
  for (const bool fuse : {true, false}) {
    const auto got = run({x, y}, {axpy()(swish()(x), 2.0, y) - 1.0}, {array(values), array({1, 2, 3, 4})}, fuse)[0].to_doubles();
    EXPECT_EQ(text_, fuse ? "fused(sub test_axpy test_swish)" : "test_swish test_axpy sub");
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double x0 = values[i], want = x0 / (1 + std::exp(-x0)) * 2 + (static_cast<double>(i) + 1) - 1;
      EXPECT_NEAR(got[i], want, 2e-6) << i;
    }
  }
}

TEST_P(ElementwiseOnEachDevice, RunsAUsersIntegerCode) {
  const Variable i = vector("i", int8);
  const Array values = Array::from(std::vector<std::int8_t>{100, -3}, device());
  EXPECT_THAT(run({i}, {axpy()(i, 2, 5)}, {values}, true)[0].to_vector<std::int8_t>(), ElementsAre(-51, -1)) << "100 * 2 + 5 wraps";
}

TEST_P(ElementwiseOnEachDevice, KeepsLiteralsExact) {
  const Variable x = vector("x", float64), i = vector("i", int64), h = vector("h", float16);
  const double third = 1.0 / 3;
  const auto results = run({x, i, h}, {x + third, i + INT64_MIN, h * INFINITY, x * -0.0, minimum(x, NAN)},
                           {Array::from(std::vector<double>{0}, device()), Array::from(std::vector<std::int64_t>{7}, device()),
                            Array::from(std::vector<Half>{Half(1.0f)}, device())}, true);
  EXPECT_EQ(results[0].item().as_double(), third);
  EXPECT_EQ(results[1].item().as_int(), INT64_MIN + 7);
  EXPECT_EQ(results[2].item().as_double(), INFINITY);
  EXPECT_TRUE(std::signbit(results[3].item().as_double()));
  EXPECT_TRUE(std::isnan(results[4].item().as_double()));
}

TEST_P(ElementwiseOnEachDevice, CastsTowardsZero) {
  const Variable x = vector("x");
  const Array values = array({-1.7F, 0, 0.3F, 2.5F, 100.9F});
  const auto results = run({x}, {cast(x, int32), cast(x, bool_), cast(x, float16), cast(cast(x, int8), float32)}, {values}, true);
  EXPECT_THAT(results[0].to_vector<std::int32_t>(), ElementsAre(-1, 0, 0, 2, 100));
  EXPECT_THAT(results[1].to_doubles(), ElementsAre(1, 0, 1, 1, 1));
  EXPECT_EQ(results[2].to_doubles()[2], static_cast<double>(static_cast<float>(Half(0.3F))));
  EXPECT_THAT(results[3].to_vector<float>(), ElementsAre(-1, 0, 0, 2, 100));
}

TEST_P(ElementwiseOnEachDevice, RoundsACastToHalfEvenInsideAKernel) {
  // 1 + 2^-12 is no float16: a fused cast and back must lose it as the unfused one does.
  const Variable x = vector("x");
  for (const bool fuse : {true, false}) {
    for (const DType half : {float16, bfloat16}) {
      EXPECT_EQ(run({x}, {cast(cast(x, half), float32) - 1.0}, {array({1 + 0x1p-12F})}, fuse)[0].item().as_double(), 0) << name(half);
    }
  }
}

DAMO_ON_EACH_DEVICE(ElementwiseOnEachDevice);

}  // namespace
}  // namespace damo
