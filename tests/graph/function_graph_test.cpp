#include <damo/graph.hpp>

#include <gmock/gmock.h>

#include "support/devices.hpp"
#include "support/test_ops.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using damo::testing::OpaqueOp;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using Variables = std::vector<Variable>;

FunctionGraph graph_of(const Variables& inputs, const Variables& outputs, bool allow_unused = false) {
  return FunctionGraph(inputs, outputs, allow_unused);
}

class FunctionGraphTest : public ::testing::Test {
 protected:
  std::string error(const Variables& inputs, const Variables& outputs) {
    return error_of([&] { graph_of(inputs, outputs); });
  }
  const OpHandle<OpaqueOp> f_ = make_op<OpaqueOp>("f"), g_ = make_op<OpaqueOp>("g"), two_ = make_op<OpaqueOp>("two", 2);
  const Variable x_ = vector("x"), y_ = vector("y");
};

TEST_F(FunctionGraphTest, CopiesWhatTheOutputsNeed) {
  const Variable a = f_(x_, y_), b = g_(a);
  f_(b);  // not needed
  const FunctionGraph graph = graph_of({x_, y_}, {b, a});
  EXPECT_EQ(graph.node_count(), 2);
  EXPECT_THAT(graph.inputs(), SizeIs(2));
  EXPECT_THAT(graph.outputs(), SizeIs(2));
  const NodeId first = graph.owner(graph.outputs()[1]), last = graph.owner(graph.outputs()[0]);
  EXPECT_EQ(graph.op(first).name(), "f");
  EXPECT_EQ(graph.op(last).name(), "g");
  EXPECT_THAT(graph.inputs(first), ElementsAre(graph.inputs()[0], graph.inputs()[1]));
  EXPECT_THAT(graph.uses(graph.outputs()[1]), SizeIs(2)) << "read by g and by the caller";
  EXPECT_TRUE(graph.is_output(graph.outputs()[1]));
  EXPECT_EQ(graph.name(graph.inputs()[1]), "y");
  graph.verify();
}

TEST_F(FunctionGraphTest, SaysThatAnInputIsGivenTwice) {
  EXPECT_THAT(error({x_, y_, x_}, {f_(x_, y_)}), HasSubstr("function: input 2 (x float32 (?,)) is given twice\n  built at "));
  EXPECT_THAT(error({x_, x_}, {f_(x_)}), HasSubstr("name each input once"));
}

TEST_F(FunctionGraphTest, SaysThatAnInputIsComputed) {
  EXPECT_THAT(error({f_(x_)}, {x_}), HasSubstr("input 0 (f float32 (?,)) is computed by f"));
}

TEST_F(FunctionGraphTest, SaysThatAnInputIsAConstant) {
  EXPECT_THAT(error({constant(2.0)}, {x_}), HasSubstr("input 0 (2 float64 ()) is a constant"));
}

TEST_F(FunctionGraphTest, SaysThatAnInputIsMissing) {
  const std::string text = error({x_}, {f_(x_, y_)});
  EXPECT_THAT(text, HasSubstr("y float32 (?,) is needed by the outputs and is not among the inputs"));
  EXPECT_THAT(text, HasSubstr("function_graph_test.cpp:"));
  EXPECT_THAT(text, HasSubstr("add it to the inputs"));
}

TEST_F(FunctionGraphTest, SaysThatAnInputIsUnused) {
  EXPECT_THAT(error({x_, y_}, {f_(x_)}), HasSubstr("input 1 (y float32 (?,)) is used by no output"));
  EXPECT_THAT(error({x_, y_}, {f_(x_)}), HasSubstr("allow_unused_inputs"));
  EXPECT_EQ(graph_of({x_, y_}, {f_(x_)}, true).node_count(), 1);
}

TEST_F(FunctionGraphTest, SaysThatAVariableIsEmpty) {
  EXPECT_EQ(error({x_, {}}, {f_(x_)}), "function: input 1 is an empty Variable\n  assign it before it is used");
  EXPECT_EQ(error({x_}, {f_(x_), {}}), "function: output 1 is an empty Variable\n  assign it before it is used");
}

TEST_F(FunctionGraphTest, TakesInputsAndConstantsAsOutputs) {
  const FunctionGraph graph = graph_of({x_}, {x_, constant(1.0f), x_});
  EXPECT_EQ(graph.node_count(), 0);
  EXPECT_THAT(graph.uses(graph.inputs()[0]), SizeIs(2));
  EXPECT_TRUE(graph.constant(graph.outputs()[1]));
  graph.verify();
}

TEST_F(FunctionGraphTest, ReplacesEveryUse) {
  const Variable a = f_(x_), b = g_(x_);
  FunctionGraph graph = graph_of({x_}, {two_(a, a), a, b});
  const ValueId old = graph.outputs()[1], replacement = graph.outputs()[2];
  graph.replace(old, replacement);
  EXPECT_THAT(graph.uses(old), SizeIs(0));
  EXPECT_THAT(graph.uses(replacement), SizeIs(4));
  EXPECT_EQ(graph.outputs()[1], replacement);
  graph.verify();
  EXPECT_EQ(graph.prune(), 1);
  EXPECT_EQ(graph.node_count(), 2);
  EXPECT_FALSE(graph.is_alive(graph.owner(old)));
  EXPECT_THAT(graph.nodes(), SizeIs(2));
  graph.verify();
}

TEST_F(FunctionGraphTest, RefusesAReplacementOfAnotherType) {
  const Variable i = vector("i", int32);
  FunctionGraph graph = graph_of({x_, i}, {f_(x_), g_(i)});
  EXPECT_EQ(error_of([&] { graph.replace(graph.outputs()[0], graph.outputs()[1]); }),
            "rewrite: a float32 (?,) cannot be replaced by a int32 (?,)\n  give a value of the same dtype and rank: cast or dimshuffle it");
  EXPECT_THROW(graph.set_input(graph.owner(graph.outputs()[0]), 0, graph.inputs()[1]), TypeError);
}

TEST_F(FunctionGraphTest, AddsNodesWithTypesFromTheOp) {
  FunctionGraph graph = graph_of({x_}, {f_(x_)});
  const ValueId inputs[] = {graph.outputs()[0]};
  const NodeId node = graph.add(two_, inputs, {"user.cpp", 3});
  EXPECT_EQ(graph.type(graph.outputs(node)[1]), x_.type());
  EXPECT_EQ(graph.owner_index(graph.outputs(node)[1]), 1);
  EXPECT_EQ(graph.describe(node), "two at user.cpp:3");
  graph.add_output(graph.outputs(node)[1]);
  graph.verify();
  EXPECT_EQ(graph.prune(), 0);
}

TEST_F(FunctionGraphTest, MovesAnInput) {
  FunctionGraph graph = graph_of({x_, y_}, {f_(x_, x_), g_(y_)});
  const NodeId node = graph.owner(graph.outputs()[0]);
  graph.set_input(node, 1, graph.inputs()[1]);
  EXPECT_THAT(graph.inputs(node), ElementsAre(graph.inputs()[0], graph.inputs()[1]));
  EXPECT_THAT(graph.uses(graph.inputs()[1]), SizeIs(2));
  graph.verify();
}

TEST_F(FunctionGraphTest, NamesTheNodesOfACycle) {
  const Variable a = f_(x_), b = g_(a), c = make_op<OpaqueOp>("outside")(b);
  FunctionGraph graph = graph_of({x_}, {c});
  const NodeId f = graph.toposort().front(), g = graph.toposort()[1];
  graph.set_input(f, 0, graph.outputs(g)[0]);
  const std::string text = error_of([&] { graph.verify(); });
  EXPECT_THAT(text, HasSubstr("the graph has a cycle through f at "));
  EXPECT_THAT(text, HasSubstr(", g at "));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("outside")));
}

TEST_F(FunctionGraphTest, NamesANodeThatReadsItself) {
  FunctionGraph graph = graph_of({x_}, {f_(x_)});
  const NodeId f = graph.owner(graph.outputs()[0]);
  graph.set_input(f, 0, graph.outputs()[0]);
  EXPECT_THAT(error_of([&] { graph.toposort(); }), HasSubstr("cycle through f at "));
}

TEST_F(FunctionGraphTest, LooksForCyclesAgainWhereSomethingChanged) {
  FunctionGraph graph = graph_of({x_}, {g_(f_(x_))});
  graph.verify_changes();
  const NodeId g = graph.owner(graph.outputs()[0]), f = graph.owner(graph.inputs(g)[0]);
  graph.set_input(f, 0, graph.outputs()[0]);
  EXPECT_THAT(error_of([&] { graph.verify_changes(); }), HasSubstr("the graph has a cycle"));
  EXPECT_THAT(error_of([&] { graph.verify_changes(); }), HasSubstr("the graph has a cycle")) << "it still has";
}

TEST_F(FunctionGraphTest, NumbersEachOpOnce) {
  const FunctionGraph graph = graph_of({x_}, {f_(g_(f_(x_)))});
  const NodeId last = graph.owner(graph.outputs()[0]), middle = graph.owner(graph.inputs(last)[0]), first = graph.owner(graph.inputs(middle)[0]);
  EXPECT_EQ(graph.op_limit(), 2);
  EXPECT_EQ(graph.op_id(first), graph.op_id(last));
  EXPECT_NE(graph.op_id(first), graph.op_id(middle));
  EXPECT_TRUE(graph.has_op<OpaqueOp>());
  EXPECT_FALSE(FunctionGraph().has_op<OpaqueOp>());
  std::vector<OpHandle<OpaqueOp>> many;
  Variable z = x_;
  for (int i = 0; i < 20; ++i) many.push_back(make_op<OpaqueOp>("op" + std::to_string(i)));
  for (int i = 0; i < 60; ++i) z = many[static_cast<std::size_t>(i * 7 % 20)](z);
  const FunctionGraph of_many = graph_of({x_}, {z});
  EXPECT_EQ(of_many.op_limit(), 20);
  for (NodeId node : of_many.nodes()) EXPECT_EQ(&of_many.op(of_many.op_id(node)), &of_many.op(node));
  EXPECT_EQ(of_many.op(of_many.owner(of_many.outputs()[0])).name(), "op13") << "59 * 7 % 20";
}

TEST_F(FunctionGraphTest, KnowsTheNumberOfALiteral) {
  const Variable minus_three = constant(Scalar(std::int8_t{-3})), half = constant(Scalar(Half(0.5f))), row = constant({{float32, {1}}, std::vector<std::byte>(4)});
  const FunctionGraph graph = graph_of({x_}, {minus_three, half, row, x_}), copy = graph.compact();
  for (const FunctionGraph* one : {&graph, &copy}) {
    EXPECT_TRUE(one->is_literal(one->outputs()[0]));
    EXPECT_EQ(one->number(one->outputs()[0]).as_int(), -3);
    EXPECT_EQ(one->number_bits(one->outputs()[0]), 0xfdu);
    EXPECT_EQ(one->number(one->outputs()[1]).as_double(), 0.5);
    EXPECT_FALSE(one->is_literal(one->outputs()[2])) << "it has an axis";
    EXPECT_FALSE(one->is_literal(one->outputs()[3]));
  }
}

TEST_F(FunctionGraphTest, SortsInputsBeforeUsers) {
  Variable y = x_;
  for (int i = 0; i < 50; ++i) y = i % 3 ? f_(y, x_) : g_(y, y);
  const FunctionGraph graph = graph_of({x_}, {y});
  std::vector<bool> done(static_cast<std::size_t>(graph.node_limit()), false);
  for (NodeId node : graph.toposort()) {
    for (ValueId input : graph.inputs(node)) {
      const NodeId owner = graph.owner(input);
      EXPECT_TRUE(owner == NodeId::kNone || done[static_cast<std::size_t>(owner)]);
    }
    done[static_cast<std::size_t>(node)] = true;
  }
}

TEST_F(FunctionGraphTest, GivesANodeAsAnApplyOfTypesOnly) {
  const Variable y = f_(x_, constant(3.0f));
  const FunctionGraph graph = graph_of({x_}, {y});
  const Apply apply = graph.apply(graph.owner(graph.outputs()[0]));
  EXPECT_FALSE(apply.input(0).is_same(x_));
  EXPECT_EQ(apply.input(0).name(), "x");
  EXPECT_EQ(apply.input(1).constant()->scalar().as_double(), 3);
  EXPECT_EQ(apply.where().line, y.where().line);
}

TEST_F(FunctionGraphTest, LeavesTheUsersGraphAlone) {
  const Variable y = f_(x_);
  FunctionGraph graph = graph_of({x_}, {y});
  graph.replace(graph.outputs()[0], graph.inputs()[0]);
  graph.prune();
  EXPECT_EQ(graph.node_count(), 0);
  EXPECT_TRUE(y.owner().input(0).is_same(x_));
}

TEST_F(FunctionGraphTest, GivesSpansThatStayValidWhileNodesAreAdded) {
  FunctionGraph graph = graph_of({x_, y_}, {f_(x_, y_)});
  const NodeId node = graph.owner(graph.outputs()[0]);
  const auto inputs = graph.inputs(node), outputs = graph.outputs(node);
  const TensorType& type = graph.type(outputs[0]);
  for (int extent = 1; extent <= 100; ++extent) {
    const TensorType types[] = {{float32, {extent}}};
    graph.add(g_, inputs, types, {});
  }
  EXPECT_THAT(inputs, ElementsAre(graph.inputs()[0], graph.inputs()[1]));
  EXPECT_EQ(outputs.data(), graph.outputs(node).data());
  EXPECT_EQ(&type, &graph.type(outputs[0]));
  for (int i = 1; i <= 100; ++i) EXPECT_EQ(graph.type(graph.outputs(static_cast<NodeId>(static_cast<int>(node) + i))[0]).dims, Shape({i}));
  graph.verify();
}

TEST_F(FunctionGraphTest, IsCompactedToWhatIsThere) {
  const Variable a = f_(x_), b = g_(a, constant(3.0f)), c = two_(b).owner().output(1);
  c.set_name("c");
  FunctionGraph graph = graph_of({x_, y_}, {c, b}, true);
  graph.replace(graph.outputs(graph.owner(graph.inputs(graph.owner(graph.outputs()[1]))[0]))[0], graph.inputs()[0]);
  EXPECT_EQ(graph.prune(), 1);
  const FunctionGraph small = graph.compact();
  small.verify();
  EXPECT_EQ(small.node_limit(), 2);
  EXPECT_EQ(small.value_limit(), 6) << "x, y, the constant, b, both results of two";
  EXPECT_EQ(small.name(small.outputs()[0]), "c");
  EXPECT_EQ(small.owner_index(small.outputs()[0]), 1);
  const NodeId node = small.owner(small.outputs()[1]);
  EXPECT_EQ(small.op(node).name(), "g");
  EXPECT_EQ(small.inputs(node)[0], small.inputs()[0]);
  EXPECT_EQ(small.constant(small.inputs(node)[1])->scalar().as_double(), 3);
  EXPECT_EQ(small.where(node).line, b.where().line);
  EXPECT_THAT(small.uses(small.outputs()[1]), SizeIs(2));
}

TEST_F(FunctionGraphTest, GetsOneMoreResultAndOtherOpsForItsNodes) {
  const Variable a = f_(x_), b = g_(a, y_);
  FunctionGraph graph = graph_of({x_, y_}, {b, b});
  const NodeId last = graph.owner(graph.outputs()[0]), first = graph.owner(graph.inputs(last)[0]);
  graph.add_result(graph.outputs(first)[0]);
  EXPECT_EQ(graph.result_count(), 3);
  EXPECT_EQ(graph.owner(graph.outputs()[2]), first);
  EXPECT_THAT(graph.uses(graph.outputs()[2]), SizeIs(2));
  EXPECT_EQ(graph.uses(graph.outputs()[0])[1].position, 1);
  graph.set_op(first, graph.op_ptr(last));
  EXPECT_EQ(graph.op(first).name(), "g");
  graph.verify();
}

TEST_F(FunctionGraphTest, SortsAndPrunesAMillionNodes) {
  Variable y = x_;
  for (int i = 0; i < 1'000'000; ++i) y = f_(y);
  FunctionGraph graph = graph_of({x_}, {y});
  EXPECT_THAT(graph.toposort(), SizeIs(1'000'000));
  graph.replace(graph.outputs()[0], graph.inputs()[0]);
  EXPECT_EQ(graph.prune(), 1'000'000);
}

}  // namespace
}  // namespace damo
