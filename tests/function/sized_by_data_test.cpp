// Ops that size their own outputs, among ops that do not.
#include <damo/damo.hpp>

#include <gmock/gmock.h>

#include "support/devices.hpp"
#include "support/test_ops.hpp"

namespace damo {
namespace {

using damo::testing::CallbackOp;
using damo::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SizedByDataOnEachDevice : public damo::testing::OnEachDevice {};

TEST_P(SizedByDataOnEachDevice, FollowsTheValues) {
  const auto x = vector("x");
  const auto positives = damo::testing::make_positives();
  const Function f = function({x}, {positives(x * 2.0) + 1.0, x - 1.0}, {.device = device()});
  const auto run = [&](const std::vector<float>& values) { return f.call<2>(array(values)); };
  EXPECT_THAT(run({1, -1, 2})[0].to_vector<float>(), ElementsAre(3, 5));
  EXPECT_THAT(run({-1, -1, 4})[0].to_vector<float>(), ElementsAre(9));
  EXPECT_THAT(run({-1, -1, -1})[0].to_vector<float>(), IsEmpty());
  EXPECT_THAT(run({1, 1, 1})[0].to_vector<float>(), ElementsAre(3, 3, 3));
  EXPECT_THAT(run({1, 1, 1})[1].to_vector<float>(), ElementsAre(0, 0, 0));
}

TEST_P(SizedByDataOnEachDevice, KeepsAHeldResult) {
  const auto x = vector("x");
  const auto positives = damo::testing::make_positives();
  const auto p = positives(x);
  const Function f = function({x}, {p, expand_dims(p, 0), positives(p + 1.0)}, {.device = device()});
  const auto first = f.call<3>(array({1, -1, 2}));
  const auto second = f.call<3>(array({3, -1, 4}));
  const auto third = f.call<3>(array({5, 6, 7}));
  EXPECT_THAT(first[0].to_vector<float>(), ElementsAre(1, 2));
  EXPECT_THAT(second[1].to_vector<float>(), ElementsAre(3, 4));
  EXPECT_EQ(second[1].shape(), (Shape{1, 2}));
  EXPECT_THAT(first[2].to_vector<float>(), ElementsAre(2, 3));
  EXPECT_THAT(third[2].to_vector<float>(), ElementsAre(6, 7, 8));
}

TEST_P(SizedByDataOnEachDevice, AllocatesNothingOnceSizesRepeat) {
  const auto x = vector("x");
  const auto resized = make_op<CallbackOp>("resized", [](Cell& in, Cell& out) {
    out.resize(in.shape());
    out.array().copy_from(in.array());
  }, true);
  const Function f = function({x}, {resized(x * 2.0) + 1.0}, {.device = device()});
  const Array in = array({1, 2, 3});
  for (int i = 0; i < 3; ++i) f(in);
  const std::uint64_t before = device().memory().allocations;
  for (int i = 0; i < 5; ++i) f(in);
  EXPECT_EQ(device().memory().allocations, before);
}

TEST_P(SizedByDataOnEachDevice, PlansTheMemoryOfEverythingElse) {
  // A chain of opaque nodes needs two buffers at a time, however long it is: before, beside and behind the sized op.
  const auto x = vector("x");
  const auto positives = damo::testing::make_positives();
  const auto add_one = make_op<damo::testing::AddOneOp>();
  const auto chain = [&](Variable y) {
    for (int i = 0; i < 20; ++i) y = add_one(y);
    return y;
  };
  const Function f = function({x}, {chain(positives(chain(x))), chain(x * 2.0)}, {.device = device()});
  const Array in = Array::zeros({1 << 16}, float32, device());
  f(in);
  const std::size_t before = device().memory().in_use_bytes;
  f.free_memory();
  const std::size_t without = device().memory().in_use_bytes;
  EXPECT_LE(before - without, std::size_t{9} * in.nbytes()) << "two arenas of at most three, the sized output, two results";
  EXPECT_EQ(f.call<2>(in)[0].to_vector<float>()[7], 40);
}

TEST_P(SizedByDataOnEachDevice, InfersOnlyWhereShapesAreNew) {
  int asked = 0;
  class CountingOp final : public Op {
   public:
    explicit CountingOp(int* asked) : asked_(asked) {}
    std::string name() const override { return "counting"; }
    Apply make_node(Inputs in) const override { return {*this, {in.at(0)}, {in.at(0).type()}}; }
    Shapes infer_shape(const Apply&, std::span<const Shape> in) const override { return ++*asked_, Shapes{{in[0]}}; }
    Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
      Cell &x = context.storage(node.input(0)), &y = context.storage(node.output());
      return [&x, &y] { y.array().copy_from(x.array()); };
    }
    bool equals(const Op& other) const override { return this == &other; }
    std::size_t hash() const override { return 1; }

   private:
    int* asked_;
  };
  const auto x = vector("x");
  const auto positives = damo::testing::make_positives();
  const auto before = make_op<CountingOp>(&asked), behind = make_op<CountingOp>(&asked);
  const Function f = function({x}, {behind(positives(before(x)))}, {.device = device()});
  const Array two = array({1, -1, 2}), three = array({1, 1, 2});
  f(two), f(three);
  const int once = asked;
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(Array(f(two)).to_vector<float>(), ElementsAre(1, 2));
    EXPECT_THAT(Array(f(three)).to_vector<float>(), ElementsAre(1, 1, 2));
  }
  EXPECT_EQ(asked, once) << "two sizes in turn are two bindings";
  f(array({1, 2, 3, 4}));
  EXPECT_EQ(asked, once + 2);
}

TEST_P(SizedByDataOnEachDevice, SaysThatAnOutputWasLeftEmpty) {
  const auto forgets = make_op<CallbackOp>("forgets", [](Cell&, Cell&) {}, true);
  const auto x = vector("x");
  const Function f = function({x}, {forgets(x)}, {.device = device()});
  EXPECT_THAT(error_of([&] { f(array({1})); }), HasSubstr("forgets built at "));
  EXPECT_THAT(error_of([&] { f(array({1})); }), HasSubstr("left an output without value"));
  bool sizes = true;
  const Function at_times = function({x}, {make_op<CallbackOp>("at_times", [&](Cell& from, Cell& to) {
    if (!sizes) return;
    to.resize(from.array().shape());
    to.array().copy_from(from.array());
  }, true)(x)}, {.device = device()});
  EXPECT_THAT(Array(at_times(array({1}))).to_vector<float>(), ElementsAre(1));
  sizes = false;
  EXPECT_THAT(error_of([&] { at_times(array({2})); }), HasSubstr("left an output without value")) << "what the last call gave is no value of this one";
}

DAMO_ON_EACH_DEVICE(SizedByDataOnEachDevice);

}  // namespace
}  // namespace damo
