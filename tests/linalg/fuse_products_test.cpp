// What fuse_products takes into a product, and that the values stay.
#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "ops/contraction_op.hpp"
#include "support/devices.hpp"
#include "support/graphs.hpp"
#include "support/noise.hpp"
#include "support/sampling.hpp"
#include "support/scratch_directory.hpp"

namespace damo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::nodes_text;

class FuseProducts : public testing::NoiseOnEachDevice {
 protected:
  FuseProducts() : NoiseOnEachDevice(3) {}
  bool has_epilogues() const {
    const MatrixEngine* engine = MatrixLibrary::of(device().backend())->engine();
    return engine && engine->has_epilogues(float32);
  }
  /// The form of the graph's only contraction.
  static ContractionForm form_of(const Function& f) {
    for (NodeId node : f.graph().nodes()) {
      if (const auto* op = dynamic_cast<const ContractionOp*>(&f.graph().op(node))) return op->form();
    }
    return {};
  }
  static void expect_near(const Array& got, const Array& want, double bound, const std::string& what) {
    ASSERT_EQ(got.shape(), want.shape()) << what;
    const std::vector<double> a = got.to_doubles(), b = want.to_doubles();
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], bound * (1 + std::fabs(b[i]))) << what << " [" << i << "]";
  }
};

TEST_P(FuseProducts, MakesOneCallOfAlphaDotPlusBetaC) {
  const auto x = input({float32, {8, 16}}), y = input({float32, {16, 12}}), c = input({float32, {8, 12}});
  const Function f = function({x, y, c}, {2.0 * dot(x, y) + 0.5 * c}, options());
  EXPECT_EQ(nodes_text(f.graph()), "dot");
  EXPECT_EQ(form_of(f).alpha, 2);
  EXPECT_EQ(form_of(f).beta, 0.5);
  const Array a = noise({8, 16}), b = noise({16, 12}), d = noise({8, 12});
  expect_near(f(a, b, d)[0], 2.0 * dot(a, b) + 0.5 * d, 1e-5, "values");
  EXPECT_EQ(nodes_text(function({x, y, c}, {c - dot(x, y)}, options()).graph()), "dot");
  expect_near(function({x, y, c}, {c - dot(x, y)}, options())(a, b, d)[0], d - dot(a, b), 1e-5, "c - dot");
  expect_near(function({x, y, c}, {dot(x, y) / 4.0 - c}, options())(a, b, d)[0], dot(a, b) / 4.0 - d, 1e-5, "dot / 4 - c");
  expect_near(function({x, y, c}, {-dot(x, y)}, {.device = device(), .allow_unused_inputs = true})(a, b, d)[0], -dot(a, b), 1e-5, "-dot");
}

TEST_P(FuseProducts, WritesIntoADeadC) {
  const auto x = input({float32, {8, 16}}), y = input({float32, {16, 12}});
  const Variable first = dot(x, y), both = first + dot(tanh(x), y);
  const Function f = function({x, y}, {both}, options());
  EXPECT_THAT(f.explain(), HasSubstr("in_place=true"));
  const Array a = noise({8, 16}), b = noise({16, 12});
  expect_near(f(a, b)[0], dot(a, b) + dot(tanh(a), b), 1e-5, "two products");
  const Function kept = function({x, y}, {both, first}, options());
  EXPECT_THAT(kept.explain(), Not(HasSubstr("in_place=true"))) << "the first product is a result too";
  const Results results = kept(a, b);
  expect_near(results[0], dot(a, b) + dot(tanh(a), b), 1e-5, "sum");
  expect_near(results[1], dot(a, b), 1e-5, "what was added to");
}

TEST_P(FuseProducts, StepsAlongAGradientInTheVariablesOwnMemory) {
  const Array start = noise({16, 12});
  const Shared w = shared("w", start);
  const auto x = input({float32, {8, 16}}, "x"), g = input({float32, {8, 12}}, "g");
  const Function step = function({x, g}, {}, {.device = device(), .updates = {{w, w - 0.25 * dot(transpose(x), g)}}});
  EXPECT_EQ(nodes_text(step.graph()), "dimshuffle dot");
  const Array a = noise({8, 16}), b = noise({8, 12});
  step(a, b);
  expect_near(w.array(), start - 0.25 * dot(a.transpose(), b), 1e-5, "one step");
  step(a, b);
  expect_near(w.array(), start - 0.5 * dot(a.transpose(), b), 1e-5, "two steps");
}

// Nobody said how many columns the batch has, so the product's extents follow from the variable's alone.
TEST_P(FuseProducts, StepsByAProductOfUnknownExtents) {
  const Array start = noise({16, 12});
  const Shared w = shared("w", start);
  const auto x = matrix("x"), g = matrix("g");
  const Function step = function({x, g}, {}, {.device = device(), .updates = {{w, w - 0.25 * dot(transpose(x), g)}}});
  EXPECT_EQ(nodes_text(step.graph()), "dimshuffle dot");
  EXPECT_THAT(step.explain(), HasSubstr("updates w where it lies"));
  const Array a = noise({8, 16}), b = noise({8, 12});
  step(a, b);
  expect_near(w.array(), start - 0.25 * dot(a.transpose(), b), 1e-5, "one step");
  const Array held = w.array();
  for (const auto& [rows, columns] : {std::pair{16, 1}, {1, 12}, {1, 1}, {15, 12}}) {
    EXPECT_THAT(testing::error_of<ShapeError>([&] { step(noise({8, rows}), noise({8, columns})); }), HasSubstr("fuse_products_test.cpp")) << "an extent of 1 that nobody declared does not stretch";
  }
  expect_near(w.array(), held, 0, "nothing was written");
}

TEST_P(FuseProducts, TakesABiasThatNoKernelWouldAdd) {
  const auto x = matrix("x"), w = matrix("w"), b = vector("b");
  const Function f = function({x, w, b}, {dot(x, w) + b}, options());
  EXPECT_EQ(nodes_text(f.graph()), "dot");
  const Array a = noise({5, 7}), v = noise({7, 3}), c = noise({3});
  expect_near(f(a, v, c)[0], dot(a, v) + c, 1e-5, "bias");
  expect_near(f(noise({0, 7}), v, c)[0], Array::empty({0, 3}, float32, device()), 0, "no rows");
  expect_near(f(Array::zeros({5, 0}, float32, device()), Array::zeros({0, 3}, float32, device()), c)[0], c.broadcast_to({5, 3}).copy(), 0, "nothing to sum: the bias");
  expect_near(f(a.slice({{0, 1}}), v, c)[0], dot(a.slice({{0, 1}}), v) + c, 1e-5, "one row");
  expect_near(f(a, v.slice({{}, {0, 1}}), c.slice({{0, 1}}))[0], dot(a, v.slice({{}, {0, 1}})) + c.slice({{0, 1}}), 1e-5, "one column");
}

TEST_P(FuseProducts, KeepsNaNThroughEveryTail) {
  const auto x = matrix("x"), w = matrix("w"), b = vector("b");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Variable& z : {relu(dot(x, w) + b), gelu_tanh(dot(x, w) + b), relu(dot(x, w)), 2.0 * dot(x, w) + b}) {
    const Function f = function({x, w, b}, {z}, {.device = device(), .allow_unused_inputs = true});
    const std::vector<float> got = Array(f(array({nan, 1, 1, 1}, {2, 2}), array({1, 2, 3, 4}, {2, 2}), array({0, 0}))).to_vector<float>();
    EXPECT_TRUE(std::isnan(got[0]) && std::isnan(got[1])) << nodes_text(f.graph());
    EXPECT_FALSE(std::isnan(got[2]) || std::isnan(got[3])) << nodes_text(f.graph());
  }
}

TEST_P(FuseProducts, GeluKeepsItsAccuracyFarOut) {
  const auto x = matrix("x"), w = matrix("w"), b = vector("b");
  const Function f = function({x, w, b}, {gelu_tanh(dot(x, w) + b)}, options());
  const std::vector<float> z = {-1, -2, -3, -4, -4.5f, -5, -5.5f, 3}, got = Array(f(array({1}, {1, 1}), array(z, {1, 8}), Array::zeros({8}, float32, device()))).to_vector<float>();
  for (std::size_t i = 0; i < z.size(); ++i) {
    const double v = z[i], expected = v / (1 + std::exp(-2 * 0.7978845608028654 * (v + 0.044715 * v * v * v)));
    EXPECT_NEAR(got[i], expected, 4e-6 * std::abs(expected)) << v;
  }
}

TEST_P(FuseProducts, LeavesWhatAKernelReadsAnyway) {
  const auto x = matrix("x"), w = matrix("w"), b = vector("b");
  EXPECT_EQ(nodes_text(function({x, w, b}, {tanh(dot(x, w) + b)}, options()).graph()), "dot fused(add tanh)");
  const std::string relu_graph = nodes_text(function({x, w, b}, {relu(dot(x, w) + b)}, options()).graph());
  EXPECT_THAT(relu_graph, HasSubstr("relu")) << "a library's gives 0 for NaN";
  const std::string two = nodes_text(function({x, w, b}, {dot(x, w) + b, dot(x, w)}, options()).graph());
  EXPECT_THAT(two, HasSubstr("add")) << "the product is a result of its own";
}

// A product stands between the readers of the sum, so no kernel has both.
TEST_P(FuseProducts, TakesABiasThatAGradientReadsAgain) {
  const auto x = input({float32, {5, 7}}), w = input({float32, {7, 6}}), b = input({float32, {6}}), u = input({float32, {6, 4}});
  const Variable h = dot(x, w) + b, cost = sum(sqr(dot(sin(h), u)));
  const Function f = function({x, w, b, u}, {grad(cost, std::vector<Variable>{w})[0]}, options());
  EXPECT_EQ(nodes_text(f.graph()), "dot dimshuffle sin dot dot fused(cos mul) dimshuffle dot");
  EXPECT_THAT(nodes_text(function({x, w, b}, {softmax(h)}, options()).graph()), HasSubstr("add")) << "one kernel reads the sum twice";
  const Array a = noise({5, 7}), v = noise({7, 6}), c = noise({6}), d = noise({6, 4});
  const Array a64 = astype(a, float64), d64 = astype(d, float64), h64 = dot(a64, astype(v, float64)) + astype(c, float64);
  const Array wanted = dot(a64.transpose(), cos(h64) * dot(2.0 * dot(sin(h64), d64), d64.transpose()));
  expect_near(f(a, v, c, d)[0], astype(wanted, float32), 2e-5, "gradient by w");
}

TEST_P(FuseProducts, IsSwitchedOffByName) {
  const auto x = matrix("x"), w = matrix("w"), b = vector("b");
  const testing::Environment off("DAMO_DISABLE", "fuse_products");
  EXPECT_EQ(nodes_text(function({x, w, b}, {2.0 * dot(x, w) + b}, options()).graph()), "dot fused(add mul)");
}

TEST_P(FuseProducts, ZeroTimesAProductKeepsItsNaN) {
  const auto x = matrix("x"), w = matrix("w");
  const Function f = function({x, w}, {0.0 * dot(x, w)}, options());
  const Array nan = Array::full({2, 2}, std::nan(""), float32, device());
  for (const double value : f(nan, nan)[0].to_doubles()) EXPECT_TRUE(std::isnan(value));
}

TEST_P(FuseProducts, Tf32IsAnOption) {
  const auto x = matrix("x"), w = matrix("w");
  EXPECT_FALSE(form_of(function({x, w}, {dot(x, w)}, options())).tf32);
  const Function f = function({x, w}, {dot(x, w)}, {.device = device(), .tf32 = true});
  EXPECT_TRUE(form_of(f).tf32);
  const Array a = noise({64, 64}), b = noise({64, 64});
  expect_near(f(a, b)[0], dot(a, b), 0.1, "values");
  const testing::Environment on("DAMO_TF32", "1");
  EXPECT_TRUE(form_of(function({x, w}, {dot(x, w)}, options())).tf32);
}

TEST_P(FuseProducts, RandomTailsKeepTheirValues) {
  for (int round = 0, rounds = testing::is_thorough() ? 60 : 24; round < rounds; ++round) {
    const DType dtype = round % 4 == 3 ? bfloat16 : round % 4 == 2 ? float64 : float32;
    const std::int64_t m = pick(1, 9), k = pick(0, 9), n = pick(1, 9);
    const bool known = pick(0, 1);
    const auto dims = [&](Shape shape) { return known ? shape : Shape::filled(shape.rank(), kUnknown); };
    const std::vector<Shape> shapes = {{m, k}, {k, n}, {n}, {m, n}};
    std::vector<Variable> v;
    std::vector<Array> values;
    for (const Shape& shape : shapes) {
      v.push_back(input({dtype, dims(shape)}));
      values.push_back(noise(shape, dtype));
    }
    Variable z = dot(v[0], v[1]);
    std::string text = std::string(name(dtype)) + " " + to_string(shapes[0]) + " " + to_string(shapes[1]) + ": dot";
    std::vector<Variable> results;
    for (int step = pick(1, 5); step > 0; --step) {
      switch (pick(0, 9)) {
        case 0: z = 0.5 * z, text += " * 0.5"; break;
        case 1: z = -z, text += " neg"; break;
        case 2: z = z / 3.0, text += " / 3"; break;
        case 3: z = z + v[2], text += " + bias"; break;
        case 4: z = z - 2.0 * v[3], text += " - 2 c"; break;
        case 5: z = tanh(v[3]) - z, text += " tanh(c) -"; break;
        case 6: z = relu(z), text += " relu"; break;
        case 7: z = gelu_tanh(z), text += " gelu_tanh"; break;
        case 8: z = z + dot(v[0], v[1]), text += " + dot"; break;
        default: results.push_back(z), text += " (result)"; break;
      }
    }
    results.push_back(z);
    if (dtype == bfloat16 && pick(0, 1)) results.push_back(cast(dot(v[0], v[1]), float32)), text += " cast(dot)";
    Options plain = options(), fused = options();
    plain.allow_unused_inputs = fused.allow_unused_inputs = true;
    plain.fuse = false;
    const Results want = function(v, results, plain).call(values), got = function(v, results, fused).call(values);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double bound = dtype == float64 ? 1e-12 : dtype == float32 ? 2e-5 : 0.15;  // bfloat16: each step of the unfused one rounds
      const std::vector<double> a = got[i].to_doubles(), b = want[i].to_doubles();
      for (std::size_t e = 0; e < a.size(); ++e) ASSERT_NEAR(a[e], b[e], bound * (10 + std::fabs(b[e]))) << text << ", result " << i << " [" << e << "]";
    }
  }
}

DAMO_ON_EACH_DEVICE(FuseProducts);

}  // namespace
}  // namespace damo
