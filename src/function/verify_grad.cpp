#include <damo/verify_grad.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include <damo/function.hpp>
#include <damo/gradient.hpp>
#include <damo/ops/cast.hpp>
#include "graph/base/number_text.hpp"

namespace damo {
namespace {

struct GradientPoint {
  Variable variable;
  Array array;
  std::vector<double> values;  // of a floating one
};

struct GradientTrial {
  const GradientCase* given;
  std::vector<GradientPoint> points;
  Variable result, projection;
  std::vector<double> weights;       // the projection's values
  double scale = 1;                  // of the projected values
  std::vector<std::vector<double>> gradients;  // of the floating points
};

class Verification {
 public:
  Verification(std::span<const GradientCase> cases, const VerifyGradOptions& options) : options_(options), device_(options.device ? *options.device : Device()) {
    for (const GradientCase& one : cases) add(one);
    std::vector<Variable> inputs, results;
    for (const GradientTrial& one : cases_) {
      for (const GradientPoint& point : one.points) inputs.push_back(point.variable);
      results.push_back(one.result);
    }
    values_ = function(inputs, results, {.fuse = false, .device = device_, .name = "values", .allow_unused_inputs = true});
  }

  void run() {
    find_gradients();
    std::vector<std::string> wrong(cases_.size());
    std::vector<double> worst(cases_.size(), 1);
    for (std::size_t move = 0;; ++move) {
      const std::vector<double> above = projected(move, 1), below = projected(move, -1);
      bool some = false;
      for (std::size_t i = 0; i < cases_.size(); ++i) {
        const auto moved = element_of(cases_[i], move);
        if (!moved) continue;
        some = true;
        compare(cases_[i], *moved, (above[i] - below[i]) / (2 * step_of(*moved, cases_[i])), worst[i], wrong[i]);
      }
      if (!some) break;
    }
    std::string all;
    for (const std::string& line : wrong) all += line.empty() ? "" : (all.empty() ? "" : "\n") + line;
    if (!all.empty()) throw GradientError(all, "look at the op's gradient rule; at a kink, or far from 1, choose other points or another step");
  }

 private:
  struct Moved {
    std::size_t point, floating;
    std::int64_t element;
  };

  void add(const GradientCase& given) {
    GradientTrial one{&given, {}, {}, {}, {}, 1, {}};
    std::vector<Variable> variables;
    for (std::size_t i = 0; i < given.points.size(); ++i) {
      const Array& array = given.points[i];
      if (!array) throw TypeError(label(given) + "point " + std::to_string(i) + " is an empty Array", "check the Array with if (array)");
      GradientPoint point;
      if (is_floating(array.dtype())) point.values = array.to_doubles();
      const DType dtype = is_floating(array.dtype()) ? float64 : array.dtype();
      point.variable = input({dtype, array.shape()}, "x" + std::to_string(i));
      point.array = is_floating(array.dtype()) ? Array::from(point.values, array.shape(), device_) : array.to(device_);
      variables.push_back(point.variable);
      one.points.push_back(std::move(point));
    }
    one.result = given.graph(variables);
    if (!is_floating(one.result.dtype())) throw TypeError(label(given) + "the result is " + describe(one.result) + ", which has no gradient", "give a graph whose result is floating");
    one.projection = input(one.result.type(), "p");
    cases_.push_back(std::move(one));
  }

  static std::string label(const GradientCase& given) { return "verify_grad: " + (given.name.empty() ? "" : given.name + ": "); }

  /// The element that the move-th call moves.
  static std::optional<Moved> element_of(const GradientTrial& one, std::size_t move) {
    auto left = static_cast<std::int64_t>(move);
    std::size_t floating = 0;
    for (std::size_t i = 0; i < one.points.size(); ++i) {
      if (!is_floating(one.points[i].variable.dtype())) continue;
      const auto size = static_cast<std::int64_t>(one.points[i].values.size());
      if (left < size) return Moved{i, floating, left};
      left -= size;
      ++floating;
    }
    return std::nullopt;
  }
  double step_of(const Moved& moved, const GradientTrial& one) const {
    return options_.step * std::max(1.0, std::fabs(one.points[moved.point].values[static_cast<std::size_t>(moved.element)]));
  }

  /// The arrays of all points, with the move-th element of each case moved by its step.
  std::vector<Array> points(std::size_t move, int direction) const {
    std::vector<Array> arrays;
    for (const GradientTrial& one : cases_) {
      const std::optional<Moved> moved = direction == 0 ? std::nullopt : element_of(one, move);
      for (std::size_t i = 0; i < one.points.size(); ++i) {
        const GradientPoint& point = one.points[i];
        if (!moved || moved->point != i) {
          arrays.push_back(point.array);
          continue;
        }
        std::vector<double> values = point.values;
        values[static_cast<std::size_t>(moved->element)] += direction * step_of(*moved, one);
        arrays.push_back(Array::from(values, point.array.shape(), device_));
      }
    }
    return arrays;
  }

  /// sum(p y) of each case.
  std::vector<double> projected(std::size_t move, int direction) const {
    const Results results = values_->call(points(move, direction));
    std::vector<double> sums;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      const std::vector<double> values = results[i].to_doubles();
      double sum = 0;
      for (std::size_t k = 0; k < values.size(); ++k) sum += values[k] * cases_[i].weights[k];
      sums.push_back(sum);
    }
    return sums;
  }

  void find_gradients() {
    std::vector<Array> arrays = points(0, 0);
    std::vector<Variable> inputs, gradients;
    std::mt19937_64 random(options_.seed);
    const Results results = values_->call(arrays);
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      GradientTrial& one = cases_[i];
      std::vector<Variable> floating;
      for (const GradientPoint& point : one.points) {
        inputs.push_back(point.variable);
        if (is_floating(point.variable.dtype())) floating.push_back(point.variable);
      }
      const std::vector<double> values = results[i].to_doubles();
      for (double value : values) {
        // Away from 0, so that each element counts; of both signs.
        const double size = std::uniform_real_distribution(0.5, 1.5)(random);
        one.weights.push_back(random() % 2 == 0 ? size : -size);
        one.scale = std::max(one.scale, std::fabs(value * one.weights.back()));
      }
      for (const Variable& gradient : lop(std::span(&one.result, 1), std::span(&one.projection, 1), floating, Disconnected::kZero)) gradients.push_back(gradient);
    }
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      inputs.push_back(cases_[i].projection);
      const Array weights = Array::from(cases_[i].weights, results[i].shape(), device_);
      arrays.push_back(results[i].dtype() == float64 ? weights : converted(weights, results[i].dtype()));
    }
    const Function of_all = function(inputs, gradients, {.fuse = false, .device = device_, .name = "gradients", .allow_unused_inputs = true});
    const Results found = of_all.call(arrays);
    std::size_t next = 0;
    for (GradientTrial& one : cases_) {
      for (const GradientPoint& point : one.points) {
        if (is_floating(point.variable.dtype())) one.gradients.push_back(found[next++].to_doubles());
      }
    }
  }

  /// The projection of a result that the graph cast to another dtype.
  Array converted(const Array& values, DType dtype) const {
    const Variable wide = input({float64, values.shape()});
    return Array(function({wide}, {cast(wide, dtype)}, {.device = device_})(values));
  }

  void compare(const GradientTrial& one, const Moved& moved, double want, double& worst, std::string& wrong) const {
    const GradientPoint& point = one.points[moved.point];
    const std::vector<double>& gradient = one.gradients[moved.floating];
    const Shape& shape = point.array.shape();
    if (gradient.size() != point.values.size()) {
      wrong = label(*one.given) + "the gradient by input " + std::to_string(moved.point) + " has " + std::to_string(gradient.size()) + " elements, the input " + to_string(shape);
      return;
    }
    const double got = gradient[static_cast<std::size_t>(moved.element)], allowed = options_.tolerance * std::max({1.0, std::fabs(want), one.scale});
    const double excess = std::fabs(got - want) / allowed;
    if (excess <= worst) return;  // a NaN is no number that is small enough
    worst = std::isnan(excess) ? HUGE_VAL : excess;
    wrong = label(*one.given) + "the gradient by input " + std::to_string(moved.point) + " at " + place_text(moved.element, shape) + ", where it is " +
            number_text(point.values[static_cast<std::size_t>(moved.element)], 10) + ", is " + number_text(got, 10) + ", the central difference " + number_text(want, 10) + "; " + number_text(std::fabs(got - want), 10) + " apart, " + number_text(allowed, 10) + " is allowed";
  }

  const VerifyGradOptions& options_;
  Device device_;
  std::vector<GradientTrial> cases_;
  std::optional<Function> values_;
};

}  // namespace

void verify_grad(std::span<const GradientCase> cases, const VerifyGradOptions& options) {
  if (!(options.step > 0) || !(options.tolerance > 0)) throw OptionError("verify_grad: step and tolerance are above 0");
  Verification(cases, options).run();
}

void verify_grad(const GradientGraph& graph, std::vector<Array> points, const VerifyGradOptions& options) {
  const GradientCase one{{}, graph, std::move(points)};
  verify_grad(std::span(&one, 1), options);
}

}  // namespace damo
