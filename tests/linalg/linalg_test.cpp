// Products of vectors, matrices and tensors, in graphs and of Arrays, against loops in long double.
#include <cmath>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "support/devices.hpp"
#include "support/einsum_reference.hpp"
#include "support/graphs.hpp"

namespace damo {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::einsum_reference;
using testing::error_of;

double epsilon_of(DType dtype) {
  return dtype == float64 ? 0x1p-52 : dtype == float32 ? 0x1p-23 : dtype == float16 ? 0x1p-10 : dtype == bfloat16 ? 0x1p-7 : 0;
}

class Linalg : public testing::OnEachDevice {
 protected:
  Options options() const { return {.device = device()}; }

  Array noise(const Shape& shape, DType dtype = float32) {
    std::vector<float> values(static_cast<std::size_t>(shape.size()));
    std::uniform_real_distribution<float> uniform(-2, 2);
    std::uniform_int_distribution<int> whole(-9, 9);
    for (float& value : values) value = is_floating(dtype) ? uniform(random_) : static_cast<float>(is_signed(dtype) ? whole(random_) : std::abs(whole(random_)));
    const Array array = Array::from(values, shape, device());
    return dtype == float32 ? array : astype(array, dtype);
  }
  int pick(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }

  /// Elements anywhere: axes in any order, with gaps, backwards, repeated or overlapping.
  Array scattered(const Shape& shape, DType dtype = float32) {
    std::vector<int> order(static_cast<std::size_t>(shape.rank()));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    std::shuffle(order.begin(), order.end(), random_);
    const int kind = pick(0, 4);  // 0, 1: dense in some order; 2, 3: gaps and signs; 4: small strides, which overlap
    Strides strides = Strides::filled(shape.rank(), 0);
    std::int64_t step = 1, first = 0, last = 0;
    for (int axis : order) {
      std::int64_t stride = kind == 4 ? pick(0, 3) : step * (kind >= 2 ? pick(1, 2) : 1);
      if (kind >= 2 && pick(0, 2) == 0) stride = -stride;
      strides[axis] = stride;
      step = std::max<std::int64_t>(step, std::abs(stride) * std::max<std::int64_t>(shape[axis], 1)) + (kind >= 2 ? pick(0, 1) : 0);
      (stride < 0 ? first : last) += stride * std::max<std::int64_t>(shape[axis] - 1, 0);
    }
    return noise({last - first + 1}, dtype).view(dtype, shape, strides, -first);
  }

  /// got against text of the operands. rounds: how often a result of `dtype` was rounded.
  static void expect_product(const std::string& text, const std::vector<Array>& operands, const Array& got, const std::string& what, double rounds = 1) {
    const auto want = einsum_reference(text, operands);
    ASSERT_EQ(std::vector<std::int64_t>(got.shape().begin(), got.shape().end()), want.shape) << what << " " << text;
    const std::vector<double> values = got.to_doubles();
    const double sum = epsilon_of(got.dtype() == float64 ? float64 : float32) * static_cast<double>(want.terms + 2), last = rounds * epsilon_of(got.dtype());
    int wrong = 0;
    for (std::size_t i = 0; i < values.size() && wrong < 3; ++i) {
      const double bound = is_floating(got.dtype()) ? sum * want.magnitude[i] + last * std::fabs(want.values[i]) + last * 1e-3 : 0;
      if (std::fabs(values[i] - want.values[i]) <= bound) continue;
      ++wrong;
      ADD_FAILURE() << what << " " << text << " [" << i << "] is " << values[i] << ", not " << want.values[i] << " within " << bound << "; x " << to_string(operands[0].shape()) << " strides "
                    << to_string(operands[0].strides()) << (operands.size() > 1 ? ", y " + to_string(operands[1].shape()) + " strides " + to_string(operands[1].strides()) : "");
    }
  }

  /// The graph's result and the eager one, for operands of unknown extents.
  template <class Graph, class Eager>
  void expect_both(const std::string& text, const std::vector<Array>& operands, Graph graph, Eager eager, double rounds = 1) {
    expect_product(text, operands, eager(operands), "eager", rounds);
    std::vector<Variable> inputs;
    for (const Array& operand : operands) inputs.push_back(input({operand.dtype(), Shape::filled(operand.rank(), kUnknown)}));
    const Function f = function(inputs, std::vector{graph(inputs)}, options());
    expect_product(text, operands, f.call(operands)[0], "graph", rounds);
  }
  void expect_both_dot(const std::string& text, const Array& x, const Array& y) {
    expect_both(text, {x, y}, [](const auto& v) { return dot(v[0], v[1]); }, [](const auto& v) { return dot(v[0], v[1]); });
  }
  void expect_both_matmul(const std::string& text, const Array& x, const Array& y, double rounds = 1) {
    expect_both(text, {x, y}, [](const auto& v) { return matmul(v[0], v[1]); }, [](const auto& v) { return matmul(v[0], v[1]); }, rounds);
  }

  std::mt19937 random_{1};
};

TEST_P(Linalg, DotIsNumPys) {
  expect_both_dot("ij,jk->ik", noise({5, 7}), noise({7, 3}));
  expect_both_dot("i,i->", noise({1000}), noise({1000}));
  expect_both_dot("ij,j->i", noise({4, 6}), noise({6}));
  expect_both_dot("j,jk->k", noise({6}), noise({6, 5}));
  expect_both_dot("aij,jk->aik", noise({2, 3, 4}), noise({4, 5}));
  expect_both_dot("ij,bjk->ibk", noise({3, 4}), noise({2, 4, 5}));
  expect_both_dot("aij,bjk->aibk", noise({2, 3, 4}), noise({3, 4, 2}));
  expect_both_dot("j,bjk->bk", noise({4}), noise({3, 4, 2}));
  expect_both_dot(",ij->ij", noise({}), noise({3, 4}));
}

TEST_P(Linalg, MatmulBroadcastsBatches) {
  expect_both_matmul("ij,jk->ik", noise({33, 65}), noise({65, 17}));
  expect_both_matmul("bij,bjk->bik", noise({3, 4, 5}), noise({3, 5, 2}));
  expect_both_matmul("bij,jk->bik", noise({3, 4, 5}), noise({5, 2}));
  expect_both_matmul("ij,bjk->bik", noise({4, 5}), noise({3, 5, 2}));
  expect_both_matmul("abij,bjk->abik", noise({2, 3, 4, 5}), noise({3, 5, 2}));
  expect_both_matmul("bij,j->bi", noise({3, 4, 5}), noise({5}));
  expect_both_matmul("j,bjk->bk", noise({5}), noise({3, 5, 2}));
  expect_both_matmul("j,j->", noise({5}), noise({5}));
  const Array x = noise({2, 1, 3, 4}), y = noise({1, 5, 4, 2});
  expect_product("aij,bjk->abik", {squeeze(x), squeeze(y)}, matmul(x, y), "stretched batches");
}

TEST_P(Linalg, GradientsAreThoseOfDifferences) {
  const auto x = matrix("x", float64), w = matrix("w", float64), b = vector("b", float64);
  const Variable cost = sum(tanh(dot(x, w) + b));
  const auto d = grad(cost, {x, w, b});
  const Function f = function({x, w, b}, {cost, d[0], d[1], d[2]}, options());
  const std::vector<Array> at = {noise({3, 4}, float64), noise({4, 5}, float64), noise({5}, float64)};
  const Results results = f.call(at);
  for (std::size_t i = 0; i < at.size(); ++i) {
    const std::vector<double> values = at[i].to_vector<double>(), gradient = results[i + 1].to_vector<double>();
    for (std::size_t e = 0; e < values.size(); ++e) {
      const auto moved = [&](double by) {
        std::vector<double> other = values;
        other[e] += by;
        std::vector<Array> arrays = at;
        arrays[i] = Array::from(other, at[i].shape(), device());
        return f.call(arrays)[0].to_doubles()[0];
      };
      EXPECT_NEAR(gradient[e], (moved(1e-5) - moved(-1e-5)) / 2e-5, 1e-7) << "input " << i << " element " << e;
    }
  }
}

DAMO_ON_EACH_DEVICE(Linalg);

}  // namespace
}  // namespace damo
