// Reductions of a graph, against double precision on the host, and their gradients against differences.
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "support/devices.hpp"
#include "support/sampling.hpp"

namespace damo {
namespace {

using testing::error_of;
using Values = std::vector<double>;

class Reduce : public testing::OnEachDevice {
 protected:
  Array noise(const Shape& shape, DType dtype = float32, unsigned seed = 1) const {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-2, 2);
    std::vector<float> values(static_cast<std::size_t>(shape.size()));
    for (float& value : values) value = uniform(random);
    const Array array = Array::from(values, shape, device());
    return dtype == float32 ? array : astype(array, dtype);
  }
  /// What the graph gives for x, of unknown extents.
  template <class Build>
  Array of(const Array& x, Build build) const {
    const Variable v = input({x.dtype(), Shape::filled(x.rank(), kUnknown)}, "x");
    return function({v}, {build(v)}, options())(x)[0];
  }
  /// The elements of each row of x, rows in C order.
  static std::vector<Values> rows_of(const Array& x, std::uint32_t axes) {
    std::map<std::int64_t, Values> rows;
    const Values values = x.to_doubles();
    for (std::size_t i = 0; i < values.size(); ++i) {
      auto rest = static_cast<std::int64_t>(i);
      std::int64_t row = 0, scale = 1;
      for (int axis = x.rank() - 1; axis >= 0; --axis) {
        if (!(axes >> axis & 1u)) row += rest % x.shape()[axis] * scale, scale *= x.shape()[axis];
        rest /= x.shape()[axis];
      }
      rows[row].push_back(values[i]);
    }
    std::vector<Values> all;
    for (auto& [row, elements] : rows) all.push_back(std::move(elements));
    return all;
  }
};

double total(const Values& values) {
  double sum = 0;
  for (double value : values) sum += value;
  return sum;
}
double variance(const Values& values, double less) {
  const double mean = total(values) / static_cast<double>(values.size());
  double sum = 0;
  for (double value : values) sum += (value - mean) * (value - mean);
  return sum / (static_cast<double>(values.size()) - less);
}

double norm_of(const Values& row, double ord) {
  double sum = 0, greatest = 0, least = INFINITY;
  for (double value : row) {
    sum += ord == 0 ? value != 0 : std::pow(std::abs(value), ord);
    greatest = std::max(greatest, std::abs(value)), least = std::min(least, std::abs(value));
  }
  return std::isinf(ord) ? (ord > 0 ? greatest : least) : ord == 0 ? sum : std::pow(sum, 1 / ord);
}

struct Known {
  const char* name;
  Variable (*graph)(const Variable& x, const Axes& axes, bool keep);
  double (*host)(const Values& row);
};
const Known kKnown[] = {
    {"sum", [](const Variable& x, const Axes& axes, bool keep) { return sum(x, axes, keep); }, total},
    {"prod", [](const Variable& x, const Axes& axes, bool keep) { return prod(x, axes, keep); },
     [](const Values& row) {
       double product = 1;
       for (double value : row) product *= value;
       return product;
     }},
    {"mean", [](const Variable& x, const Axes& axes, bool keep) { return mean(x, axes, keep); }, [](const Values& row) { return total(row) / static_cast<double>(row.size()); }},
    {"var", [](const Variable& x, const Axes& axes, bool keep) { return var(x, axes, keep); }, [](const Values& row) { return variance(row, 0); }},
    {"stddev", [](const Variable& x, const Axes& axes, bool keep) { return stddev(x, axes, keep); }, [](const Values& row) { return std::sqrt(variance(row, 0)); }},
    {"norm", [](const Variable& x, const Axes& axes, bool keep) { return norm(x, axes, keep); },
     [](const Values& row) {
       double sum = 0;
       for (double value : row) sum += value * value;
       return std::sqrt(sum);
     }},
    {"logsumexp", [](const Variable& x, const Axes& axes, bool keep) { return logsumexp(x, axes, keep); },
     [](const Values& row) {
       double sum = 0;
       for (double value : row) sum += std::exp(value);
       return std::log(sum);
     }},
    {"max", [](const Variable& x, const Axes& axes, bool keep) { return max(x, axes, keep); }, [](const Values& row) { return *std::max_element(row.begin(), row.end()); }},
    {"min", [](const Variable& x, const Axes& axes, bool keep) { return min(x, axes, keep); }, [](const Values& row) { return *std::min_element(row.begin(), row.end()); }},
    {"argmax", [](const Variable& x, const Axes& axes, bool keep) { return argmax(x, axes, keep); },
     [](const Values& row) { return static_cast<double>(std::max_element(row.begin(), row.end()) - row.begin()); }},
    {"argmin", [](const Variable& x, const Axes& axes, bool keep) { return argmin(x, axes, keep); },
     [](const Values& row) { return static_cast<double>(std::min_element(row.begin(), row.end()) - row.begin()); }},
};

TEST_P(Reduce, GivesWhatTheHostGives) {
  std::size_t combination = 0;
  for (const Known& known : kKnown) {
    for (const Shape& shape : {Shape{5, 7}, Shape{300, 3}, Shape{3, 2500}, Shape{4, 9, 6}}) {
      for (bool turned : {false, true}) {
        for (int axis = -1; axis < shape.rank(); ++axis) {
          for (bool keep : {false, true}) {
            if (!testing::takes_pair(static_cast<std::size_t>(&known - kKnown), combination++)) continue;
            Array x = noise(shape);
            if (turned) x = x.transpose();
            const Axes axes = axis < 0 ? Axes() : Axes(axis);
            const Array found = of(x, [&](const Variable& v) { return known.graph(v, axes, keep); });
            const auto rows = rows_of(x, axes.mask(x.rank(), "test"));
            const Values values = found.to_doubles();
            ASSERT_EQ(values.size(), rows.size()) << known.name;
            ASSERT_EQ(found.rank(), keep ? x.rank() : axis < 0 ? 0 : x.rank() - 1) << known.name;
            for (std::size_t i = 0; i < rows.size(); ++i) {
              const double expected = known.host(rows[i]);
              ASSERT_NEAR(values[i], expected, 1e-5 * std::max(1.0, std::abs(expected)) + 2e-7 * static_cast<double>(rows[i].size()))
                  << known.name << " of " << to_string(x.shape()) << " along " << axis << " row " << i;
            }
          }
        }
      }
    }
  }
}

TEST_P(Reduce, KeepsNumPysDtypes) {
  const auto dtype_of = [](const Variable& v) { return v.dtype(); };
  for (const auto& [x, sums] : std::vector<std::pair<DType, DType>>{{bool_, int64}, {int8, int64}, {uint8, uint64}, {float16, float16}, {bfloat16, bfloat16}, {float64, float64}}) {
    const Variable v = vector("v", x);
    EXPECT_EQ(dtype_of(sum(v)), sums);
    EXPECT_EQ(dtype_of(max(v)), x);
    EXPECT_EQ(dtype_of(mean(v)), is_floating(x) ? x : float64);
    EXPECT_EQ(dtype_of(argmax(v)), int64);
    EXPECT_EQ(dtype_of(any(v)), bool_);
  }
}

TEST_P(Reduce, AddsSixteenBitsInFloat32AndIntegersInSixtyFour) {
  const Array ones = astype(Array::from(std::vector<float>(5000, 1.0f), device()), float16);
  EXPECT_EQ(of(ones, [](const Variable& v) { return sum(v); }).to_doubles(), Values{5000});
  const Array large = astype(Array::from(std::vector<float>(3000, 100.0f), device()), int8);
  EXPECT_EQ(of(large, [](const Variable& v) { return sum(v); }).to_doubles(), Values{300000});
}

TEST_P(Reduce, HasADeviationWhereSixteenBitsCannotHoldTheVariance) {
  const Array x = astype(Array::from(std::vector<float>{-300, 300, -300, 300}, device()), float16);
  EXPECT_EQ(of(x, [](const Variable& v) { return stddev(v); }).to_doubles(), Values{300});
  EXPECT_EQ(stddev(x).to_doubles(), Values{300});
}

TEST_P(Reduce, AddsManyEqualNumbersToFewUnitsInTheLastPlace) {
  const Variable x = tensor3("x", float32);
  const Function f = function({x}, {sum(x), sum(x, {0, 2}), sum(x, {0, 1})}, {.device = device()});
  for (const Shape& shape : {Shape{1, 1, 2'000'001}, Shape{2'000'001, 1, 1}, Shape{70'001, 1, 40}, Shape{3, 2, 700'001}}) {
    for (const float value : {0.1f, 1.0f / 3}) {  // each addition rounds the same way: the worst there is
      const Results results = f(Array::from(std::vector<float>(static_cast<std::size_t>(shape.size()), value), shape, device()));
      for (const Array& result : results) {
        const double wanted = static_cast<double>(value) * static_cast<double>(shape.size() / result.size());
        for (const double found : result.to_doubles()) EXPECT_LE(std::fabs(found - wanted), 16 * std::ldexp(1.0, std::ilogb(wanted) - 23)) << shape[0] << " x " << shape[2] << " of " << value;
      }
    }
  }
}

TEST_P(Reduce, TellsWhetherSomeOrAllAreNotZero) {
  const Array x = Array::from(std::vector<float>{0, 0, 0, 0, 2, 0, 1, 1, std::nanf("")}, {3, 3}, device());
  EXPECT_EQ(of(x, [](const Variable& v) { return any(v, 1); }).to_doubles(), (Values{0, 1, 1}));
  EXPECT_EQ(of(x, [](const Variable& v) { return all(v, 1); }).to_doubles(), (Values{0, 0, 1}));
}

TEST_P(Reduce, HasNanAndInfinitiesAsNumPy) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const Array x = Array::from(std::vector<float>{1, nan, 3, -inf, -inf, -inf, inf, 1, 2}, {3, 3}, device());
  EXPECT_THAT(of(x, [](const Variable& v) { return max(v, 1); }).to_doubles(), ::testing::ElementsAre(::testing::IsNan(), -inf, inf));
  EXPECT_EQ(of(x, [](const Variable& v) { return argmax(v, 1); }).to_doubles(), (Values{1, 0, 0}));
  EXPECT_THAT(of(x, [](const Variable& v) { return logsumexp(v, 1); }).to_doubles(), ::testing::ElementsAre(::testing::IsNan(), -inf, inf));
}

TEST_P(Reduce, LogsumexpOfNothingIsMinusInfinityWithAGradientOfNothing) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const DType dtype : {float32, float16, float64, int32}) {
    const Array none = Array::empty({2, 0}, dtype, device());
    for (const Variable& x : {matrix("x", dtype), input({dtype, {2, 0}}, "x"), input({dtype, {kUnknown, 0}}, "x")}) {
      const Results results = function({x}, {logsumexp(x, 1), logsumexp(x, 1, true), logsumexp(x, 0), logsumexp(x)}, {.device = device()})(none);
      EXPECT_EQ(results[0].to_doubles(), (Values{-inf, -inf})) << name(dtype);
      EXPECT_EQ(results[1].shape(), (Shape{2, 1}));
      EXPECT_EQ(results[2].shape(), (Shape{0}));
      EXPECT_EQ(results[3].to_doubles(), (Values{-inf}));
    }
    EXPECT_EQ(logsumexp(none, 1).to_doubles(), (Values{-inf, -inf})) << name(dtype);
    EXPECT_EQ(logsumexp(none, 1, true).shape(), (Shape{2, 1}));
    EXPECT_EQ(logsumexp(none, 0).shape(), (Shape{0}));
    EXPECT_EQ(logsumexp(none).to_doubles(), (Values{-inf}));
    EXPECT_EQ(logsumexp(none).dtype(), is_floating(dtype) ? dtype : float64);
  }
  const Variable x = matrix("x");
  const Function by_x = function({x}, {grad(sum(logsumexp(x, 1)), x), grad(logsumexp(x), x)}, {.device = device()});
  for (const Array& gradient : by_x(Array::empty({2, 0}, float32, device()))) EXPECT_EQ(gradient.shape(), (Shape{2, 0}));
  EXPECT_EQ(by_x(Array::zeros({1, 2}, float32, device()))[0].to_doubles(), (Values{0.5, 0.5}));
}

TEST_P(Reduce, OfNothingGivesTheNeutralValueOrSaysThatThereIsNone) {
  const Array none = Array::empty({2, 0}, float32, device());
  EXPECT_EQ(of(none, [](const Variable& v) { return sum(v, 1); }).to_doubles(), (Values{0, 0}));
  EXPECT_EQ(of(none, [](const Variable& v) { return prod(v, 1); }).to_doubles(), (Values{1, 1}));
  EXPECT_EQ(of(none, [](const Variable& v) { return sum(v, 0); }).shape(), (Shape{0}));
  EXPECT_THAT(error_of([&] { of(none, [](const Variable& v) { return max(v, 1); }); }), ::testing::HasSubstr("max: there is no element to choose in an array of shape (2, 0)"));
  EXPECT_EQ(of(none, [](const Variable& v) { return max(v, 0); }).shape(), (Shape{0}));
}

// As NumPy's empty arrays come: no memory, and strides of 0, which let a kernel read one element for all.
TEST_P(Reduce, ReadsNothingOfRowsWithoutElementsWhateverTheirStrides) {
  const Array none = Array::empty({0, 3}, float32, device());
  for (const Strides& strides : {Strides{0, 0}, Strides{0, 1}, Strides{1, 0}}) {
    const Array x = none.view(float32, {0, 3}, strides, 0);
    EXPECT_EQ(of(x, [](const Variable& v) { return sum(v, 0); }).to_doubles(), (Values{0, 0, 0}));
    EXPECT_EQ(of(x, [](const Variable& v) { return all(v > 0.0, 0); }).to_doubles(), (Values{1, 1, 1}));
    EXPECT_EQ(of(x, [](const Variable& v) { return logsumexp(2.0 * v); }).to_doubles(), (Values{-INFINITY}));
    EXPECT_EQ(sum(x, 0).to_doubles(), (Values{0, 0, 0}));
  }
}

TEST_P(Reduce, TakesTypesThatKnowThatThereIsNothing) {
  const Variable x = input({float32, {0, 3, 0, 2}}, "x"), y = input({float32, {4, 0}}, "y");
  const Function f = function({x, y}, {sum(x, {0, 1}), sum(x, 2, keepdims), sum(y, 1)}, options());
  const auto results = f.call<3>(Array::empty({0, 3, 0, 2}, float32, device()), Array::empty({4, 0}, float32, device()));
  EXPECT_EQ(results[0].shape(), (Shape{0, 2}));
  EXPECT_EQ(results[1].shape(), (Shape{0, 3, 1, 2}));
  EXPECT_EQ(results[2].to_doubles(), (Values{0, 0, 0, 0}));
}

TEST_P(Reduce, RefusesAxesThatDoNotExistAndNamesTheLine) {
  const Variable x = matrix("x");
  const std::string text = error_of([&] { sum(x, 2); });
  EXPECT_THAT(text, ::testing::HasSubstr("sum: axis 2 does not exist: x has 2 axes"));
  EXPECT_THAT(text, ::testing::HasSubstr("reduce_test.cpp:" + std::to_string(__LINE__ - 2)));
  EXPECT_THAT(error_of([&] { max(x, {0, -2}); }), ::testing::HasSubstr("max: axis 0 is named twice"));
}

TEST_P(Reduce, IsOneOpForEqualReductions) {
  const Variable x = matrix("x");
  const Function f = function({x}, {sum(x, 1) + sum(x, -1), sum(x, 0) + max(x, 0)}, options());
  const Values a = f(Array::from(std::vector<float>{1, 2, 3, 4}, {2, 2}, device()))[0].to_doubles();
  EXPECT_EQ(a, (Values{6, 14}));
}

/// The gradient of sum(weights * f(x)) by x, against central differences in float64.
TEST_P(Reduce, HasTheGradientThatDifferencesShow) {
  for (const Known& known : kKnown) {
    if (known.name[0] == 'a') continue;  // argmax, argmin
    std::size_t combination = 0;
    for (const auto& [axes, keep] : {std::pair{Axes(), false}, {Axes(), true}, {Axes(0), false}, {Axes(0), true}, {Axes(1), false}, {Axes(1), true}, {Axes{0, 1}, true}}) {
      if (!testing::takes_pair(static_cast<std::size_t>(&known - kKnown), combination++)) continue;
      const Variable x = input({float64, {kUnknown, kUnknown}}, "x");
      const Function g = function({x}, {grad(sum(sqr(known.graph(x, axes, keep))), {x})[0]}, options());
      Values values = noise({3, 4}, float32, 7).to_doubles();
      const auto at = [&, mask = axes.mask(2, "test")](const Values& point) {
        double cost = 0;
        for (const Values& row : rows_of(Array::from(point, {3, 4}, device()), mask)) cost += known.host(row) * known.host(row);
        return cost;
      };
      const Values found = g(Array::from(values, {3, 4}, device()))[0].to_doubles();
      for (std::size_t i = 0; i < values.size(); ++i) {
        Values above = values, below = values;
        above[i] += 1e-6, below[i] -= 1e-6;
        const double expected = (at(above) - at(below)) / 2e-6;
        ASSERT_NEAR(found[i], expected, 1e-5 * std::max(1.0, std::abs(expected))) << known.name << " element " << i;
      }
    }
  }
}

TEST_P(Reduce, HasTheGradientOfAProductWithZeros) {
  const Variable x = vector("x", float64);
  const Function g = function({x}, {grad(prod(x), {x})[0]}, options());
  EXPECT_EQ(g(Array::from(Values{2, 3, 4}, device()))[0].to_doubles(), (Values{12, 8, 6}));
  EXPECT_EQ(g(Array::from(Values{2, 0, 4}, device()))[0].to_doubles(), (Values{0, 8, 0}));
  EXPECT_EQ(g(Array::from(Values{0, 0, 4}, device()))[0].to_doubles(), (Values{0, 0, 0}));
}

TEST_P(Reduce, HasTheGradientOfAProductBeyondItsDtypeWhereTheAccumulatorHoldsIt) {
  const Variable x = vector("x");
  const Function g = function({x}, {grad(prod(x, {}, {.acc_dtype = float64}), x)}, options());
  const auto gradient = [&](const std::vector<float>& values) { return g(Array::from(values, device()))[0].to_vector<float>(); };
  EXPECT_EQ(gradient({0x1p-100f, 0x1p-60f}), (std::vector<float>{0x1p-60f, 0x1p-100f})) << "2^-160 is 0 in float32";
  EXPECT_EQ(gradient({0x1p100f, 0x1p60f}), (std::vector<float>{0x1p60f, 0x1p100f})) << "2^160 is infinite in float32";
}

TEST_P(Reduce, HasTheGradientOfAProductThatSixteenBitsDoNotHold) {
  const auto gradient = [&](const Values& values) {
    const Array x = astype(Array::from(values, {static_cast<std::int64_t>(values.size())}, device()), float16);
    const Variable v = vector("v", float16), g = grad(prod(v), v);
    Options apart = options();
    apart.fuse = false;  // what one kernel hands to the next is rounded to its dtype
    const Values found = function({v}, {g}, apart)(x)[0].to_doubles();
    EXPECT_EQ(function({v}, {g}, options())(x)[0].to_doubles(), found);
    return found;
  };
  EXPECT_EQ(gradient({300, 300, 4}), (Values{1200, 1200, INFINITY})) << "360,000 is infinite in float16";
  EXPECT_EQ(gradient({0x1p-7, 0x1p-9, 0x1p-10}), (Values{0x1p-19, 0x1p-17, 0x1p-16})) << "2^-26 is 0 in float16";
}

TEST_P(Reduce, CountsMoreThanAFloat16HoldsInGradientsOfSixteenBits) {
  const Variable x = vector("x", float16);
  const Array ones = astype(Array::from(std::vector<float>(100000, 1.0f), device()), float16);
  for (const Variable& cost : {mean(x), max(x)}) {
    const Function g = function({x}, {grad(cost, {x})[0]}, options());
    const Values found = g(ones)[0].to_doubles();
    EXPECT_NEAR(found[0], 1e-5, 1e-7);
    EXPECT_NEAR(found[99999], 1e-5, 1e-7);
  }
}

TEST_P(Reduce, FindsTheGreatestAndItsPlaceInOneKernel) {
  const Variable x = tensor3("x"), y = exp(x);
  for (const Axes& axes : {Axes(), Axes(1), Axes({0, 2})}) {
    const auto [values, positions] = max_and_argmax(y, axes, true);
    const Function f = function({x}, {values, positions, grad(sum(values), x)}, options());
    const Function alone = function({x}, {values, positions}, {.device = Device("null")});
    int kernels = 0;
    for (NodeId node : alone.graph().nodes()) kernels += alone.graph().op(node).inner_graph() != nullptr;
    EXPECT_EQ(kernels, 1);
    const Array in = array({3, 9, 9, 1, 2, -4, 0, 9, 7, 7, 5, 6}, {2, 3, 2});
    const Results r = f(in);
    const auto [greatest, places] = max_and_argmax(in, axes, true);
    EXPECT_EQ(Array(r[1]).to_doubles(), places.to_doubles());
    EXPECT_EQ(Array(r[0]).shape(), greatest.shape());
    const std::vector<double> found = Array(r[0]).to_doubles(), expected = greatest.to_doubles();
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i] / std::exp(expected[i]), 1, 1e-6);
  }
  EXPECT_EQ(max_and_argmax(x, 1).positions.dtype(), int64);
  EXPECT_EQ(max_and_argmax(x, 1).values.rank(), 2);
}

TEST_P(Reduce, SharesTheGradientOfAMaximumAmongEquals) {
  const Variable x = vector("x", float64);
  const Function g = function({x}, {grad(max(x), {x})[0]}, options());
  EXPECT_EQ(g(Array::from(Values{1, 3, 3, 2}, device()))[0].to_doubles(), (Values{0, 0.5, 0.5, 0}));
}

TEST_P(Reduce, AccumulateAndGiveWhatIsAsked) {
  // 2^24 and 1s: in float32 each 1 is lost.
  std::vector<float> values(40, 1.0f);
  values[0] = 16777216.0f;
  const Array x = Array::from(values, {2, 20}, device());
  const Array wide = of(x, [](const Variable& v) { return sum(v, {}, {.dtype = float64}); });
  EXPECT_EQ(wide.dtype(), float64);
  EXPECT_EQ(wide.to_doubles(), Values{16777255.0});
  const Array inner = of(x, [](const Variable& v) { return sum(v, 1, {.keepdims = true, .acc_dtype = float64}); });
  EXPECT_EQ(inner.dtype(), float32);
  EXPECT_EQ(inner.shape(), (Shape{2, 1}));
  EXPECT_EQ(inner.to_doubles(), (Values{16777236.0, 20.0})) << "16,777,235 rounded once, to even";
  EXPECT_EQ(of(x, [](const Variable& v) { return mean(v, 1, {.dtype = float64}); }).to_doubles(), (Values{16777235.0 / 20, 1}));
  EXPECT_EQ(of(x, [](const Variable& v) { return prod(v, 1, {.dtype = float64}); }).to_doubles(), (Values{16777216.0, 1}));
  const Array i = Array::from(std::vector<std::int32_t>{2000000000, 2000000000, -7}, {3}, device());
  EXPECT_EQ(of(i, [](const Variable& v) { return sum(v, 0, {.dtype = float32}); }).to_doubles(), Values{4e9}) << "added in float64";
  EXPECT_EQ(of(i, [](const Variable& v) { return sum(v, 0, {.dtype = int32}); }).to_doubles(), Values{4000000000.0 - 7 - 4294967296.0}) << "modulo 2^32";
  const Array h = Array::full({3000}, 1.0f, float16, device());
  EXPECT_EQ(of(h, [](const Variable& v) { return sum(v, 0, {.dtype = float32}); }).to_doubles(), Values{3000});
  EXPECT_EQ(of(h, [](const Variable& v) { return sum(v, 0, {.acc_dtype = float64}); }).dtype(), float16);
}

TEST_P(Reduce, RefuseDtypesThatFitNeitherElementsNorResult) {
  const Variable x = matrix("x"), i = matrix("i", int32);
  EXPECT_THAT(error_of<TypeError>([&] { sum(x, 0, {.dtype = int64}); }), ::testing::HasSubstr("sum of float32 is no integer: .dtype = int64"));
  EXPECT_THAT(error_of<TypeError>([&] { mean(i, 0, {.acc_dtype = int64}); }), ::testing::HasSubstr("mean of int32 is not accumulated in integers: .acc_dtype = int64"));
  EXPECT_THAT(error_of<TypeError>([&] { prod(x, 0, {.acc_dtype = float16}); }), ::testing::HasSubstr("prod of float32: nothing is accumulated in float16"));
  EXPECT_THAT(error_of<TypeError>([&] { sum(i, 0, {.acc_dtype = float64}); }), ::testing::HasSubstr("sum of int32: what is accumulated in float64 is no int64"));
  EXPECT_THAT(error_of<TypeError>([&] { sum(i, 0, {.dtype = bool_}); }), ::testing::HasSubstr("sum of int32: bool is no dtype of a result"));
  EXPECT_THAT(error_of<OptionError>([&] { norm(x, 0, {.ord = NAN}); }), ::testing::HasSubstr("norm: NaN is no order"));
}

TEST_P(Reduce, GiveNormsOfAnyOrder) {
  const Array x = noise({6, 30});
  const Variable v = matrix("v");
  const std::vector<double> orders = {1, 2, 3, 0.5, -1, INFINITY, -INFINITY};
  for (const Axes& axes : {Axes(), Axes(1)}) {
    std::vector<Variable> norms;
    for (double ord : orders) norms.push_back(norm(v, axes, {.ord = ord}));
    const Results all = function(std::vector{v}, norms, options())(x);
    const std::vector<Values> rows = rows_of(x, axes.mask(2, "test"));
    for (std::size_t i = 0; i < orders.size(); ++i) {
      const double ord = orders[i];
      const Values found = all[i].to_doubles(), eager = norm(x, axes, {.ord = ord}).to_doubles();
      ASSERT_EQ(found.size(), rows.size());
      for (std::size_t row = 0; row < rows.size(); ++row) {
        EXPECT_NEAR(found[row], norm_of(rows[row], ord), 2e-5 * norm_of(rows[row], ord)) << ord;
        EXPECT_NEAR(eager[row], norm_of(rows[row], ord), 2e-5 * norm_of(rows[row], ord)) << ord << " of an Array";
      }
    }
  }
  const Array few = Array::from(std::vector<std::int32_t>{0, -3, 0, 4}, {2, 2}, device());
  for (const auto& [ord, expected] : std::map<double, double>{{0, 2}, {1, 7}, {2, 5}, {INFINITY, 4}}) {
    EXPECT_EQ(of(few, [&, ord = ord](const Variable& v) { return norm(v, {}, {.ord = ord}); }).to_doubles(), Values{expected}) << ord;
    EXPECT_EQ(norm(few, {}, {.ord = ord}).to_doubles(), Values{expected}) << ord;
  }
  // As numpy.linalg.norm: 1 / infinity is 0, of which the root is infinite.
  const Array far = Array::from(std::vector<float>{INFINITY, -INFINITY, INFINITY, 2, 0, 5}, {3, 2}, device());
  for (const Array& found : {of(far, [](const Variable& v) { return norm(v, 1, {.ord = -1}); }), norm(far, 1, {.ord = -1})}) EXPECT_EQ(found.to_doubles(), (Values{INFINITY, 2, 0}));
  const Array none = Array::zeros({2, 0}, float32, device());
  for (const Array& found : {of(none, [](const Variable& v) { return norm(v, 1, {.ord = -2}); }), norm(none, 1, {.ord = -2})}) EXPECT_EQ(found.to_doubles(), (Values{INFINITY, INFINITY}));
  EXPECT_EQ(of(astype(x, float16), [](const Variable& v) { return norm(v, 1, {.ord = 3, .keepdims = true}); }).dtype(), float16);
  EXPECT_EQ(norm(astype(x, float16), 1, {.ord = 3, .keepdims = true}).shape(), (Shape{6, 1}));
  EXPECT_THROW(norm(Array::empty({0}, float32, device()), 0, {.ord = INFINITY}), ShapeError);
}

TEST_P(Reduce, GradientsOfDeviationsOfEqualElementsAre0) {
  for (const DType dtype : {float32, float64, float16}) {
    const Array equal = Array::full({2, 3}, 0.75, dtype, device());
    const auto gradient = [&](const Array& at, const auto& build) { return of(at, [&](const Variable& v) { return grad(sum(build(v)), v); }).to_doubles(); };
    EXPECT_EQ(gradient(equal, [](const Variable& v) { return stddev(v); }), Values(6, 0));
    EXPECT_EQ(gradient(equal, [](const Variable& v) { return stddev(v, 1, false, 1); }), Values(6, 0));
    EXPECT_EQ(gradient(Array::full({1}, 3, dtype, device()), [](const Variable& v) { return stddev(v); }), Values{0});
    EXPECT_EQ(gradient(equal, [](const Variable& v) { return grad(sum(stddev(v, 1)), v); }), Values(6, 0)) << "of the gradient";
    EXPECT_EQ(of(equal, [](const Variable& v) { return stddev(v, 1); }).to_doubles(), Values(2, 0));
  }
}

TEST_P(Reduce, HaveTheGradientsOfNormsAndOfOtherDtypes) {
  const std::vector<double> at = {0.5, -1.25, 2, 0.75};
  const Array x = Array::from(std::vector<float>(at.begin(), at.end()), {4}, device());
  const auto gradient = [&](const Array& values, const auto& build) {
    return of(values, [&](const Variable& v) { return grad(build(v), v); }).to_doubles();
  };
  for (double ord : {1.0, 2.0, 3.0, 0.5}) {
    const Values found = gradient(x, [&](const Variable& v) { return norm(v, {}, {.ord = ord}); });
    for (std::size_t i = 0; i < at.size(); ++i) {
      const double expected = (at[i] < 0 ? -1 : 1) * std::pow(std::abs(at[i]) / norm_of(at, ord), ord - 1);
      EXPECT_NEAR(found[i], expected, 1e-5 * std::abs(expected)) << ord;
    }
  }
  EXPECT_EQ(gradient(x, [](const Variable& v) { return norm(v, {}, {.ord = INFINITY}); }), (Values{0, 0, 1, 0}));
  EXPECT_EQ(gradient(x, [](const Variable& v) { return norm(v, {}, {.ord = -INFINITY}); }), (Values{1, 0, 0, 0}));
  EXPECT_EQ(gradient(Array::zeros({2}, float32, device()), [](const Variable& v) { return norm(v); }), (Values{0, 0}));
  for (double ord : {1.0, 2.0, 3.0, 0.5, -1.0, -2.0}) {
    EXPECT_EQ(gradient(Array::zeros({2}, float32, device()), [&](const Variable& v) { return norm(v, {}, {.ord = ord}); }), (Values{0, 0})) << ord;
    EXPECT_EQ(gradient(Array::zeros({2}, float32, device()), [&](const Variable& v) { return sum(grad(norm(v, {}, {.ord = ord}), v)); })[0] * 0, 0) << ord << ", twice";
  }
  const Array one_zero = Array::from(std::vector<float>{0, -4, 1}, {3}, device());
  for (const auto& [ord, expected] : std::map<double, Values>{{0.5, {0, -1.5, 3}}, {-1, {0, 0, 0}}, {-2, {0, 0, 0}}, {1, {0, -1, 1}}}) {
    EXPECT_EQ(gradient(one_zero, [ord = ord](const Variable& v) { return norm(v, {}, {.ord = ord}); }), expected) << ord;
  }
  const Array below = Array::from(std::vector<double>{0.5, -1.25, 2, 0.75}, {4}, device());
  const GradientCase cases[] = {{"-1", [](std::span<const Variable> v) { return norm(v[0], {}, {.ord = -1}); }, {below}}, {"0.5", [](std::span<const Variable> v) { return norm(v[0], {}, {.ord = 0.5}); }, {below}}, {"3", [](std::span<const Variable> v) { return norm(v[0], {}, {.ord = 3}); }, {below}}, {"stddev", [](std::span<const Variable> v) { return stddev(v[0], {}, false, 1); }, {below}}, {"2, twice", [](std::span<const Variable> v) { return grad(norm(v[0]), v[0]); }, {below}}, {"stddev, twice", [](std::span<const Variable> v) { return grad(stddev(v[0]), v[0]); }, {below}}, {"-2, twice", [](std::span<const Variable> v) { return grad(norm(v[0], {}, {.ord = -2}), v[0]); }, {below}}};
  verify_grad(cases, {.tolerance = 1e-5, .device = device()});
  EXPECT_EQ(gradient(x, [](const Variable& v) { return sum(v * v, {}, {.dtype = float64}); }), (Values{1, -2.5, 4, 1.5}));
  EXPECT_EQ(gradient(x, [](const Variable& v) { return mean(v, {}, {.acc_dtype = float64}); }), (Values{0.25, 0.25, 0.25, 0.25}));
}

DAMO_ON_EACH_DEVICE(Reduce);

}  // namespace
}  // namespace damo
