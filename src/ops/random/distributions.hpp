// What draws have in common, for Variables and for Arrays: checks of their numbers, dtypes, and the rows behind a standard
// draw. World gives the types Value and Operand, and draw(): a RandomOp's values.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <damo/array_operand.hpp>
#include <damo/axes.hpp>
#include <damo/elementwise.hpp>
#include <damo/error.hpp>
#include "ops/random/random_op.hpp"

namespace damo {

/// unit * scale + shift, each rounded: no device may contract it.
const ElementwiseRow& scaled_row();
/// low + (high - low) * unit, below high.
const ElementwiseRow& between_row();

[[noreturn]] inline void refuse_draw(const std::string& name, const std::string& message, const std::string& remedy) { throw OptionError(name + ": " + message, remedy); }

void check_draw_shape(const std::string& name, const Shape& shape);
void check_draw_dtype(const std::string& name, DType dtype);

template <class Operand>
bool is_number(const Operand& operand, double value) {
  return operand.is_number() && operand.number().as_double() == value;
}

template <class World>
class Distributions {
 public:
  using Value = typename World::Value;
  using Operand = typename World::Operand;
  using DrawShape = typename World::DrawShape;
  using Parameters = std::vector<const Operand*>;

  explicit Distributions(World& world) : world_(world) {}

  Value bits(const DrawShape& shape, DType dtype) {
    if (dtype != uint32 && dtype != uint64) throw TypeError("bits: " + std::string(name(dtype)) + " is not uint32 or uint64", "cast what is drawn");
    return draw("bits", RandomKind::kBits, dtype, shape);
  }

  Value uniform(const DrawShape& shape, const Operand& low, const Operand& high, DType dtype) {
    check_draw_dtype("uniform", dtype);
    if (low.is_number() && high.is_number() && !(low.number().as_double() < high.number().as_double())) {
      refuse_draw("uniform", "low is " + to_string(low.number()) + ", high is " + to_string(high.number()), "low must be below high");
    }
    check_interval(low, high, dtype);
    const int digits = dtype == float64 ? 53 : dtype == float32 ? 24 : dtype == float16 ? 11 : 8;
    if (is_number(low, 0) && is_number(high, 1)) return draw("uniform", RandomKind::kUniform, dtype, shape, {}, digits);
    const Value unit = draw("uniform", RandomKind::kUniform, wide(dtype), shape, {}, digits);
    return behind("uniform", between_row(), unit, low, high, dtype);
  }

  Value normal(const DrawShape& shape, const Operand& mean, const Operand& std, DType dtype) {
    check_draw_dtype("normal", dtype);
    check_std("normal", std);
    return scaled("normal", dtype, mean, std, [&](DType drawn) { return draw("normal", RandomKind::kNormal, drawn, shape); });
  }

  Value truncated_normal(const DrawShape& shape, const Operand& low, const Operand& high, const Operand& mean, const Operand& std, DType dtype) {
    check_draw_dtype("truncated_normal", dtype);
    check_std("truncated_normal", std);
    if (low.is_number() && high.is_number() && !(low.number().as_double() < high.number().as_double())) {
      refuse_draw("truncated_normal", "low is " + to_string(low.number()) + ", high is " + to_string(high.number()), "low must be below high, both in standard deviations from the mean");
    }
    return scaled("truncated_normal", dtype, mean, std, [&](DType drawn) { return draw("truncated_normal", RandomKind::kTruncatedNormal, drawn, shape, {&low, &high}); });
  }

  Value exponential(const DrawShape& shape, const Operand& scale, DType dtype) {
    check_draw_dtype("exponential", dtype);
    check_positive("exponential", "scale", scale);
    return scaled("exponential", dtype, Operand(0), scale, [&](DType drawn) { return draw("exponential", RandomKind::kExponential, drawn, shape); });
  }

  Value gumbel(const DrawShape& shape, DType dtype) {
    check_draw_dtype("gumbel", dtype);
    return draw("gumbel", RandomKind::kGumbel, dtype, shape);
  }

  Value gamma(const DrawShape& shape, const Operand& alpha, const Operand& scale, DType dtype) {
    check_draw_dtype("gamma", dtype);
    check_positive("gamma", "alpha", alpha);
    check_positive("gamma", "scale", scale);
    return scaled("gamma", dtype, Operand(0), scale, [&](DType drawn) { return draw("gamma", RandomKind::kGamma, drawn, shape, {&alpha}); });
  }

  Value poisson(const DrawShape& shape, const Operand& rate) {
    if (rate.is_number() && !(rate.number().as_double() >= 0 && rate.number().as_double() <= 0x1p60)) {
      refuse_draw("poisson", "the rate is " + to_string(rate.number()), "give one from 0 to 2^60");
    }
    return draw("poisson", RandomKind::kPoisson, int64, shape, {&rate});
  }

  Value bernoulli(const DrawShape& shape, const Operand& p) {
    check_probability("bernoulli", p);
    return draw("bernoulli", RandomKind::kBernoulli, bool_, shape, {&p});
  }

  Value randint(const DrawShape& shape, std::int64_t low, std::int64_t high, DType dtype) {
    if (!is_integer(dtype)) throw TypeError("randint: " + std::string(name(dtype)) + " is no dtype of integers", "cast what is drawn");
    if (low >= high) refuse_draw("randint", "low is " + std::to_string(low) + ", high is " + std::to_string(high), "low must be below high, which is not drawn itself");
    if (!Scalar(low).fits(dtype) || !Scalar(high - 1).fits(dtype)) {
      refuse_draw("randint", "numbers from " + std::to_string(low) + " to " + std::to_string(high - 1) + " do not fit " + std::string(name(dtype)), "draw int64");
    }
    const Operand count(static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low));
    const Value below = draw("randint", RandomKind::kBelow, int64, shape, {&count});
    return World::cast(low == 0 ? below : World::add(below, low), dtype);
  }

  Value categorical(const Value& logits, int axis) {
    if (!is_floating(logits.dtype())) throw TypeError("categorical: logits are " + std::string(name(logits.dtype())), "cast(logits, float32)");
    const DType dtype = wide(logits.dtype());
    axis = normalize_axis("categorical", axis, logits.rank(), "logits");
    return World::argmax(World::add(World::cast(logits, dtype), draw("categorical", RandomKind::kGumbel, dtype, World::shape_of(logits))), axis);
  }

  Value categorical_of(const Value& probabilities, int axis) {
    if (!is_floating(probabilities.dtype())) throw TypeError("categorical_of: probabilities are " + std::string(name(probabilities.dtype())), "cast(probabilities, float32)");
    const DType dtype = wide(probabilities.dtype());
    axis = normalize_axis("categorical_of", axis, probabilities.rank(), "probabilities");
    return World::argmax(World::divide(World::cast(probabilities, dtype), draw("categorical_of", RandomKind::kExponential, dtype, World::shape_of(probabilities))), axis);
  }

  Value permutation(std::int64_t n) {
    if (n < 0) refuse_draw("permutation", "n is " + std::to_string(n), "give the number of elements, 0 or more");
    return World::argsort(draw("permutation", RandomKind::kBits, uint64, Shape{n}));
  }

  Value choice(std::int64_t n, const DrawShape& shape, bool replace, const std::vector<double>& p) {
    if (n <= 0) refuse_draw("choice", "there are " + std::to_string(n) + " numbers to choose from", "give at least one");
    const std::int64_t possible = p.empty() ? n : check_probabilities(n, p);
    if (replace) {
      if (p.empty()) return randint(shape, 0, n, int64);
      const DrawShape each = World::with_axis(shape, n);
      return World::argmax(World::divide(world_.numbers(p), draw("choice", RandomKind::kExponential, float64, each)), -1);
    }
    const Shape wanted = World::known_shape("choice", shape);
    check_draw_shape("choice", wanted);
    if (wanted.size() > possible) {
      refuse_draw("choice", std::to_string(wanted.size()) + " of " + std::to_string(possible) + " numbers without replacement", "choose as many as there are with a probability above 0, or with replacement");
    }
    // The least of exponential numbers of these rates comes first with their probabilities, then the least of the others.
    const Value order = p.empty() ? permutation(n) : World::argsort(World::divide(draw("choice", RandomKind::kExponential, float64, Shape{n}), world_.numbers(p)));
    return World::reshape(World::first(order, wanted.size()), wanted);
  }

  /// How many of 2^32 words keep an element, and what it is multiplied by.
  struct Dropout {
    std::uint64_t kept;
    double scale;
  };
  static Dropout dropout(DType x, double p) {
    if (!is_floating(x)) throw TypeError("dropout: x is " + std::string(name(x)), "cast(x, float32)");
    check_probability("dropout", damo::ArrayOperand(p));
    return {static_cast<std::uint64_t>(std::llround((1 - p) * 0x1p32)), p < 1 ? 1 / (1 - p) : 0};
  }

 private:
  static DType wide(DType dtype) { return is_half(dtype) ? float32 : dtype; }

  Value draw(const char* name, RandomKind kind, DType dtype, const DrawShape& shape, const Parameters& parameters = {}, int digits = 0) {
    return world_.draw(name, kind, dtype, digits, shape, parameters);
  }

  template <class Draw>
  Value scaled(const char* name, DType dtype, const Operand& shift, const Operand& scale, Draw draw) {
    if (is_number(shift, 0) && is_number(scale, 1)) return draw(dtype);
    return behind(name, scaled_row(), draw(wide(dtype)), scale, shift, dtype);
  }

  Value behind(const char* name, const ElementwiseRow& row, const Value& unit, const Operand& a, const Operand& b, DType dtype) {
    const Value values = world_.apply(row, unit, a, b);
    require_draw_fits(name, World::dims(values), World::dims(unit), World::dims(unit));  // else one number would stand in several places
    return World::cast(values, dtype);
  }

  static void check_interval(const Operand& low, const Operand& high, DType dtype) {
    const double greatest = dtype == float64 ? std::numeric_limits<double>::max() : double{std::numeric_limits<float>::max()};
    const auto value = [](const Operand& x) { return x.is_number() ? x.number().as_double() : 0; };
    if (std::fabs(value(high) - value(low)) <= greatest) return;
    const auto text = [](const Operand& x) { return x.is_number() ? to_string(x.number()) : std::string("what is given"); };
    refuse_draw("uniform", "from " + text(low) + " to " + text(high) + " is farther than " + std::string(name(wide(dtype))) + " holds", "draw from a part of it, and scale that");
  }

  static void check_std(const char* name, const Operand& std) {
    if (std.is_number() && !(std.number().as_double() >= 0)) refuse_draw(name, "std is " + to_string(std.number()), "give a standard deviation of 0 or more");
  }
  static void check_positive(const char* name, const char* what, const Operand& x) {
    if (x.is_number() && !(x.number().as_double() > 0 && std::isfinite(x.number().as_double()))) {
      refuse_draw(name, std::string(what) + " is " + to_string(x.number()), "give a positive number");
    }
  }
  /// How many are above 0.
  static std::int64_t check_probabilities(std::int64_t n, const std::vector<double>& p) {
    if (static_cast<std::int64_t>(p.size()) != n) refuse_draw("choice", std::to_string(p.size()) + " probabilities for " + std::to_string(n) + " numbers", "give one for each");
    double sum = 0;
    std::int64_t possible = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
      if (!(p[i] >= 0)) refuse_draw("choice", "the probability of " + std::to_string(i) + " is " + to_string(Scalar(p[i])), "give probabilities of 0 or more");
      sum += p[i];
      possible += p[i] > 0;
    }
    if (!(std::fabs(sum - 1) <= 1e-8)) refuse_draw("choice", "the probabilities sum to " + to_string(Scalar(sum)), "divide them by their sum");
    return possible;
  }
  template <class P>
  static void check_probability(const char* name, const P& p) {
    if (p.is_number() && !(p.number().as_double() >= 0 && p.number().as_double() <= 1)) refuse_draw(name, "p is " + to_string(p.number()), "give a probability, from 0 to 1");
  }

  World& world_;
};

}  // namespace damo
