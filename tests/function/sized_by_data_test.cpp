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

TEST_P(SizedByDataOnEachDevice, SaysThatAnOutputWasLeftEmpty) {
  const auto forgets = make_op<CallbackOp>("forgets", [](Cell&, Cell&) {}, true);
  const auto x = vector("x");
  const Function f = function({x}, {forgets(x)}, {.device = device()});
  EXPECT_THAT(error_of([&] { f(array({1})); }), HasSubstr("forgets built at "));
  EXPECT_THAT(error_of([&] { f(array({1})); }), HasSubstr("left an output without value"));
}

DAMO_ON_EACH_DEVICE(SizedByDataOnEachDevice);

}  // namespace
}  // namespace damo
