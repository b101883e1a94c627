// Each optimizer against its published formula, step by step in float64.
#include <damo/optim.hpp>

#include <cmath>
#include <functional>
#include <numbers>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/function.hpp>
#include <damo/gradient.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/reduce.hpp>

#include "support/devices.hpp"

using namespace damo;
using namespace damo::testing;
using ::testing::HasSubstr;

namespace {

constexpr int kSteps = 6, kSize = 5;

/// One number of a parameter: its value, and what the optimizer keeps of it.
struct Element {
  double p, a = 0, b = 0;
};
/// The formula: t counts from 1.
using Formula = std::function<void(Element& e, double g, int t)>;
using Optimizer = std::function<optim::Updates(const optim::CostOrGradients&, const std::vector<Shared>&)>;

double gradient_at(int t, int i) { return std::sin(1.7 * t + i) * (i == 3 ? 1e-3 : i + 0.5); }

class OptimOnEachDevice : public OnEachDevice {
 protected:
  /// Two parameters, whose gradients are inputs, beside the formula. relative: of the distance that the parameter has gone.
  void expect_formula(const Optimizer& optimizer, const Formula& formula, DType dtype, double relative) {
    std::vector<Element> elements;
    for (int i = 0; i < kSize; ++i) elements.push_back({0.25 * (i - 2)});
    std::vector<double> start;
    for (const Element& e : elements) start.push_back(e.p);
    const auto values = [&](const std::vector<double>& numbers) {
      return visit(dtype, [&]<class T>(T) {
        std::vector<T> host;
        for (const double number : numbers) host.push_back(static_cast<T>(number));
        if constexpr (std::is_same_v<T, bool>) return Array();
        else return Array::from(host, device());
      });
    };
    const Shared w = shared("w", values(start)), u = shared("u", values({start[1]}));
    const Variable g = vector("g", dtype), h = vector("h", dtype);
    const Function step = function({g, h}, {}, {.device = device(), .updates = optimizer(std::vector<Variable>{g, h}, {w, u})});
    for (int t = 1; t <= kSteps; ++t) {
      std::vector<double> gradients;
      for (int i = 0; i < kSize; ++i) gradients.push_back(gradient_at(t, i));
      const Array given = values(gradients);
      gradients = given.to_doubles();  // as the dtype has them
      step(given, values({gradients[1]}));
      for (int i = 0; i < kSize; ++i) formula(elements[static_cast<std::size_t>(i)], gradients[static_cast<std::size_t>(i)], t);
      const std::vector<double> found = w.array().to_doubles();
      for (int i = 0; i < kSize; ++i) {
        const double expected = elements[static_cast<std::size_t>(i)].p;
        EXPECT_NEAR(found[static_cast<std::size_t>(i)], expected, relative * (std::abs(expected) + 0.02)) << name(dtype) << " step " << t << ", element " << i;
      }
      EXPECT_NEAR(u.array().to_doubles()[0], elements[1].p, relative * (std::abs(elements[1].p) + 0.02));
    }
  }
  void expect_formula(const Optimizer& optimizer, const Formula& formula) { expect_formula(optimizer, formula, float64, 1e-13); }
};
DAMO_ON_EACH_DEVICE(OptimOnEachDevice);

TEST_P(OptimOnEachDevice, SgdGoesDownTheGradient) {
  expect_formula([](auto& from, auto& p) { return optim::sgd(from, p, 0.05); }, [](Element& e, double g, int) { e.p -= 0.05 * g; });
}

TEST_P(OptimOnEachDevice, SgdKeepsItsMomentum) {
  expect_formula([](auto& from, auto& p) { return optim::sgd(from, p, 0.05, {.momentum = 0.9}); }, [](Element& e, double g, int) {
    e.a = 0.9 * e.a - 0.05 * g;
    e.p += e.a;
  });
}

TEST_P(OptimOnEachDevice, NesterovLooksAhead) {
  expect_formula([](auto& from, auto& p) { return optim::sgd(from, p, 0.05, {.momentum = 0.9, .nesterov = true}); }, [](Element& e, double g, int) {
    e.a = 0.9 * e.a - 0.05 * g;
    e.p += 0.9 * e.a - 0.05 * g;
  });
}

TEST_P(OptimOnEachDevice, AdagradDividesByAllThatWas) {
  expect_formula([](auto& from, auto& p) { return optim::adagrad(from, p, 0.1); }, [](Element& e, double g, int) {
    e.a += g * g;
    e.p -= 0.1 * g / (std::sqrt(e.a) + 1e-10);
  });
}

TEST_P(OptimOnEachDevice, RmspropDividesByWhatWasOfLate) {
  expect_formula([](auto& from, auto& p) { return optim::rmsprop(from, p, 0.01, 0.8); }, [](Element& e, double g, int) {
    e.a = 0.8 * e.a + 0.2 * g * g;
    e.p -= 0.01 * g / (std::sqrt(e.a) + 1e-8);
  });
}

void adam(Element& e, double g, int t, double decay) {
  e.a = 0.9 * e.a + 0.1 * g;
  e.b = 0.999 * e.b + 0.001 * g * g;
  const double mean = e.a / (1 - std::pow(0.9, t)), square = e.b / (1 - std::pow(0.999, t));
  e.p -= 0.01 * (mean / (std::sqrt(square) + 1e-8) + decay * e.p);
}

TEST_P(OptimOnEachDevice, AdamCorrectsItsBias) {
  expect_formula([](auto& from, auto& p) { return optim::adam(from, p, 0.01); }, [](Element& e, double g, int t) { adam(e, g, t, 0); });
}

TEST_P(OptimOnEachDevice, AdamKeepsItsDigitsInShorterDtypes) {
  const auto optimizer = [](auto& from, auto& p) { return optim::adam(from, p, 0.01); };
  const auto formula = [](Element& e, double g, int t) { adam(e, g, t, 0); };
  expect_formula(optimizer, formula, float32, 2e-6);
  expect_formula(optimizer, formula, bfloat16, kSteps * 0x1p-8);  // parameters are rounded to 8 bits at each step
}

TEST_P(OptimOnEachDevice, AdamwShrinksWeightsByThemselves) {
  expect_formula([](auto& from, auto& p) { return optim::adamw(from, p, 0.01, 0.1); }, [](Element& e, double g, int t) { adam(e, g, t, 0.1); });
}

TEST_P(OptimOnEachDevice, AdamMayRememberNoGradients) {
  // Without memory a step is rate g / (|g| + epsilon): the corrections divide by 1 - 0^t = 1 and 1 - beta2^1.
  const Shared w = shared("w", Array::from(std::vector<double>{1, -2}, device()));
  const Function train = function({}, {}, {.device = device(), .updates = optim::adam(sum(sqr(w)), {w}, 0.25, {.beta1 = 0})});
  train();
  EXPECT_THAT(w.array().to_vector<double>(), ::testing::ElementsAre(::testing::DoubleNear(0.75, 1e-7), ::testing::DoubleNear(-1.75, 1e-7)));
}

TEST_P(OptimOnEachDevice, TheRateMayBeAVariable) {
  const Shared w = shared("w", array({1, 2}));
  const Variable cost = sum(sqr(w)), rate = scalar("rate", float64);
  const Function step = function({rate}, {cost}, {.device = device(), .updates = optim::sgd(cost, {w}, rate)});
  step(Array::scalar(0.25, device()));
  EXPECT_EQ(w.array().to_vector<float>(), (std::vector<float>{0.5, 1}));
  step(Array::scalar(0.5, device()));
  EXPECT_EQ(w.array().to_vector<float>(), (std::vector<float>{0, 0}));
}

TEST_P(OptimOnEachDevice, ClippingKeepsTheDirection) {
  const Variable g = vector("g"), h = matrix("h");
  const std::vector<Variable> clipped = optim::clip_by_global_norm({g, h}, 2.5);
  const Function f = function({g, h}, {clipped[0], clipped[1], optim::global_norm({g, h})}, {.device = device()});
  const auto [a, b, norm] = f.call<3>(array({3, 0}), array({0, 4}, {2, 1}));
  EXPECT_FLOAT_EQ(norm.to_vector<float>()[0], 5);
  EXPECT_EQ(a.to_vector<float>(), (std::vector<float>{1.5, 0}));
  EXPECT_EQ(b.to_vector<float>(), (std::vector<float>{0, 2}));
  EXPECT_EQ(f(array({1, 0}), array({0, 1}, {2, 1}))[0].to_vector<float>(), (std::vector<float>{1, 0}));
}

TEST_P(OptimOnEachDevice, SchedulesFollowTheStep) {
  const Variable step = scalar("step", int64);
  const Function f = function({step}, {optim::cosine(step, 0.1, 100, 0.01), optim::exponential(step, 0.1, 0.5, 10), optim::warmup(step, 0.1, 4), optim::warmup(step, optim::cosine(step, 0.1, 100), 4)},
                              {.device = device()});
  for (const std::int64_t t : {0, 1, 3, 50, 100, 1000}) {
    const double x = std::min(t / 100.0, 1.0), half = (1 + std::cos(std::numbers::pi * x)) / 2, ramp = std::min((t + 1) / 4.0, 1.0);
    const std::vector<double> expected{0.01 + 0.09 * half, 0.1 * std::pow(0.5, t / 10.0), 0.1 * ramp, 0.1 * half * ramp};
    const Results found = f(Array::scalar(t, device()));
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i].item().as_double(), expected[i], 1e-7 + 1e-5 * expected[i]) << t << ", " << i;
  }
}

TEST(Optim, SaysWhatDoesNotFitAndWhere) {
  const auto has_line = AllOf(HasSubstr(" built at "), HasSubstr("optim_test.cpp:"));
  const Shared w = shared("w", Array::zeros({2}, float32, Device("cpu")));
  const Variable g = vector("g"), d = vector("d", float64);
  EXPECT_THAT(error_of<GraphError>([&] { optim::sgd(std::vector<Variable>{g, g}, {w}, 0.1); }), AllOf(HasSubstr("optim: 2 gradients for 1 parameters"), has_line));
  EXPECT_THAT(error_of<GraphError>([&] { optim::adam(std::vector<Variable>{d}, {w}, 0.1); }), AllOf(HasSubstr("the gradient of w float32 (2,) is d float64 (?,)"), has_line));
  EXPECT_THAT(error_of<OptionError>([&] { optim::sgd(std::vector<Variable>{g}, {w}, 0.1, {.nesterov = true}); }), AllOf(HasSubstr("looks ahead by its momentum, which is 0"), has_line));
  EXPECT_THAT(error_of<OptionError>([&] { optim::sgd(std::vector<Variable>{g}, {w}, 0.1, {.momentum = 1.5}); }), AllOf(HasSubstr("momentum lies between 0 and 1, this one is 1.5"), has_line));
  EXPECT_THAT(error_of<OptionError>([&] { optim::adam(std::vector<Variable>{g}, {w}, 0.1, {.beta2 = 1}); }), AllOf(HasSubstr("adam: a beta is 0 or more and less than 1"), has_line));
  EXPECT_THAT(error_of<OptionError>([&] { optim::rmsprop(std::vector<Variable>{g}, {w}, 0.1, 1.0); }), AllOf(HasSubstr("rmsprop: decay lies between 0 and 1"), has_line));
  EXPECT_THAT(error_of<OptionError>([&] { optim::clip_by_global_norm({g}, 0); }), AllOf(HasSubstr("the limit is greater than 0"), has_line));
  EXPECT_THAT(error_of<GraphError>([] { optim::global_norm({}); }), AllOf(HasSubstr("global_norm: of no gradients"), has_line));
  EXPECT_THAT(error_of<GraphError>([] { optim::clip_by_global_norm({}, 1); }), AllOf(HasSubstr("clip_by_global_norm: of no gradients"), has_line));
  EXPECT_THAT(error_of<OptionError>([&] { optim::exponential(scalar("i", int64), 1, 0); }), AllOf(HasSubstr("exponential: decay and every are greater than 0"), has_line));
  EXPECT_THAT(error_of<OptionError>([&] { optim::cosine(scalar("i", int64), 1, 0); }), AllOf(HasSubstr("cosine: it takes more than 0 steps"), has_line));
  EXPECT_THAT(error_of<ShapeError>([&] { optim::sgd(std::vector<Variable>{g}, {w}, vector("r")); }), AllOf(HasSubstr("sgd: the rate is r float32 (?,), not one number"), has_line));
  EXPECT_THAT(error_of<OptionError>([&] { optim::adamw(std::vector<Variable>{g}, {w}, NAN); }), AllOf(HasSubstr("adamw: the rate is nan"), HasSubstr("give a finite number"), has_line));
  EXPECT_THAT(error_of<OptionError>([&] { optim::adam(std::vector<Variable>{g}, {w}, 0.1, {.epsilon = -1}); }), AllOf(HasSubstr("adam: epsilon is 0 or more, this one is -1"), has_line));
  EXPECT_THAT(error_of<OptionError>([&] { optim::rmsprop(std::vector<Variable>{g}, {w}, 0.1, 0.9, -1); }), AllOf(HasSubstr("rmsprop: epsilon is 0 or more"), has_line));
  EXPECT_THAT(error_of<OptionError>([&] { optim::adagrad(std::vector<Variable>{g}, {w}, 0.1, -1); }), AllOf(HasSubstr("adagrad: epsilon is 0 or more"), has_line));
  EXPECT_THAT(error_of<ShapeError>([&] { optim::warmup(vector("i", int64), 1.0, 5); }), AllOf(HasSubstr("warmup: the step is i int64 (?,), not one number"), has_line));
}

}  // namespace
