// Joins of several values at once, as users write them in KernelOps, against double precision on the host.
#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "support/devices.hpp"
#include "support/sampling.hpp"

namespace damo {
namespace {

using ::testing::HasSubstr;
using testing::error_of;
using Values = std::vector<double>;

/// In which moments and logarithms of a dtype are computed.
DType real(DType dtype) { return is_floating(dtype) ? (itemsize(dtype) == 2 ? float32 : dtype) : float64; }

struct AlongAxis : KernelOp {
  AlongAxis(int axis, int which) : axis_(axis), which_(which) {}
  Props props() const override { return {{"axis", std::int64_t{axis_}}, {"which", std::int64_t{which_}}}; }
  std::optional<std::uint32_t> reduced_axes() const override { return 1u << axis_; }
  virtual DType result(DType x) const = 0;
  Apply make_node(Inputs in) const override {
    const Apply node = KernelOp::make_node(in);
    return {*this, {in.begin(), in.end()}, {{result(in.at(0).dtype()), node.output().dims()}}};
  }
  int axis_, which_;
};

/// Welford's: the count, the mean, the sum of squares around it, the variance.
struct MomentsOp final : AlongAxis {
  using AlongAxis::AlongAxis;
  std::string name() const override { return "moments"; }
  DType result(DType x) const override { return real(x); }
  void lower(KernelBuilder& k) const override {
    const DType t = real(k.input(0).dtype);
    const auto joined = k.join({.members = {{"count", t, "1", "0", "count"},
                                            {"mean", t, "x0", "0", "a.mean + apart * share"},
                                            {"m2", t, "0", "0", "a.m2 + b.m2 + apart * apart * a.count * share"}},
                                .before = "const auto count = a.count + b.count, share = b.count / (count > 0 ? count : 1), apart = b.mean - a.mean;"},
                               {k.input(0)});
    k.output(which_ < 3 ? joined[static_cast<std::size_t>(which_)] : k.step("x0 / x1", {joined[2], joined[0]}));
  }
  Gradients gradient(const Apply& node, std::span<const Variable> g) const override {
    const Variable& x = node.input(0);
    const Variable count = sum(second(x, 1.0), axis_, keepdims), apart = x - make_op<MomentsOp>(axis_, 1)(x);
    if (which_ == 0) return {second(x, 0.0)};
    if (which_ == 1) return {second(x, 1.0) * g[0] / count};
    return {2.0 * apart * g[0] / (which_ == 2 ? second(count, 1.0) : count)};
  }
};

/// By size, whatever the sign: the greatest, the last of equals, and its place.
struct FarthestOp final : AlongAxis {
  using AlongAxis::AlongAxis;
  std::string name() const override { return "farthest"; }
  DType result(DType x) const override { return which_ == 0 ? x : int64; }
  void lower(KernelBuilder& k) const override {
    const auto x = k.input(0);
    const char* takes = "const auto size = [](auto v) { return v < 0 ? -v : v; };\n"
                        "  const bool takes_b = a.at < 0 || (b.at >= 0 && (size(b.value) > size(a.value) || (size(b.value) == size(a.value) && b.at > a.at)));  // the last";
    const auto joined = k.join({.members = {{"value", x.dtype, "x0", "0", "takes_b ? b.value : a.value"}, {"at", int64, "x1", "-1", "takes_b ? b.at : a.at  // of the row"}}, .before = takes}, {x, k.place()});
    k.output(joined[static_cast<std::size_t>(which_)]);
  }
};

/// The two greatest, equal ones perhaps.
struct TwoGreatestOp final : AlongAxis {
  using AlongAxis::AlongAxis;
  std::string name() const override { return "two_greatest"; }
  DType result(DType x) const override { return x; }
  void lower(KernelBuilder& k) const override {
    const DType t = k.input(0).dtype;
    const std::string least = is_floating(t) ? "-T(1) / T(0)" : is_signed(t) ? "-100" : "0";
    const auto joined = k.join({.members = {{"first", t, "x0", least, "maximum(a.first, b.first)"}, {"second", t, least, least, "maximum(minimum(a.first, b.first), maximum(a.second, b.second))"}}}, {k.input(0)});
    k.output(joined[static_cast<std::size_t>(which_)]);
  }
};

struct LogSumExpOp final : AlongAxis {
  using AlongAxis::AlongAxis;
  std::string name() const override { return "log_sum_exp"; }
  DType result(DType x) const override { return real(x); }
  void lower(KernelBuilder& k) const override {
    const DType t = real(k.input(0).dtype);
    const auto joined = k.join({.members = {{"most", t, "x0", "-T(1) / T(0)", "most"}, {"sum", t, "1", "0", "part(a) + part(b)"}},
                                .before = "const auto most = maximum(a.most, b.most); const auto part = [&](const Joined& j) { return j.most == most ? j.sum : j.sum * exp(j.most - most); };"},
                               {k.input(0)});
    k.output(k.step("x0 + log(x1)", joined));
  }
};

/// Of two inputs, the real and the imaginary parts: the product, its real part or the imaginary one.
struct ComplexProductOp final : AlongAxis {
  using AlongAxis::AlongAxis;
  std::string name() const override { return "complex_product"; }
  DType result(DType x) const override { return x; }
  void lower(KernelBuilder& k) const override {
    const DType t = k.input(0).dtype;
    const auto joined = k.join({.members = {{"re", t, "x0", "1", "a.re * b.re - a.im * b.im"}, {"im", t, "x1", "0", "a.re * b.im + a.im * b.re"}}}, {k.input(0), k.input(1)});
    k.output(joined[static_cast<std::size_t>(which_)]);
  }
};

/// h = m h + c of each element's m and c, from 0 on: pairs of maps, which do not commute. which: 1: h; 0: the product of the m.
struct AffineOp final : AlongAxis {
  AffineOp(int axis, int which, bool backward, bool exclusive) : AlongAxis(axis, which), backward_(backward), exclusive_(exclusive) {}
  std::string name() const override { return "affine"; }
  Props props() const override { return {{"axis", std::int64_t{axis_}}, {"which", std::int64_t{which_}}, {"backward", backward_}, {"exclusive", exclusive_}}; }
  Scans scans() const override { return backward_ ? Scans::kBackward : Scans::kForward; }
  DType result(DType x) const override { return x; }
  void lower(KernelBuilder& k) const override {
    const DType t = k.input(0).dtype;
    const auto joined = k.scan({.members = {{"m", t, "x0", "1", "a.m * b.m"}, {"c", t, "x1", "0", "b.m * a.c + b.c"}}, .exclusive = exclusive_}, {k.input(0), k.input(1)});
    k.output(joined[static_cast<std::size_t>(which_)]);
  }
  /// Of h, exclusive or not: what h gives to those behind it comes back the other way.
  Gradients gradient(const Apply& node, std::span<const Variable> g) const override {
    const Variable &m = node.input(0), &c = node.input(1);
    const Variable before = make_op<AffineOp>(axis_, 1, backward_, true)(m, c);
    const Variable behind = make_op<AffineOp>(axis_, 1, !backward_, true)(m, exclusive_ ? g[0] : m * g[0]);
    const Variable by_c = exclusive_ ? behind : g[0] + behind;
    return {by_c * before, by_c};
  }
  bool backward_, exclusive_;
};

/// How an array of a shape lies in memory.
enum class Lies : std::uint8_t { kDense, kTransposed, kBackward, kEverySecond };

class JoinedValues : public testing::OnEachDevice {
 protected:
  Options options(bool fuse = true) const { return {.fuse = fuse, .device = device()}; }

  /// Numbers of the dtype between -2 and 2; of integers between -50 and 50, or 0 and 100.
  Array noise(const Shape& shape, DType dtype, Lies lies = Lies::kDense, unsigned seed = 1) const {
    std::mt19937 random(seed);
    Shape inner = shape;
    if (lies == Lies::kTransposed) std::swap(inner[0], inner[1]);
    if (lies == Lies::kEverySecond) inner[0] *= 2, inner[1] *= 2;
    Values values(static_cast<std::size_t>(inner.size()));
    for (double& value : values) value = is_floating(dtype) ? static_cast<double>(random() % 4001) / 1000 - 2 : static_cast<double>(random() % 101) - (is_signed(dtype) ? 50 : 0);
    const Array array = astype(Array::from(values, inner, device()), dtype);
    if (lies == Lies::kTransposed) return array.transpose();
    if (lies == Lies::kBackward) return array.slice({Slice{.step = -1}, Slice{.step = -1}});
    if (lies == Lies::kEverySecond) return array.slice({Slice{.step = 2}, Slice{.start = 1, .step = 2}});
    return array;
  }

  /// act(elements of the line in order, their numbers in the array) for each line along the axis.
  static void each_line(const Array& x, int axis, const std::function<void(const Values&, const std::vector<std::size_t>&)>& act) {
    const Values all = x.to_doubles();
    const std::int64_t lines = x.shape()[1 - axis], length = x.shape()[axis];
    for (std::int64_t line = 0; line < lines; ++line) {
      Values values;
      std::vector<std::size_t> at;
      for (std::int64_t i = 0; i < length; ++i) at.push_back(static_cast<std::size_t>(axis == 1 ? line * length + i : i * lines + line)), values.push_back(all[at.back()]);
      act(values, at);
    }
  }

  /// For arrays of two axes of all lengths along either, lying in each way.
  static void each_form(const std::function<void(const Shape& shape, int axis, Lies lies)>& act) {
    const std::int64_t lengths[] = {0, 1, 3, 31, 257, 4096, 100001};
    for (std::size_t length = 0; length < std::size(lengths); ++length) {
      for (std::size_t form = 0; form < 8; ++form) {
        if (!testing::takes_pair(length, form)) continue;
        const int axis = static_cast<int>(form % 2);
        const std::int64_t lines = lengths[length] > 5000 ? 2 : lengths[length] > 1000 ? 5 : axis == 1 ? 37 : 300;
        act(axis == 1 ? Shape{lines, lengths[length]} : Shape{lengths[length], lines}, axis, static_cast<Lies>(form / 2));
      }
    }
  }
  static std::string told(const Array& x, int axis, Lies lies) { return to_string(x.shape()) + " along " + std::to_string(axis) + " of " + std::string(name(x.dtype())) + " lying as " + std::to_string(static_cast<int>(lies)); }

  /// Twice, with equal bits.
  static std::vector<Array> results(const Function& f, const std::vector<Array>& arguments) {
    const auto called = [&] { return arguments.size() == 1 ? f(arguments[0]) : f(arguments[0], arguments[1]); };
    const auto first = called(), second = called();
    std::vector<Array> all;
    for (std::size_t i = 0; i < first.size(); ++i) {
      all.push_back(first[i]);
      const Values a = all.back().to_doubles(), b = second[i].to_doubles();
      for (std::size_t k = 0; k < a.size(); ++k) EXPECT_TRUE(a[k] == b[k] || (std::isnan(a[k]) && std::isnan(b[k]))) << "result " << i << " element " << k << " differs from run to run";
    }
    return all;
  }
};

Variable matrix_of(DType dtype, std::string name) { return input({dtype, {kUnknown, kUnknown}}, std::move(name)); }

TEST_P(JoinedValues, AreMomentsOfRowsAndColumns) {
  each_form([&](const Shape& shape, int axis, Lies lies) {
    for (DType dtype : {float32, float16, float64, int32}) {
      if (dtype != float32 && shape.size() > 20000) continue;
      const Variable v = matrix_of(dtype, "x");
      const Function f = function({v}, {make_op<MomentsOp>(axis, 0)(v), make_op<MomentsOp>(axis, 1)(v), make_op<MomentsOp>(axis, 2)(v), make_op<MomentsOp>(axis, 3)(v)}, options());
      const Array x = noise(shape, dtype, lies);
      const auto all = results(f, {x});
      std::size_t line = 0;
      each_line(x, axis, [&](const Values& values, const auto&) {
        const auto n = static_cast<double>(values.size());
        double mean = 0, m2 = 0;
        for (double value : values) mean += value / std::max(n, 1.0);
        for (double value : values) m2 += (value - mean) * (value - mean);
        const double error = dtype == float64 || dtype == int32 ? 1e-12 : 4e-6;
        ASSERT_EQ(all[0].to_doubles()[line], n) << told(x, axis, lies);
        ASSERT_NEAR(all[1].to_doubles()[line], mean, error * (dtype == int32 ? 50 : 1)) << told(x, axis, lies);
        ASSERT_NEAR(all[2].to_doubles()[line], m2, error * (m2 + 1)) << told(x, axis, lies);
        if (values.empty()) ASSERT_TRUE(std::isnan(all[3].to_doubles()[line]));
        else ASSERT_NEAR(all[3].to_doubles()[line], m2 / n, error * (m2 / n + 1)) << told(x, axis, lies);
        ++line;
      });
    }
  });
}

TEST_P(JoinedValues, AreAValueAndItsPlaceInTheUsersOrder) {
  each_form([&](const Shape& shape, int axis, Lies lies) {
    for (DType dtype : {float32, float16, int64, uint8}) {
      if (dtype != float32 && shape.size() > 20000) continue;
      const Variable v = matrix_of(dtype, "x");
      const Function f = function({v}, {make_op<FarthestOp>(axis, 0)(v), make_op<FarthestOp>(axis, 1)(v)}, options());
      const Array x = noise(shape, dtype, lies);
      const auto all = results(f, {x});
      const Values found = all[0].to_doubles(), places = all[1].to_doubles();
      std::size_t line = 0;
      each_line(x, axis, [&](const Values& values, const auto&) {
        int best = -1;
        for (std::size_t i = 0; i < values.size(); ++i) {
          if (best < 0 || std::abs(values[i]) >= std::abs(values[static_cast<std::size_t>(best)])) best = static_cast<int>(i);
        }
        ASSERT_EQ(places[line], best) << told(x, axis, lies);
        ASSERT_EQ(found[line], best < 0 ? 0 : values[static_cast<std::size_t>(best)]) << told(x, axis, lies);
        ++line;
      });
    }
  });
}

TEST_P(JoinedValues, AreTheTwoGreatest) {
  each_form([&](const Shape& shape, int axis, Lies lies) {
    for (DType dtype : {float32, bfloat16, int32, uint8}) {
      if (dtype != float32 && shape.size() > 20000) continue;
      const Variable v = matrix_of(dtype, "x");
      const Function f = function({v}, {make_op<TwoGreatestOp>(axis, 0)(v), make_op<TwoGreatestOp>(axis, 1)(v)}, options());
      const Array x = noise(shape, dtype, lies);
      const auto all = results(f, {x});
      const double least = is_floating(dtype) ? -std::numeric_limits<double>::infinity() : is_signed(dtype) ? -100 : 0;
      std::size_t line = 0;
      each_line(x, axis, [&](Values values, const auto&) {
        values.insert(values.end(), 2, least);
        std::sort(values.rbegin(), values.rend());
        ASSERT_EQ(all[0].to_doubles()[line], values[0]) << told(x, axis, lies);
        ASSERT_EQ(all[1].to_doubles()[line], values[1]) << told(x, axis, lies);
        ++line;
      });
    }
  });
}

TEST_P(JoinedValues, AreAMaximumAndASumOfExponentials) {
  each_form([&](const Shape& shape, int axis, Lies lies) {
    const Variable v = matrix_of(float32, "x");
    const Function f = function({v}, {make_op<LogSumExpOp>(axis, 0)(v * 40.0f)}, options());
    const Array x = noise(shape, float32, lies);
    const auto all = results(f, {x});
    std::size_t line = 0;
    each_line(x, axis, [&](const Values& values, const auto&) {
      double most = -std::numeric_limits<double>::infinity(), sum = 0;
      for (double value : values) most = std::max(most, 40 * value);
      for (double value : values) sum += std::exp(40 * value - most);
      const double expected = most + std::log(sum), found = all[0].to_doubles()[line++];
      if (std::isinf(expected)) ASSERT_EQ(found, expected);
      else ASSERT_NEAR(found, expected, 2e-5) << told(x, axis, lies);
    });
  });
}

TEST_P(JoinedValues, AreMadeOfSeveralInputs) {
  each_form([&](const Shape& shape, int axis, Lies lies) {
    const Variable v = matrix_of(float64, "x"), re = cos(v), im = sin(v);
    const Function f = function({v}, {make_op<ComplexProductOp>(axis, 0)(re, im), make_op<ComplexProductOp>(axis, 1)(re, im)}, options());
    const Array x = noise(shape, float64, lies);
    const auto all = results(f, {x});
    std::size_t line = 0;
    each_line(x, axis, [&](const Values& values, const auto&) {
      std::complex<double> product = 1;
      for (double value : values) product *= std::polar(1.0, value);
      ASSERT_NEAR(all[0].to_doubles()[line], product.real(), 1e-9) << told(x, axis, lies);
      ASSERT_NEAR(all[1].to_doubles()[line], product.imag(), 1e-9) << told(x, axis, lies);
      ++line;
    });
  });
}

TEST_P(JoinedValues, AreMapsThatDoNotCommuteUpToEachElement) {
  int form = 0;
  each_form([&](const Shape& shape, int axis, Lies lies) {
    const bool backward = form / 2 % 2 != 0, exclusive = ++form % 2 != 0;
    for (DType dtype : {float32, float16, float64}) {
      if (dtype != float32 && shape.size() > 20000) continue;
      const Variable a = matrix_of(dtype, "a"), b = matrix_of(dtype, "b");
      const Variable m = cast(a * 0.45, dtype), h = make_op<AffineOp>(axis, 1, backward, exclusive)(m, b), product = make_op<AffineOp>(axis, 0, backward, exclusive)(m, b);
      const Function f = function({a, b}, {h + 1.0, product, b * 2.0}, options());
      const Array x = noise(shape, dtype, lies), y = noise(shape, dtype, lies, 2);
      const auto all = results(f, {x, y});
      const Values factors = x.to_doubles(), addends = y.to_doubles(), found = all[0].to_doubles(), products = all[1].to_doubles();
      each_line(x, axis, [&](const Values& values, const std::vector<std::size_t>& at) {
        double state = 0, all_m = 1;
        const double error = dtype == float64 ? 1e-12 : dtype == float16 ? 2e-2 : 1e-4;
        for (std::size_t k = 0; k < values.size(); ++k) {
          const std::size_t i = at[backward ? values.size() - 1 - k : k];
          if (exclusive) {
            ASSERT_NEAR(found[i], state + 1, error) << told(x, axis, lies) << " element " << i;
            ASSERT_NEAR(products[i], all_m, error);
          }
          state = 0.45 * factors[i] * state + addends[i];
          all_m *= 0.45 * factors[i];
          if (!exclusive) {
            ASSERT_NEAR(found[i], state + 1, error) << told(x, axis, lies) << " element " << i;
            ASSERT_NEAR(products[i], all_m, error);
          }
        }
      });
    }
  });
}

/// Short rows go many at once, the shortest of them turned, others in blocks: each is what it would be alone.
TEST_P(JoinedValues, HaveTheBitsOfARowAlone) {
  if (!device().is_host()) GTEST_SKIP() << "on a GPU the order of a short row's joins follows from how many rows there are and how they lie";
  for (DType dtype : {float32, float16}) {
    const Variable v = matrix_of(dtype, "x"), apart = v - mean(v, 1, keepdims);
    const Function f = function({v}, {sum(v, 1), max(v, 1), argmax(v, 1), softmax(v), apart / sqrt(mean(sqr(apart), 1, keepdims) + 1e-5), make_op<MomentsOp>(1, 1)(v), make_op<MomentsOp>(1, 3)(v)}, options());
    Options looks = options();
    looks.nan_guard = true;
    const Function guarded = function({v}, {softmax(v), sum(v, 1)}, looks);
    const std::int64_t lengths[] = {2, 3, 7, 8, 10, 16, 31, 32, 33, 100, 511};
    for (std::size_t form = 0; form < 3; ++form) {
      const Lies lies = form == 0 ? Lies::kDense : form == 1 ? Lies::kBackward : Lies::kEverySecond;
      for (std::size_t i = 0; i < std::size(lengths); ++i) {
        if ((dtype != float32 || form > 0) && !testing::takes_pair(i, form + 3 * (dtype == float16))) continue;
        const Array x = noise({i % 2 == 0 ? 131 : 32, lengths[i]}, dtype, lies);
        const auto all = f(x), looked = guarded(x);
        ASSERT_EQ(looked[0].to_doubles(), all[3].to_doubles()) << told(x, 1, lies);
        ASSERT_EQ(looked[1].to_doubles(), all[0].to_doubles()) << told(x, 1, lies);
        for (std::int64_t row : {0, 1, 7, 30, 31, 32, 63, 64, 127, 128, 130}) {
          if (row >= x.shape()[0]) continue;
          const auto alone = f(x.slice({{row, row + 1}}));
          for (std::size_t of = 0; of < alone.size(); ++of) ASSERT_EQ(all[of].slice({{row, row + 1}}).to_doubles(), alone[of].to_doubles()) << "result " << of << " of row " << row << " of " << told(x, 1, lies);
        }
        std::size_t line = 0;
        const Values sums = all[0].to_doubles(), exponentials = all[3].to_doubles(), places = all[2].to_doubles();
        each_line(x, 1, [&](const Values& values, const std::vector<std::size_t>& at) {
          double total = 0, most = values[0], size = 0, whole = 0;
          std::size_t best = 0;
          for (std::size_t k = 0; k < values.size(); ++k) {
            total += values[k], size += std::abs(values[k]);
            if (values[k] > most) most = values[k], best = k;
          }
          for (double value : values) whole += std::exp(value - most);
          const double error = dtype == float16 ? 1e-3 : 1e-6;
          ASSERT_NEAR(sums[line], total, error * (size + 1)) << told(x, 1, lies);
          ASSERT_EQ(places[line], static_cast<double>(best)) << told(x, 1, lies);
          for (std::size_t k = 0; k < values.size(); ++k) ASSERT_NEAR(exponentials[at[k]], std::exp(values[k] - most) / whole, error) << told(x, 1, lies);
          ++line;
        });
      }
    }
  }
}

/// Kept axes that are no one axis, values that all rows or the elements of a row have in common, integers, and a result that lies where its operand lay.
TEST_P(JoinedValues, OfShortRowsHaveOperandsOfAnyKind) {
  const Variable x = input({float32, {kUnknown, kUnknown, kUnknown}}, "x"), w = vector("w"), c = input({int32, {kUnknown, kUnknown, kUnknown}}, "c"), b = input({float32, {kUnknown, kUnknown, 1}}, "b");
  const Variable y = x * w + b;
  const Function f = function({x, w, c, b}, {sum(y, 2) * 2.0, y / sum(abs(y) + 1.0, 2, keepdims), max(c, 2), sum(x * cast(c, float32), 2)}, options());
  for (std::int64_t length : {3, 10, 31, 40}) {
    const Array every = noise({6 * 70, length}, float32).reshape({6, 70, length}).slice({{0, 6, 2}, {0, 70, 2}}), weights = noise({1, length}, float32).reshape({length}), counts = noise({3 * 35, length}, int32).reshape({3, 35, length}),
                shifts = noise({3, 35}, float32).reshape({3, 35, 1});
    const auto all = f(every, weights, counts, shifts);
    const Values xs = every.to_doubles(), ws = weights.to_doubles(), cs = counts.to_doubles(), bs = shifts.to_doubles();
    const Values sums = all[0].to_doubles(), shares = all[1].to_doubles(), most = all[2].to_doubles(), products = all[3].to_doubles();
    for (std::size_t row = 0; row < bs.size(); ++row) {
      double total = 0, size = 0, greatest = -1e9, product = 0;
      const std::size_t first = row * static_cast<std::size_t>(length);
      const auto value = [&](std::size_t k) { return xs[first + k] * ws[k] + bs[row]; };
      for (std::size_t k = 0; k < static_cast<std::size_t>(length); ++k) total += value(k), size += std::abs(value(k)) + 1, greatest = std::max(greatest, cs[first + k]), product += xs[first + k] * cs[first + k];
      ASSERT_NEAR(sums[row], 2 * total, 1e-4) << length;
      ASSERT_EQ(most[row], greatest) << length;
      ASSERT_NEAR(products[row], product, 1e-2) << length;
      for (std::size_t k = 0; k < static_cast<std::size_t>(length); ++k) ASSERT_NEAR(shares[first + k], value(k) / size, 1e-6) << length;
    }
    const Shared state = shared("state", noise({200, length}, float32));
    const Values was = state.array().to_doubles();
    Options updates = options();
    updates.updates = {{state, softmax(state)}};
    const Function step = function({}, {}, updates);
    step();
    const Values is = state.array().to_doubles();
    for (std::size_t row = 0; row < 200; ++row) {
      double whole = 0;
      for (std::size_t k = 0; k < static_cast<std::size_t>(length); ++k) whole += std::exp(was[row * static_cast<std::size_t>(length) + k]);
      for (std::size_t k = 0; k < static_cast<std::size_t>(length); ++k) ASSERT_NEAR(is[row * static_cast<std::size_t>(length) + k], std::exp(was[row * static_cast<std::size_t>(length) + k]) / whole, 1e-6) << length;
    }
  }
}

TEST_P(JoinedValues, AreOneKernelWithTheWorkAroundThem) {
  const Variable x = matrix("x");
  const auto normed = [](const Variable& v, int axis) { return (v - make_op<MomentsOp>(axis, 1)(v)) / sqrt(make_op<MomentsOp>(axis, 3)(v) + 1e-5) * 2.0; };
  for (int axis : {0, 1}) {
    const std::vector<Variable> made = {normed(x * 3.0, axis), make_op<FarthestOp>(axis, 1)(x * 3.0), max(x * 3.0, axis)};
    const Function fused = function({x}, made, options()), apart = function({x}, made, options(false));
    const std::string told = fused.explain();
    EXPECT_EQ(told.find("fused{"), told.rfind("fused{")) << told;
    EXPECT_THAT(told, HasSubstr("fused{10 ops}"));  // all but views
    for (const Shape& shape : {Shape{7, 300}, Shape{300, 7}, Shape{3, 20000}}) {
      const Array given = noise(shape, float32);
      const auto found = results(fused, {given}), expected = results(apart, {given});
      for (std::size_t i = 0; i < 3; ++i) {
        const Values a = found[i].to_doubles(), b = expected[i].to_doubles();
        for (std::size_t k = 0; k < a.size(); ++k) ASSERT_NEAR(a[k], b[k], 1e-4) << i << " " << to_string(shape);
      }
    }
  }
}

TEST_P(JoinedValues, AreJoinedAcrossRowsBesideThem) {
  const Variable x = matrix("x");
  const Function f = function({x}, {x - sum(x, 1, keepdims), make_op<MomentsOp>(0, 1)(x), make_op<MomentsOp>(0, 2)(x)}, options());
  EXPECT_EQ(f.kernels().size(), 1u) << f.explain();
  for (const Shape& shape : {Shape{1, 5}, Shape{300, 129}, Shape{4096, 40}}) {
    const Array given = noise(shape, float32);
    const auto all = results(f, {given});
    std::size_t line = 0;
    each_line(given, 0, [&](const Values& values, const auto&) {
      double mean = 0, m2 = 0;
      for (double value : values) mean += value / static_cast<double>(values.size());
      for (double value : values) m2 += (value - mean) * (value - mean);
      ASSERT_NEAR(all[1].to_doubles()[line], mean, 4e-6);
      ASSERT_NEAR(all[2].to_doubles()[line], m2, 4e-6 * (m2 + 1));
      ++line;
    });
  }
}

TEST_P(JoinedValues, HaveTheGradientThatTheOpGives) {
  const Variable x = matrix_of(float64, "x"), y = matrix_of(float64, "y");
  const auto expect_slopes = [&](const Variable& value) {
    const Function slopes = function({x, y}, grad(value, std::vector<Variable>{x, y}), options()), f = function({x, y}, {value}, options());
    const Array a = noise({3, 7}, float64), b = noise({3, 7}, float64, Lies::kDense, 2);
    const auto found = slopes(a, b);
    for (std::size_t of = 0; of < 2; ++of) {
      Values at = (of == 0 ? a : b).to_doubles();
      const Values slope = found[of].to_doubles();
      for (std::size_t i = 0; i < at.size(); ++i) {
        const auto with = [&](double change) {
          Values moved = at;
          moved[i] += change;
          const Array given = Array::from(moved, {3, 7}, device());
          return f(of == 0 ? given : a, of == 0 ? b : given)[0].item().as_double();
        };
        ASSERT_NEAR(slope[i], (with(1e-5) - with(-1e-5)) / 2e-5, 1e-6) << of << " element " << i;
      }
    }
  };
  for (int axis : {0, 1}) {
    expect_slopes(sum(sqr(make_op<MomentsOp>(axis, 3)(x * y))) + sum(make_op<MomentsOp>(axis, 1)(x) * y));
    for (bool other : {false, true}) expect_slopes(sum(make_op<AffineOp>(axis, 1, other, !other)(x, y) * y) + sum(sqr(make_op<AffineOp>(axis, 1, !other, !other)(x, y))));
  }
}

/// What is wrong with a join of several values.
struct WrongMembersOp final : KernelOp {
  explicit WrongMembersOp(int how) : how_(how) {}
  std::string name() const override { return "wrong_members"; }
  Props props() const override { return {{"how", std::int64_t{how_}}}; }
  std::optional<std::uint32_t> reduced_axes() const override { return how_ == 8 ? std::nullopt : std::optional<std::uint32_t>(0b10); }
  void lower(KernelBuilder& k) const override {
    const auto x = k.input(0);
    std::vector<KernelBuilder::Member> members = {{"total", float32, "x0", "0", "a.total + b.total"}, {"count", float32, "1", "0", "a.count + b.count"}};
    if (how_ == 0) members.clear();
    if (how_ == 1) members[1].neutral.clear();
    if (how_ == 2) members[1].name = "total";
    if (how_ == 3) members[0].name = "the total";
    if (how_ == 13) members[0].name = "float";
    if (how_ == 14) members[0].name = "__a";
    if (how_ == 4) members[1].dtype = static_cast<DType>(99);
    if (how_ == 5) members = std::vector<KernelBuilder::Member>(9, {"t", float64, "x0", "0", "a.t + b.t"});
    for (std::size_t i = 0; how_ == 5 && i < 9; ++i) members[i].name += std::to_string(i);
    if (how_ == 6) members[0].dtype = float64;
    if (how_ == 7) members[0].reduce = "a.total + b.nothing";
    if (how_ == 8 || how_ == 10) return k.output(k.step("x0 + x1", {x, k.place()}, float32));
    if (how_ == 11) members[0].element.clear();
    if (how_ == 12) members[0].reduce.clear();
    k.output(how_ == 9 ? k.scan({.members = members}, {x})[0] : k.join({.members = members}, {x})[0]);
  }
  int how_;
};

TEST_P(JoinedValues, SaysWhatIsWrongWithMembers) {
  const Variable x = matrix("x");
  const auto error = [&](int how) { return error_of([&] { function({x}, {make_op<WrongMembersOp>(how)(x) * 2.0}, options())(noise({2, 3}, float32)); }); };
  EXPECT_THAT(error(0), HasSubstr("wrong_members: a join of lower has no members"));
  EXPECT_THAT(error(1), HasSubstr("wrong_members: a join of lower: member count has no neutral value"));
  EXPECT_THAT(error(2), HasSubstr("wrong_members: a join of lower has two members total"));
  EXPECT_THAT(error(3), HasSubstr("wrong_members: a join of lower has a member \"the total\""));
  EXPECT_THAT(error(13), HasSubstr("wrong_members: a join of lower has a member \"float\", which is a word of C++\n"));
  EXPECT_THAT(error(13), HasSubstr("joined_values_test.cpp:"));
  EXPECT_THAT(error(13), HasSubstr("\n  texts say a.name: give it another name"));
  EXPECT_THAT(error(14), HasSubstr("has a member \"__a\", which is one of the compiler's names"));
  EXPECT_THAT(error(4), HasSubstr("wrong_members: a join of lower: member count has no dtype that there is"));
  EXPECT_THAT(error(5), HasSubstr("wrong_members: a join of lower has members of 72 bytes, at most 64 are joined together"));
  EXPECT_THAT(error(6), HasSubstr("wrong_members: lower gave float64, make_node declared float32"));
  EXPECT_THAT(error(7), HasSubstr("nothing"));
  EXPECT_THAT(error(7), HasSubstr("joined_values_test.cpp"));
  EXPECT_THAT(error(8), HasSubstr("wrong_members: lower asks for places, reduced_axes() says that nothing is reduced"));
  EXPECT_THAT(error(9), HasSubstr("wrong_members: lower has a scan, scans() says that there is none"));
  EXPECT_THAT(error(10), HasSubstr("wrong_members: lower gave a value of each element, reduced_axes() says that there is one of each row"));
  EXPECT_THAT(error(11), HasSubstr("member total has no element"));
  EXPECT_THAT(error(12), HasSubstr("member total has no rule to join two values"));
  const Variable a = input({float32, {2, 3}}), b = input({float32, {3, 2}});
  EXPECT_THAT(error_of([&] { make_op<ComplexProductOp>(1, 0)(a, b); }), HasSubstr("complex_product: shapes differ: (2, 3) and (3, 2)"));
  const Variable y = matrix("y");
  const Function f = function({x, y}, {make_op<ComplexProductOp>(1, 0)(x, y)}, options());
  EXPECT_THAT(error_of([&] { f(noise({2, 3}, float32), noise({2, 4}, float32)); }), HasSubstr("complex_product: shapes differ: (2, 3) and (2, 4)"));
}
DAMO_ON_EACH_DEVICE(JoinedValues);

}  // namespace
}  // namespace damo
