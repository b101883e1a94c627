#include <damo/op.hpp>

#include <cmath>

#include <gmock/gmock.h>

#include "support/devices.hpp"
#include "support/test_ops.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using damo::testing::OpaqueOp;
using ::testing::HasSubstr;

/// Two inputs of rank 1, the first float32.
class PickyOp final : public Op {
 public:
  std::string name() const override { return "picky"; }
  Apply make_node(Inputs in) const override {
    in.require_count(2);
    require_dtype(in.at(0), float32);
    require_rank(in.at(1), 1);
    return {*this, {in.at(0), in.at(1)}, {in.at(0).type()}};
  }
};

TEST(Op, IsEqualByTypeAndProps) {
  const OpaqueOp a("f", 1, {{"axis", std::int64_t{1}}}), b("f", 1, {{"axis", std::int64_t{1}}}), c("f", 1, {{"axis", std::int64_t{2}}});
  EXPECT_TRUE(a.equals(b));
  EXPECT_EQ(a.hash(), b.hash());
  EXPECT_FALSE(a.equals(c));
  EXPECT_FALSE(a.equals(PickyOp()));
}

TEST(Op, KeepsPropsOfDifferentKindsApart) {
  // 1, 1.0, true and "1" print alike in places; they are different parameters.
  const std::vector<PropValue> values = {std::int64_t{1}, 1.0, true, std::string("1"), std::vector<std::int64_t>{1}};
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = 0; j < values.size(); ++j) {
      EXPECT_EQ(OpaqueOp("f", 1, {{"p", values[i]}}).equals(OpaqueOp("f", 1, {{"p", values[j]}})), i == j) << i << " " << j;
    }
  }
}

TEST(Op, ComparesNumbersInPropsByTheirBits) {
  const auto with = [](double p) { return OpaqueOp("f", 1, {{"p", p}}); };
  EXPECT_FALSE(with(0.0).equals(with(-0.0)));
  EXPECT_TRUE(with(NAN).equals(with(NAN)));
  EXPECT_EQ(with(NAN).hash(), with(NAN).hash());
}

TEST(Op, PrintsProps) {
  const Props props = {{"axis", std::int64_t{1}}, {"keepdims", true}, {"eps", 0.5}, {"mode", std::string("same")}, {"pads", std::vector<std::int64_t>{1, 2}}};
  EXPECT_EQ(to_string(props), "axis=1, keepdims=true, eps=0.5, mode=same, pads=[1, 2]");
  EXPECT_EQ(to_string(Props{}), "");
}

TEST(Op, NamesOperandsAndLineOfAWrongNode) {
  const auto picky = make_op<PickyOp>();
  const Variable x = matrix("x"), i = vector("i", int32);
  EXPECT_THAT(error_of([&] { picky(x); }), HasSubstr("picky: takes 2 inputs, 1 was given\n  x float32 (?, ?)\n  picky built at "));
  EXPECT_THAT(error_of([&] { picky(i, i); }), HasSubstr("i int32 (?,) must be float32\n"));
  EXPECT_THAT(error_of([&] { picky(i, i); }), HasSubstr("cast(x, float32) converts it"));
  EXPECT_THAT(error_of([&] { picky(x, x); }), HasSubstr("x float32 (?, ?) must have 1 axis, it has 2"));
  EXPECT_THAT(error_of([&] { picky(x, x); }), HasSubstr("op_test.cpp:"));
}

TEST(Op, NamesAMissingInput) {
  const Variable x = vector("x");
  const Inputs inputs(std::span(&x, 1));
  EXPECT_EQ(error_of([&] { inputs.at(1); }), "input 1 is missing: 1 was given\n  call it with more, or ask size() in make_node");
  EXPECT_THROW(inputs.at(-1), GraphError);
}

TEST(Op, MustBeShared) {
  const OpaqueOp on_the_stack;
  const Variable x = vector("x");
  EXPECT_THAT(error_of([&] { on_the_stack.make_node(Inputs(std::span(&x, 1))); }), HasSubstr("op opaque is not shared\n  make it with make_op"));
}

TEST(Op, NeedsAnOutput) {
  EXPECT_THAT(error_of([] { make_op<OpaqueOp>("none", 0)(vector("x")); }), HasSubstr("op none has no output"));
}

TEST(Op, InfersShapesFromTypesThatAreKnown) {
  const auto op = make_op<OpaqueOp>("f", 2);
  const Apply known = op(input({float32, {2, 3}})).owner(), unknown = op(matrix()).owner();
  EXPECT_EQ(op->infer_shape(known, {})->at(1), (Shape{2, 3}));
  EXPECT_FALSE(op->infer_shape(unknown, {}));
}

TEST(Op, TakesNumbersAsConstants) {
  const auto op = make_op<OpaqueOp>("f");
  const Variable y = op(vector("x"), 2.0, 3);
  EXPECT_EQ(y.owner().input(1).dtype(), float32);
  EXPECT_EQ(y.owner().input(2).dtype(), int64);
}

}  // namespace
}  // namespace damo
