// The order of nodes, of which some overwrite what others read.
#include "runtime/exec/execution_order.hpp"

#include <algorithm>

#include <damo/shared.hpp>
#include <gmock/gmock.h>

#include "support/test_ops.hpp"

namespace damo {
namespace {

using damo::testing::OpaqueOp;

/// Overwrites its first input.
class OverwritingOp final : public Op {
 public:
  std::string name() const override { return "overwriting"; }
  Apply make_node(Inputs in) const override { return {*this, {in.begin(), in.end()}, {in.at(0).type()}}; }
  int overwrites(int) const override { return 0; }
};

FunctionGraph graph_of(const std::vector<Variable>& inputs, const std::vector<Variable>& outputs) {
  return {inputs, outputs};
}

std::vector<std::string> names_in_order(const FunctionGraph& graph) {
  std::vector<std::string> names;
  for (NodeId node : execution_order(graph)) names.push_back(graph.op(node).name());
  return names;
}

const auto overwrite = make_op<OverwritingOp>();
const auto reader = make_op<OpaqueOp>("reader");
const auto source = make_op<OpaqueOp>("source");

TEST(ExecutionOrder, IsTheToposortWhereNothingOverwrites) {
  const Variable x = vector("x"), y = source(x);
  const FunctionGraph graph = graph_of({x}, {reader(y), reader(y, x)});
  EXPECT_EQ(execution_order(graph), graph.toposort());
}

TEST(ExecutionOrder, PutsReadersBeforeWhatOverwrites) {
  const Variable x = vector("x"), y = source(x), later = overwrite(y);
  for (const auto& outputs :
       {std::vector{later, reader(y)}, std::vector{reader(y), later}, std::vector{reader(later), reader(y, x)}}) {
    const auto names = names_in_order(graph_of({x}, outputs));
    const auto place = std::find(names.begin(), names.end(), "overwriting");
    EXPECT_EQ(std::count(names.begin(), place, "reader"), 1);
  }
}

TEST(ExecutionOrder, IsTopologicalWhereAReaderNeedsTheNewValues) {
  const Variable x = vector("x"), y = source(x), z = overwrite(y), w = overwrite(y, z);
  const FunctionGraph graph = graph_of({x}, {reader(z, y), w, overwrite(w)});
  const std::vector<NodeId> order = execution_order(graph);
  EXPECT_EQ(order.size(), static_cast<std::size_t>(graph.node_count()));
  std::vector<std::size_t> place(static_cast<std::size_t>(graph.node_limit()));
  for (std::size_t i = 0; i < order.size(); ++i) place[static_cast<std::size_t>(order[i])] = i;
  for (NodeId node : order) {
    for (ValueId input : graph.inputs(node)) {
      if (graph.owner(input) == NodeId::kNone) continue;
      EXPECT_LT(place[static_cast<std::size_t>(graph.owner(input))], place[static_cast<std::size_t>(node)]);
    }
  }
}

/// May refuse its input.
class RefusingOp final : public Op {
 public:
  std::string name() const override { return "refusing"; }
  Apply make_node(Inputs in) const override { return {*this, {in.begin(), in.end()}, {in.at(0).type()}}; }
  bool may_refuse() const override { return true; }
};

TEST(ExecutionOrder, UpdatesWaitForWhatMayRefuseWhereTheyCan) {
  const auto refuse = make_op<RefusingOp>();
  const auto step = make_op<OpaqueOp>("step");
  const Variable w = shared("w", Array::ones({3})), v = shared("v", Array::ones({3})), x = vector("x");
  const auto order_of = [&](const Variable& result, const std::vector<Assignment>& updates) {
    const std::vector<Variable> inputs{x}, outputs{result};
    return names_in_order({inputs, outputs, false, updates});
  };
  const auto refuses_first = [](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), "refusing") < std::find(names.begin(), names.end(), "step");
  };
  EXPECT_TRUE(refuses_first(order_of(reader(refuse(source(x))), {{w, step(w)}, {v, step(v, w)}})));
  EXPECT_TRUE(refuses_first(order_of(source(x), {{w, refuse(w)}, {v, step(v)}}))) << "what refuses may give a new value itself";
  const Variable next = step(w);
  EXPECT_FALSE(refuses_first(order_of(refuse(source(x, next)), {{w, next}}))) << "what is refused follows from the new value";
  EXPECT_EQ(order_of(source(x), {{w, step(w)}}).size(), 2u) << "nothing refuses";
}

}  // namespace
}  // namespace damo
