// einsum against loops in long double, on random texts; what it refuses.
#include <cmath>
#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "ops/einsum.hpp"
#include "support/devices.hpp"
#include "support/noise.hpp"
#include "support/einsum_reference.hpp"

namespace damo {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::einsum_reference;
using testing::error_of;

class EinsumOf : public testing::NoiseOnEachDevice {
 protected:
  EinsumOf() : NoiseOnEachDevice(7) {}
  static Array eager(const std::string& text, const std::vector<Array>& v) {
    switch (v.size()) {
      case 1: return einsum(text, {v[0]});
      case 2: return einsum(text, {v[0], v[1]});
      default: return einsum(text, v);
    }
  }
  static Variable graph(const std::string& text, const std::vector<Variable>& v) {
    switch (v.size()) {
      case 1: return einsum(text, {v[0]});
      case 2: return einsum(text, {v[0], v[1]});
      default: return einsum(text, v);
    }
  }
  static void expect(const std::string& text, const std::vector<Array>& operands, const Array& got, const char* what) {
    const auto want = einsum_reference(text, operands);
    ASSERT_EQ(std::vector<std::int64_t>(got.shape().begin(), got.shape().end()), want.shape) << what << " " << text;
    const std::vector<double> values = got.to_doubles();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double bound = 0x1p-23 * static_cast<double>(want.terms + 8) * want.magnitude[i] + 1e-30;
      ASSERT_NEAR(values[i], want.values[i], bound) << what << " " << text << " [" << i << "]";
    }
  }
  void check(const std::string& text, const std::vector<Array>& operands, bool with_graph = true) {
    expect(text, operands, eager(text, operands), "eager");
    if (!with_graph) return;
    std::vector<Variable> inputs;
    for (const Array& operand : operands) inputs.push_back(input({operand.dtype(), Shape::filled(operand.rank(), kUnknown)}));
    expect(text, operands, function(inputs, std::vector{graph(text, inputs)}, {.device = device()}).call(operands)[0], "graph");
  }
};

TEST_P(EinsumOf, ComputesWhatTheLettersSay) {
  check("ij,jk->ik", {noise({3, 4}), noise({4, 5})});
  check("ij,kj->ki", {noise({3, 4}), noise({5, 4})});
  check("bij,bjk->bik", {noise({2, 3, 4}), noise({2, 4, 5})});
  check("bhqd,bhkd->bhqk", {noise({2, 3, 4, 5}), noise({2, 3, 6, 5})});
  check("ij->ji", {noise({3, 4})});
  check("ij->i", {noise({3, 4})});
  check("ij->", {noise({3, 4})});
  check("ii->i", {noise({4, 4})});
  check("ii->", {noise({4, 4})});
  check("iji->j", {noise({3, 4, 3})});
  check("i,i->i", {noise({5}), noise({5})});
  check("i,j->ij", {noise({5}), noise({3})});
  check("bi,bi->b", {noise({4, 5}), noise({4, 5})});
  check("ij,jk,kl->il", {noise({3, 4}), noise({4, 5}), noise({5, 2})});
  check("ij,j,kjl,l->ik", {noise({3, 4}), noise({4}), noise({2, 4, 5}), noise({5})});
  check(",ij->ij", {noise({}), noise({3, 4})});
  check("ij,kl->", {noise({3, 4}), noise({2, 5})});
}

TEST_P(EinsumOf, ImpliedResultsAreNumPys) {
  const Array x = noise({3, 4}), y = noise({4, 5});
  expect("ij,jk->ik", {x, y}, einsum("ij,jk", {x, y}), "implied");
  expect("ba->ab", {x}, einsum("ba", {x}), "the alphabet's order");
}

TEST_P(EinsumOf, EllipsesBroadcast) {
  const Array q = noise({2, 6, 3, 4}), k = noise({6, 4, 5}), one = noise({1, 4, 5});
  expect("abij,bjk->abik", {q, k}, einsum("...ij,...jk->...ik", {q, k}), "batches");
  expect("abij,bjk->abik", {q, k}, einsum("...ij,...jk", {q, k}), "batches, implied");
  expect("abij,jk->abik", {q, squeeze(one)}, einsum("...ij,...jk->...ik", {q, one}), "an extent of 1");
  expect("abij->abji", {q}, einsum("...ij->...ji", {q}), "turned");
  const auto u = input({float32, Shape::filled(4, kUnknown)}), v = input({float32, Shape::filled(3, kUnknown)});
  expect("abij,bjk->abik", {q, k}, function({u, v}, {einsum("...ij,...jk->...ik", {u, v})}, {.device = device()})(q, k)[0], "graph");
}

TEST_P(EinsumOf, RandomTextsAgreeWithLoops) {
  for (int round = 0; round < 60; ++round) {
    std::map<char, std::int64_t> extents;
    for (char c = 'a'; c < 'g'; ++c) extents[c] = pick(1, 4);
    std::string text, used;
    std::vector<Array> operands;
    const int count = pick(1, 4);
    for (int i = 0; i < count; ++i) {
      Shape shape;
      if (i > 0) text += ',';
      for (int axis = pick(0, 3); axis > 0; --axis) {
        const char c = static_cast<char>('a' + pick(0, 5));
        text += c;
        used += c;
        shape.push_back(extents[c]);
      }
      Array operand = noise(shape);
      operands.push_back(shape.rank() == 2 && pick(0, 1) ? contiguous(operand.transpose()).transpose() : operand);
    }
    std::string output;
    for (char c = 'a'; c < 'g'; ++c) {
      if (used.find(c) != std::string::npos && pick(0, 1)) output += c;
    }
    std::shuffle(output.begin(), output.end(), random_);
    check(text + "->" + output, operands, round % 3 == 0);
  }
}

TEST_P(EinsumOf, TakesAsManyOperandsAsTheProgramCounted) {
  std::vector<Array> operands;
  std::string text = "a";
  for (char c = 'a'; c < 'h'; ++c) {  // a chain of seven matrices
    operands.push_back(noise({c % 3 + 2, (c + 1) % 3 + 2}));
    text += c == 'a' ? std::string("b") : std::string(",") + c + static_cast<char>(c + 1);
  }
  check(text + "->ah", operands);
  check("ij->ji", {noise({3, 4})});
  EXPECT_THAT(error_of([&] { einsum("->", std::vector<Array>()); }), HasSubstr("einsum: there are no operands"));
  EXPECT_THAT(error_of([&] { einsum("->", std::vector<Variable>()); }), AllOf(HasSubstr("einsum: there are no operands"), HasSubstr("einsum_test.cpp:")));
  EXPECT_THAT(error_of([&] { einsum("i,i->i", std::vector<Array>{noise({3}), Array()}); }), HasSubstr("einsum: an operand is an empty Array"));
  const std::vector<Variable> rows = {input({float32, {3}}, "v"), input({float32, {4}}, "w")};
  EXPECT_THAT(error_of([&] { einsum("i,i->i", rows); }), AllOf(HasSubstr("axis i has 3 elements in one operand and 4 in operand 1"), HasSubstr("w float32 (4,)"), HasSubstr("einsum_test.cpp:")));
}

TEST_P(EinsumOf, ErrorsNameTextAndOperands) {
  const Array x = noise({3, 4}), y = noise({5, 6});
  EXPECT_THAT(error_of([&] { einsum("ij,jk->ik", {x, y}); }), AllOf(StartsWith("einsum: axis j has 4 elements in one operand and 5 in operand 1"), HasSubstr("float32 (3, 4)")));
  EXPECT_THAT(error_of([&] { einsum("ij->ij", {x, y}); }), AllOf(StartsWith("einsum: \"ij->ij\" has 1 term, 2 operands were given"), HasSubstr("write one term for each")));
  EXPECT_THAT(error_of([&] { einsum("ijk->i", {x}); }), HasSubstr("names 3 axes of operand 0, which has 2"));
  EXPECT_THAT(error_of([&] { einsum("ij->ik", {x}); }), HasSubstr("has axis k in the result and in no operand"));
  EXPECT_THAT(error_of([&] { einsum("ij->ii", {x}); }), HasSubstr("names axis i of the result twice"));
  EXPECT_THAT(error_of([&] { einsum("i1->i", {x}); }), HasSubstr("has a '1', which names no axis"));
  EXPECT_THAT(error_of([&] { einsum("i.j->i", {x}); }), HasSubstr("has a '.', which names no axis"));
  EXPECT_THAT(error_of([&] { einsum("...ij...->i", {x}); }), HasSubstr("has two ellipses in one term"));
  EXPECT_THAT(error_of([&] { einsum("i...->i", {x}); }), HasSubstr("has ... in an operand and not in the result"));
  EXPECT_THAT(error_of([&] { einsum("ii->i", {x}); }), HasSubstr("axis i has 3 elements in one operand and 4"));
  const auto v = input({float32, {3, 4}}, "v");
  EXPECT_THAT(error_of([&] { einsum("ijk->i", {v}); }), AllOf(HasSubstr("v float32 (3, 4)"), HasSubstr("einsum_test.cpp:")));
  EXPECT_THAT(error_of([&] { einsum("ii->i", {v}); }), AllOf(HasSubstr("axis i has 3"), HasSubstr("einsum_test.cpp:")));
  const auto square = matrix("square");
  const Function f = function({square}, {einsum("ii->i", {square})}, {.device = device()});
  EXPECT_THAT(error_of([&] { f(x); }), AllOf(StartsWith("einsum: axis 0 of (3, 4) has 3 elements, axis 1 4"), HasSubstr("einsum_test.cpp:")));
}

DAMO_ON_EACH_DEVICE(EinsumOf);

TEST(EinsumOrder, TakesThePairThatCostsLeast) {
  const int ranks[] = {2, 2, 2};
  const EinsumTerms terms = parse_einsum("ij,jk,kl->il", ranks);
  std::vector<std::int64_t> extents(512, 1);
  const auto pair = [&](std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t l) {
    extents['i'] = i, extents['j'] = j, extents['k'] = k, extents['l'] = l;
    return cheapest_pair(terms, extents);
  };
  EXPECT_EQ(pair(1000, 1000, 1000, 1), (std::pair<std::size_t, std::size_t>(1, 2))) << "the vector first";
  EXPECT_EQ(pair(1, 1000, 1000, 1000), (std::pair<std::size_t, std::size_t>(0, 1)));
}

}  // namespace
}  // namespace damo
