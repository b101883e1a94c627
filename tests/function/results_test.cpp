// No two results share elements, nor a result and an argument or a constant, unless the caller asks.
#include <damo/damo.hpp>

#include <functional>

#include <gmock/gmock.h>

#include "runtime/array/array_layout.hpp"
#include "support/devices.hpp"
#include "support/test_ops.hpp"

namespace damo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// The first half of x, or the second: views of one memory that share no element.
class HalfOp final : public Op {
 public:
  explicit HalfOp(bool second) : second_(second) {}
  std::string name() const override { return "half"; }
  Props props() const override { return {{"second", second_}}; }
  Apply make_node(Inputs in) const override { return {*this, {in.at(0)}, {{in.at(0).dtype(), {kUnknown}}}}; }
  int view_of(int) const override { return 0; }
  Layout view_layout(const Apply&, std::span<const Layout> inputs) const override {
    const Layout& x = inputs[0];
    const std::int64_t n = x.shape[0] / 2;
    return {{n}, x.strides, x.offset + (second_ ? n * x.strides[0] : 0)};
  }

 private:
  bool second_;
};

class ResultsOnEachDevice : public damo::testing::OnEachDevice {
 protected:
  /// Adds to each result in turn: nothing else may change, neither now nor at the next call.
  void expect_apart(const Function& f, const std::vector<Array>& arguments) const {
    const Results untouched = f.call(arguments);
    std::vector<std::vector<double>> want, before;
    for (const Array& result : untouched) want.push_back(result.to_doubles());
    for (const Array& argument : arguments) before.push_back(argument.to_doubles());
    for (std::size_t written = 0; written < want.size(); ++written) {
      Results results = f.call(arguments);
      results[written] += 1;
      for (std::size_t i = 0; i < want.size(); ++i) {
        if (i != written) EXPECT_EQ(results[i].to_doubles(), want[i]) << "result " << i << " after writing " << written;
      }
      for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(arguments[i].to_doubles(), before[i]) << "argument " << i;
      EXPECT_EQ(untouched[written].to_doubles(), want[written]) << "the same result of another call";
    }
    const Results last = f.call(arguments);
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_EQ(last[i].to_doubles(), want[i]) << "result " << i << " of a later call";
  }
};

TEST_P(ResultsOnEachDevice, AreApartThoughTheyAreEqual) {
  const auto x = vector("x"), y = x * 2.0;
  const Array in = array({1, 2, 3});
  expect_apart(function({x}, {x + 1.0, x + 1.0}, options()), {in});
  expect_apart(function({x}, {y, y, y}, options()), {in});
  expect_apart(function({x}, {x, x}, options()), {in});
  expect_apart(function({x}, {constant(2.0f), constant(2.0f)}, {.device = device(), .allow_unused_inputs = true}), {in});
}

TEST_P(ResultsOnEachDevice, AreApartThoughTheyAreViews) {
  const auto x = matrix("x"), y = x * 2.0;
  const Array in = range({3, 4});
  expect_apart(function({x}, {y, transpose(y), expand_dims(transpose(y), 0)}, options()), {in});
  expect_apart(function({x}, {transpose(y), y}, options()), {in});
  expect_apart(function({x}, {transpose(x), x, expand_dims(x, 1)}, options()), {in});
  expect_apart(function({x}, {transpose(y), transpose(y) + 1.0}, options()), {in.transpose()});
}

TEST_P(ResultsOnEachDevice, AreApartThoughAnOpHandsItsInputOn) {
  const auto x = matrix("x"), y = x * 2.0;
  const Array in = range({3, 4});
  expect_apart(function({x}, {contiguous(x), x, contiguous(y), y, contiguous(transpose(y)), transpose(contiguous(y))}, options()), {in});
}

TEST_P(ResultsOnEachDevice, AreApartThoughAnOpOverwrites) {
  const RawKernel bump{{.name = "bump", .inputs = {"float* t"}, .outputs = {"float* t"}, .scalars = {"int size"},
                        .body = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < size) t[i] += 1;", .overwrites = {"t"}}};
  const auto x = vector("x"), y = x * 2.0, z = bump(y), w = bump(z);
  const Array in = array({1, 2, 3});
  expect_apart(function({x}, {z, expand_dims(z, 0)}, options()), {in});
  expect_apart(function({x}, {y, z, w, x, bump(x)}, options()), {in});
  expect_apart(function({x}, {w, bump(contiguous(y)), bump(contiguous(expand_dims(y, 0)))}, options()), {in});
}

TEST_P(ResultsOnEachDevice, AreApartWhereSizesDependOnData) {
  const auto x = vector("x");
  const auto p = damo::testing::make_positives()(x);
  expect_apart(function({x}, {p, p, expand_dims(p, 0), x, p + 1.0, p + 1.0}, options()), {array({1, -2, 3})});
}

TEST_P(ResultsOnEachDevice, AreNotCopiedWhereTheyShareNothing) {
  const auto x = matrix("x"), y = x * 2.0;
  const Function f = function({x}, {transpose(y), x + 1.0}, options());
  const Array in = range({3, 4});
  const Results held = f(in);
  EXPECT_THAT(f.explain(), Not(HasSubstr("is a copy")));
  const std::uint64_t before = device().memory().allocations;
  const Results more = f(in);
  EXPECT_EQ(device().memory().allocations, before + 2);
  const auto v = vector("v"), w = v * 2.0;
  const Function halves = function({v}, {make_op<HalfOp>(false)(w), make_op<HalfOp>(true)(w)}, options());
  const auto [first, second] = halves.call<2>(array({1, 2, 3, 4}));
  EXPECT_TRUE(first.shares_buffer_with(second)) << "one buffer, and no element of both";
  EXPECT_FALSE(share_memory(first, second));
  expect_apart(halves, {array({1, 2, 3, 4})});
}

TEST_P(ResultsOnEachDevice, ShareWhereTheCallerAsks) {
  const auto x = matrix("x"), y = x * 2.0;
  const Function f = function({x}, {y, transpose(y), x, constant(1.0f)}, {.device = device(), .share_results = true});
  const Array in = range({2, 3});
  const Results results = f(in);
  EXPECT_TRUE(results[0].shares_buffer_with(results[1]));
  EXPECT_TRUE(results[2].shares_buffer_with(in));
  results[3].copy_from(Array::scalar(Scalar(7.0f), device()));
  EXPECT_EQ(f(in)[3].item().as_double(), 1) << "a constant stays the function's own";
}

TEST_P(ResultsOnEachDevice, AreExplainedWhereTheyAreCopies) {
  const auto x = matrix("x"), y = x * 2.0;
  const std::string page = function({x}, {y, transpose(y), transpose(x), x}, options()).explain();
  EXPECT_THAT(page, HasSubstr("result 1 is a copy: it shares elements with result 0"));
  EXPECT_THAT(page, HasSubstr("result 2 is a copy: it is a view of input x"));
  EXPECT_THAT(page, HasSubstr("result 3 is a copy: it is input x"));
  EXPECT_THAT(page, Not(HasSubstr("no memory")));
  EXPECT_THAT(function({x}, {transpose(y)}, options()).explain(), HasSubstr("a view: no kernel, no memory"));
}

DAMO_ON_EACH_DEVICE(ResultsOnEachDevice);

}  // namespace
}  // namespace damo
