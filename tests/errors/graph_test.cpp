// Mistakes in building a graph or a Function: found at the line that makes them, before anything runs.
#include <damo/damo.hpp>

#include <gmock/gmock.h>

#include "support/devices.hpp"
#include "support/test_ops.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const Options kNull{.device = Device("null")};

class GraphMistakes : public ::testing::Test {
 protected:
  const Variable x_ = matrix("x"), y_ = vector("y"), i_ = vector("i", int32);
};

TEST_F(GraphMistakes, NamesAVariableThatIsNoInput) {
  const std::string text = error_of([&] { function({x_}, {x_ + y_}, kNull); });
  EXPECT_THAT(text, AllOf(StartsWith("function: y float32 (?,) is needed by the outputs"), HasSubstr("  built at "), HasSubstr("errors/graph_test.cpp:"), HasSubstr(", in function built at "), HasSubstr("add it to the inputs")));
}

TEST_F(GraphMistakes, NamesAnInputThatIsUnused) {
  EXPECT_THAT(error_of([&] { function({x_, y_}, {x_ * 2.0}, kNull); }), AllOf(HasSubstr("input 1 (y float32 (?,)) is used by no output"), HasSubstr("allow_unused_inputs")));
}

TEST_F(GraphMistakes, NamesShapesThatCanNeverBroadcast) {
  const Variable a = input({float32, {3, 4}}, "a"), b = input({float32, {5}}, "b");
  const std::string text = error_of([&] { a + b; }); const int line = __LINE__;
  EXPECT_EQ(text, "add: cannot broadcast (3, 4) with (5,): last axis 4 against 5\n  a float32 (3, 4), b float32 (5,)\n  add built at " +
                      std::string(__FILE__) + ":" + std::to_string(line) + "\n  reshape or transpose one of them");
}

TEST_F(GraphMistakes, NamesADtypeThatAnOpDoesNotTake) {
  EXPECT_THAT(error_of([&] { x_ & x_; }), AllOf(StartsWith("and_ takes integers and bool, not float32\n  x float32 (?, ?), x float32 (?, ?)\n"), HasSubstr("graph_test.cpp:")));
  const Variable mask = lt(x_, 1.0);
  EXPECT_THAT(error_of([&] { mask - mask; }), AllOf(StartsWith("sub takes numbers, not bool"), HasSubstr("xor_")));
  EXPECT_THAT(error_of([&] { where(x_, x_, x_); }), AllOf(StartsWith("where: the condition must be bool, it is float32"), HasSubstr("neq(x, 0)")));
}

TEST_F(GraphMistakes, NamesANumberThatDoesNotFit) {
  const Variable small = vector("small", int8);
  EXPECT_THAT(error_of([&] { small + 300; }), AllOf(StartsWith("add: 300 does not fit int8"), HasSubstr("graph_test.cpp:"), HasSubstr("wider dtype")));
  EXPECT_THAT(error_of([&] { vector("u", uint8) * -1; }), StartsWith("mul: -1 does not fit uint8"));
}

TEST_F(GraphMistakes, NamesAWrongAxis) {
  EXPECT_THAT(error_of([&] { dimshuffle(x_, {0, 2}); }), AllOf(StartsWith("dimshuffle: axis 2 does not exist: x has 2 axes"), HasSubstr("graph_test.cpp:")));
  EXPECT_THAT(error_of([&] { dimshuffle(x_, {0, 0}); }), StartsWith("dimshuffle: axis 0 is named twice"));
  EXPECT_THAT(error_of([&] { dimshuffle(x_, {0}); }), StartsWith("dimshuffle: axis 1 is left out"));
}

TEST_F(GraphMistakes, NamesAnEmptyOperand) {
  Variable later;
  EXPECT_THAT(error_of([&] { x_ + later; }), AllOf(StartsWith("an empty Variable was given to an op"), HasSubstr("graph_test.cpp:")));
  EXPECT_THAT(error_of([&] { function({x_}, {later}, kNull); }), HasSubstr("output 0 is an empty Variable"));
}

TEST_F(GraphMistakes, NamesAnOpThatCannotRun) {
  const auto opaque = make_op<damo::testing::OpaqueOp>("opaque");
  const std::string text = error_of([&] { function({x_}, {opaque(x_)}, kNull); });
  EXPECT_THAT(text, AllOf(StartsWith("op opaque cannot run"), HasSubstr("node 1 of 1, opaque built at "), HasSubstr("override Op::make_thunk")));
}

TEST_F(GraphMistakes, NamesAUsersPassThatMakesACycle) {
  Options options = kNull;
  options.passes = {{"knot", [](FunctionGraph graph) {
    graph.set_input(graph.toposort().front(), 0, graph.outputs()[0]);
    return graph;
  }}};
  EXPECT_THAT(error_of([&] { function({x_}, {tanh(exp(x_))}, options); }), AllOf(HasSubstr("the graph has a cycle through exp at "), HasSubstr("tanh at "), HasSubstr("in pass knot")));
}

TEST_F(GraphMistakes, NamesTheDevicesThereAre) {
  EXPECT_THAT(error_of([&] { Device("gpu"); }), AllOf(HasSubstr("gpu"), HasSubstr("null")));
}

TEST_F(GraphMistakes, NamesAShapesLengthThatInferShapeGot) {
  class WrongOp final : public Op {
   public:
    std::string name() const override { return "wrong"; }
    Apply make_node(Inputs in) const override { return {*this, {in.at(0)}, {in.at(0).type()}}; }
    Shapes infer_shape(const Apply&, std::span<const Shape> in) const override { return {{in[0], in[0]}}; }
    Thunk make_thunk(const Apply&, ThunkContext&) const override { return [] {}; }
  };
  const auto wrong = make_op<WrongOp>();
  EXPECT_THAT(error_of([&] { function({x_}, {wrong(x_)}, kNull); }), AllOf(HasSubstr("infer_shape gave 2 shapes for 1 outputs"), HasSubstr("wrong built at ")));
}

}  // namespace
}  // namespace damo
