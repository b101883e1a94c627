// Products of vectors, matrices and tensors, in graphs and of Arrays, against loops in long double.
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "support/devices.hpp"
#include "support/noise.hpp"
#include "support/einsum_reference.hpp"
#include "support/graphs.hpp"
#include "runtime/backend.hpp"

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

class Linalg : public testing::NoiseOnEachDevice {
 protected:
  Linalg() : NoiseOnEachDevice(1) {}

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

TEST_P(Linalg, TakesAnyStrides) {
  const auto times = [](const auto& v) { return matmul(v[0], v[1]); };
  const auto x = input({float32, Shape::filled(2, kUnknown)}), y = input({float32, Shape::filled(2, kUnknown)});
  const auto bx = input({float32, Shape::filled(3, kUnknown)}), by = input({float32, Shape::filled(3, kUnknown)});
  const Function f = function({x, y}, {matmul(x, y), matmul(transpose(y), transpose(x))}, options()), g = function({bx, by}, {matmul(bx, by)}, options());
  for (int round = 0; round < 40; ++round) {
    const std::int64_t m = pick(1, 20), n = pick(1, 20), k = pick(1, 20), b = pick(1, 4);
    const std::vector<Array> flat = {scattered({m, k}), scattered({k, n})}, deep = {scattered({b, m, k}), scattered({b, k, n})};
    expect_product("ij,jk->ik", flat, times(flat), "eager");
    const Results results = f.call(flat);
    expect_product("ij,jk->ik", flat, results[0], "graph");
    expect_product("ij,jk->ki", flat, results[1], "turned");
    expect_product("bij,bjk->bik", deep, times(deep), "eager");
    expect_product("bij,bjk->bik", deep, g.call(deep)[0], "graph");
  }
}

TEST_P(Linalg, TurnedOperandsAreNotCopied) {
  const Array x = noise({64, 64}), y = noise({64, 64});
  matmul(x, y);
  const auto launches_of = [&](const Array& a, const Array& b) {
    const std::uint64_t first = device().backend().launches;
    matmul(a, b);
    return device().backend().launches - first;
  };
  const std::uint64_t one = launches_of(x, y);
  EXPECT_EQ(launches_of(x.transpose(), y), one);
  EXPECT_EQ(launches_of(x, y.transpose()), one);
  EXPECT_EQ(launches_of(x.transpose(), y.transpose()), one);
  EXPECT_EQ(launches_of(x.slice({{0, 32}, {16, 48}}), y.slice({{0, 32}})), one) << "rows with gaps between them";
  EXPECT_GT(launches_of(x.slice({{}, {std::nullopt, std::nullopt, 2}}), y.slice({{0, 32}})), 0u);
}

TEST_P(Linalg, HasEveryDType) {
  for (const DType dtype : {float64, float32, float16, bfloat16, int8, uint8, int16, uint16, int32, uint32, int64, uint64}) {
    const std::string what(name(dtype));
    const std::vector<Array> operands = {noise({9, 8}, dtype), noise({8, 11}, dtype)};
    const DType widest = is_floating(dtype) ? promote(dtype, float32) : dtype == uint64 ? uint64 : int64;
    const Array wide = matmul(operands[0], operands[1], widest);
    expect_product("ij,jk->ik", operands, wide, "wide " + what);
    const Array same = matmul(operands[0], operands[1]);
    EXPECT_EQ(same.dtype(), dtype);
    if (is_floating(dtype)) expect_product("ij,jk->ik", operands, same, what);
    else EXPECT_EQ(same.to_doubles(), astype(wide, dtype).to_doubles()) << what << ": modulo the range";
    if (itemsize(dtype) == 1) expect_product("ij,jk->ik", operands, matmul(operands[0], operands[1], int32), "int32 of " + what);
    const auto x = input({dtype, {kUnknown, 8}}), y = input({dtype, {8, kUnknown}});
    const Function f = function({x, y}, {matmul(x, y), dot(x, y, widest)}, options());
    const Results results = f.call(operands);
    EXPECT_EQ(results[0].to_doubles(), same.to_doubles()) << what;
    EXPECT_EQ(results[1].to_doubles(), wide.to_doubles()) << what;
  }
  EXPECT_EQ(matmul(noise({2, 2}, int8), noise({2, 2}, float32)).dtype(), float32);
  EXPECT_EQ(matmul(noise({2, 2}, float16), noise({2, 2}, bfloat16)).dtype(), float32);
  EXPECT_EQ(matmul(noise({2, 2}, int32), noise({2, 2}, float32)).dtype(), float64);
}

TEST_P(Linalg, AddsUpHalvesInFloat32) {
  const Array ones = Array::full({1, 4096}, 1.0, float16, device());
  EXPECT_EQ(matmul(ones, ones.transpose()).to_doubles()[0], 4096);
  const Array column = Array::full({4096, 3}, 0.25, bfloat16, device()), row = Array::full({2, 4096}, 1.0, bfloat16, device());
  EXPECT_THAT(matmul(row, column).to_doubles(), ::testing::Each(1024));
}

/// Where a library shares the terms of one element out, each part has to stay in float32: an element near 0 shows one that was rounded to 16 bits.
TEST_P(Linalg, RoundsSumsOfHalvesOnce) {
  for (const DType dtype : {float16, bfloat16}) {
    for (const auto& [m, k, n] : std::vector<std::array<std::int64_t, 3>>{{17, 17, 17}, {17, 33, 17}, {8, 64, 8}, {16, 512, 16}, {16, 4096, 16}, {1, 4096, 64}}) {
      const Array a = noise({m, k}, dtype), b = noise({k, n}, dtype);
      const std::vector<double> x = a.to_doubles(), y = b.to_doubles(), got = matmul(a, b).to_doubles();
      for (std::int64_t i = 0; i < m * n; ++i) {
        double sum = 0, size = 0;
        for (std::int64_t j = 0; j < k; ++j) {
          const double term = x[static_cast<std::size_t>(i / n * k + j)] * y[static_cast<std::size_t>(j * n + i % n)];
          sum += term, size += std::fabs(term);
        }
        ASSERT_NEAR(got[static_cast<std::size_t>(i)], sum, epsilon_of(dtype) / 2 * std::fabs(sum) + 0x1p-22 * size) << name(dtype) << " " << m << " " << k << " " << n << ", element " << i;
      }
    }
  }
}

TEST_P(Linalg, OfNothingIsZeroOrNothing) {
  const auto x = matrix("x"), y = matrix("y");
  const Function f = function({x, y}, {dot(x, y), matmul(transpose(y), transpose(x))}, options());
  for (const auto& [m, k, n] : std::vector<std::array<std::int64_t, 3>>{{3, 0, 2}, {0, 4, 2}, {3, 4, 0}, {0, 0, 0}, {1, 1, 1}, {1, 5, 1}, {1, 0, 1}, {1, 5, 7}, {7, 5, 1}}) {
    const std::vector<Array> operands = {noise({m, k}), noise({k, n})};
    expect_product("ij,jk->ik", operands, matmul(operands[0], operands[1]), "eager");
    const Results results = f.call(operands);
    expect_product("ij,jk->ik", operands, results[0], "graph");
    expect_product("ij,jk->ki", operands, results[1], "turned");
  }
  EXPECT_EQ(vdot(noise({0}), noise({0})).to_doubles()[0], 0);
}

TEST_P(Linalg, KeepsNaNAndInfinity) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const Array x = array({1, inf, nan, 1}, {2, 2}), y = array({1, 2, 3, -1}, {2, 2});
  const std::vector<double> z = matmul(x, y).to_doubles();
  EXPECT_EQ(z[0], inf);
  EXPECT_EQ(z[1], -inf);
  EXPECT_TRUE(std::isnan(z[2]) && std::isnan(z[3]));
}

TEST_P(Linalg, ReadsNothingOfWhatTheResultWas) {
  const auto x = matrix("x"), y = matrix("y");
  const Function f = function({x, y}, {dot(x, y)}, options());
  for (const Shape& shape : {Shape{5, 5}, Shape{5, 1}, Shape{1, 5}}) {
    const Array a = noise({shape[0], 5}), b = noise({5, shape[1]});
    Array result = f(a, b);
    assign(result, std::numeric_limits<double>::quiet_NaN());
    const void* memory = result.data();
    result = Array();
    result = f(a, b);
    expect_product("ij,jk->ik", {a, b}, result, memory == result.data() ? "in memory that held NaN" : "in other memory");
  }
}

TEST_P(Linalg, TensordotSumsOverNamedAxes) {
  const std::vector<Array> operands = {noise({2, 3, 4}), noise({4, 3, 5})};
  expect_both("abc,cbd->ad", operands, [](const auto& v) { return tensordot(v[0], v[1], {1, 2}, {1, 0}); }, [](const auto& v) { return tensordot(v[0], v[1], {1, 2}, {1, 0}); });
  expect_both("abc,cde->abde", operands, [](const auto& v) { return tensordot(v[0], v[1], 1); }, [](const auto& v) { return tensordot(v[0], v[1], 1); });
  expect_both("abc,def->abcdef", operands, [](const auto& v) { return tensordot(v[0], v[1], 0); }, [](const auto& v) { return tensordot(v[0], v[1], 0); });
  expect_both("abc,cbd->ad", operands, [](const auto& v) { return tensordot(v[0], v[1], {-2, -1}, {-2, -3}); }, [](const auto& v) { return tensordot(v[0], v[1], {1, 2}, {1, 0}); });
  const std::vector<Array> whole = {noise({3, 4}), noise({3, 4})};
  expect_both("ab,ab->", whole, [](const auto& v) { return tensordot(v[0], v[1]); }, [](const auto& v) { return tensordot(v[0], v[1]); });
  expect_both("ab,ab->", whole, [](const auto& v) { return vdot(v[0], v[1]); }, [](const auto& v) { return vdot(v[0], v[1]); });
  const std::vector<Array> vectors = {noise({3}), noise({4})};
  expect_both("a,b->ab", vectors, [](const auto& v) { return outer(v[0], v[1]); }, [](const auto& v) { return outer(v[0], v[1]); });
}

TEST_P(Linalg, GradientsAreThoseOfDifferences) {
  struct Case {
    const char* name;
    std::vector<Shape> shapes;
    std::function<Variable(const std::vector<Variable>&)> build;
  };
  const Case cases[] = {
      {"layer", {{3, 4}, {4, 5}, {5}}, [](const auto& v) { return dot(v[0], v[1]) + v[2]; }},
      {"vectors", {{6}, {6}}, [](const auto& v) { return dot(v[0], v[1]); }},
      {"matrix and vector", {{3, 6}, {6}}, [](const auto& v) { return dot(v[0], v[1]); }},
      {"batches", {{2, 3, 4}, {2, 4, 2}}, [](const auto& v) { return matmul(v[0], v[1]); }},
      {"stretched batches", {{2, 1, 3, 2}, {3, 2, 2}}, [](const auto& v) { return matmul(v[0], v[1]); }},
      {"one matrix for all", {{2, 3, 4}, {4, 2}}, [](const auto& v) { return matmul(v[0], v[1]); }},
      {"turned", {{4, 3}, {5, 4}}, [](const auto& v) { return dot(transpose(v[0]), transpose(v[1])); }},
      {"tensordot", {{2, 3, 4}, {4, 3, 2}}, [](const auto& v) { return tensordot(v[0], v[1], {1, 2}, {1, 0}); }},
      {"outer", {{3}, {4}}, [](const auto& v) { return outer(v[0], v[1]); }},
      {"einsum", {{2, 3}, {3, 4}, {4, 2}}, [](const auto& v) { return einsum("ij,jk,kl->il", {v[0], v[1], v[2]}); }},
      {"diagonal", {{3, 3}, {3}}, [](const auto& v) { return einsum("ii,i->i", {v[0], v[1]}); }},
  };
  for (const Case& one : cases) {
    std::vector<Variable> inputs;
    std::vector<Array> at;
    for (const Shape& shape : one.shapes) {
      inputs.push_back(input({float64, shape}));
      at.push_back(noise(shape, float64));
    }
    const Variable cost = sum(tanh(one.build(inputs)));
    std::vector<Variable> outputs = {cost};
    for (const Variable& d : grad(cost, inputs)) outputs.push_back(d);
    const Function f = function(inputs, outputs, options());
    const Results results = f.call(at);
    for (std::size_t i = 0; i < at.size(); ++i) {
      const std::vector<double> values = at[i].to_vector<double>(), gradient = results[i + 1].to_vector<double>();
      ASSERT_EQ(results[i + 1].shape(), at[i].shape()) << one.name;
      for (std::size_t e = 0; e < values.size(); ++e) {
        const auto moved = [&](double by) {
          std::vector<double> other = values;
          other[e] += by;
          std::vector<Array> arrays = at;
          arrays[i] = Array::from(other, at[i].shape(), device());
          return f.call(arrays)[0].to_doubles()[0];
        };
        EXPECT_NEAR(gradient[e], (moved(1e-5) - moved(-1e-5)) / 2e-5, 1e-7) << one.name << ": input " << i << " element " << e;
      }
    }
  }
}

TEST_P(Linalg, GradientsReadOperandsAsTheyLie) {
  const auto x = input({float32, {16, 24}}), w = input({float32, {24, 8}}), g = input({float32, {16, 8}});
  const auto d = lop({dot(x, w)}, {g}, {x, w});
  const Function f = function({x, w, g}, {d[0], d[1]}, options());
  const Array a = noise({16, 24}), b = noise({24, 8}), c = noise({16, 8});
  f(a, b, c);
  const std::uint64_t before = device().backend().launches;
  const Results results = f(a, b, c);
  const std::uint64_t products = device().backend().launches - before;
  expect_product("ik,jk->ij", {c, b}, results[0], "by x");
  expect_product("ij,ik->jk", {a, c}, results[1], "by w");
  EXPECT_LE(products, 2u) << "a kernel for each product at most: no copies";
  // Extents that nobody knows: those of a product's gradients follow from the product's own.
  const auto u = matrix("u"), v = matrix("v");
  const std::string text = testing::nodes_text(function(std::vector{u, v}, grad(sum(sqr(dot(u, v))), {u, v}), options()).graph());
  EXPECT_TRUE(text.ends_with("dot dot") || text.ends_with("dot dimshuffle dot") || text.ends_with("dimshuffle dot dot")) << text;
}

TEST_P(Linalg, ErrorsNameOperandsExtentsAndLine) {
  const auto x = input({float32, {3, 4}}, "x"), y = input({float32, {5, 6}}, "y"), flag = input({bool_, {4, 4}}, "flag"), number = scalar("n");
  EXPECT_THAT(error_of([&] { dot(x, y); }),
              AllOf(StartsWith("dot: (3, 4) and (5, 6) do not fit: axis 1 of the first has 4 elements, axis 0 of the second 5"), HasSubstr("x float32 (3, 4)"), HasSubstr("y float32 (5, 6)"),
                    HasSubstr("linalg_test.cpp:"), HasSubstr("transpose or slice")));
  EXPECT_THAT(error_of([&] { matmul(input({float32, {2, 3, 4}}), input({float32, {3, 4, 5}})); }), HasSubstr("batches do not broadcast, axis 0 of the first has 2 elements, axis 0 of the second 3"));
  EXPECT_THAT(error_of([&] { matmul(x, number); }), AllOf(StartsWith("matmul: an operand has no axes"), HasSubstr("use mul"), HasSubstr("linalg_test.cpp:")));
  EXPECT_THAT(error_of([&] { dot(flag, flag); }), AllOf(StartsWith("dot: takes numbers, not bool"), HasSubstr("cast one to int32")));
  EXPECT_THAT(error_of([&] { dot(x, x, float16); }), HasSubstr("dot: a result of float32 does not fit into float16"));
  EXPECT_THAT(error_of([&] { tensordot(x, y, 3); }), HasSubstr("tensordot: 3 axes to sum over: the operands have 2 and 2"));
  EXPECT_THAT(error_of([&] { tensordot(x, y, {2}, {0}); }), HasSubstr("tensordot: axis 2 does not exist: the first has 2 axes"));
  EXPECT_THAT(error_of([&] { tensordot(x, y, {1, 1}, {0, 1}); }), HasSubstr("axis 1 of the first is named twice"));
  EXPECT_THAT(error_of([&] { tensordot(x, y, {1}, {0, 1}); }), HasSubstr("1 axis of the first for 2 of the second"));
  EXPECT_THAT(error_of([&] { outer(x, y); }), HasSubstr("outer: takes two vectors"));
  const Array a = noise({3, 4}), b = noise({5, 6});
  EXPECT_THAT(error_of([&] { dot(a, b); }), AllOf(StartsWith("dot: (3, 4) and (5, 6) do not fit"), HasSubstr("float32 (3, 4) on")));
  EXPECT_THAT(error_of([&] { dot(a, Array()); }), HasSubstr("dot: an operand is an empty Array"));
  const auto u = matrix("u"), v = matrix("v");
  const Function f = function({u, v}, {dot(u, v)}, options());
  EXPECT_THAT(error_of([&] { f(a, b); }), AllOf(StartsWith("dot: (3, 4) and (5, 6) do not fit"), HasSubstr("u float32 (3, 4)"), HasSubstr("v float32 (5, 6)"), HasSubstr("linalg_test.cpp:")));
}

TEST_P(Linalg, VectorsOfUnlikeLengthsAreAnErrorAtTheCall) {
  const auto u = vector("u"), v = vector("v");
  const Function f = function({u, v}, {dot(u, v)}, options());
  EXPECT_THAT(error_of([&] { f(noise({3}), noise({1})); }), HasSubstr("dot: (3,) and (1,) do not fit"));
  EXPECT_THAT(error_of([&] { f(noise({3}), noise({4})); }), HasSubstr("dot: (3,) and (4,) do not fit"));
}

DAMO_ON_EACH_DEVICE(Linalg);

}  // namespace
}  // namespace damo
