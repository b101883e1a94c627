#include "ops/rewrites/fusion.hpp"

#include <algorithm>
#include <random>
#include <set>

#include <gmock/gmock.h>

#include <damo/gradient.hpp>
#include <damo/ops/cast.hpp>
#include <damo/ops/shape.hpp>
#include "ops/elementwise_op.hpp"
#include "ops/lower.hpp"
#include "ops/rewrites/fusion_groups.hpp"
#include "ops/rewrites/fusion_order.hpp"
#include "runtime/kernel/body.hpp"
#include "support/graphs.hpp"
#include "support/scratch_directory.hpp"

namespace damo {
namespace {

using damo::testing::fused;
using damo::testing::is_convex;
using damo::testing::nodes_text;
using damo::testing::OpaqueOp;
using damo::testing::Reachability;
using Variables = std::vector<Variable>;

class Fusion : public ::testing::Test {
 protected:
  std::string text(const Variables& inputs, const Variables& outputs, const FusionLimits& limits = {}) const {
    return nodes_text(fused(inputs, outputs, limits));
  }
  Variable custom(const Variable& a) const { return opaque_(a); }
  const OpHandle<OpaqueOp> opaque_ = make_op<OpaqueOp>("custom");
  const Variable x_ = matrix("x"), y_ = matrix("y"), z_ = matrix("z");
};

TEST_F(Fusion, MakesAChainOneKernel) {
  EXPECT_EQ(text({x_, y_}, {tanh(x_ * 2.0 + y_) * x_}), "fused(add mul mul tanh)");
}

TEST_F(Fusion, LeavesASingleOpAlone) { EXPECT_EQ(text({x_}, {exp(x_)}), "exp"); }

TEST_F(Fusion, WritesValuesThatAreReadOutsideToo) {
  const Variable a = exp(x_), b = a + 1.0;
  const FunctionGraph graph = fused({x_}, {b, a});
  EXPECT_EQ(nodes_text(graph), "fused(add exp)");
  EXPECT_EQ(graph.outputs(graph.nodes()[0]).size(), 2u);
  EXPECT_EQ(graph.owner_index(graph.outputs()[0]), 1) << "the order of the function's outputs stays";
}

TEST_F(Fusion, JoinsSeveralOutputsOfTheSameInputs) {
  EXPECT_EQ(text({x_, y_}, {tanh(1.5 * x_ + 0.5 * y_) * x_, x_ - y_}), "fused(add mul mul mul sub tanh)");
}

TEST_F(Fusion, JoinsSiblingsThatReadOneArray) { EXPECT_EQ(text({x_, y_, z_}, {x_ * y_, x_ * z_}), "fused(mul mul)"); }

TEST_F(Fusion, KeepsStrangersApart) { EXPECT_EQ(fused({x_, y_}, {exp(x_), tanh(y_)}).node_count(), 2); }

TEST_F(Fusion, SharesNoKernelForALiteralAlone) { EXPECT_EQ(text({x_, y_}, {x_ * 2.0, y_ * 2.0}), "mul mul"); }

TEST_F(Fusion, StopsAtACustomOp) {
  EXPECT_EQ(text({x_}, {exp(custom(exp(x_) + 1.0)) * 2.0}), "fused(add exp) custom fused(exp mul)");
}

TEST_F(Fusion, KeepsADiamondThroughACustomOpAcyclic) {
  // a -> custom -> c and a -> c: one kernel of a and c would depend on itself.
  const Variable a = exp(x_), c = a + custom(a);
  EXPECT_EQ(text({x_}, {c}), "exp custom add");
}

TEST_F(Fusion, KeepsALongDetourAcyclic) {
  const Variable a = exp(x_), b = custom(custom(a)), c = a * 2.0, d = c + b;
  const FunctionGraph graph = fused({x_}, {d});
  EXPECT_EQ(graph.node_count(), 4);
  EXPECT_EQ(nodes_text(graph).find("fused(add exp"), std::string::npos);
}

TEST_F(Fusion, MovesAProducerToItsOnlyReader) {
  // neg could run beside exp; in the kernel that reads it, its value is never written.
  const Variable late = custom(exp(x_)) * neg(x_);
  EXPECT_EQ(text({x_}, {late}), "exp custom fused(mul neg)");
}

TEST_F(Fusion, MovesAResultToItsOnlyReader) {
  const Variable a = exp(x_) + 1.0;
  EXPECT_EQ(text({x_, y_}, {a, a * custom(y_)}), "custom fused(add exp mul)");
}

TEST_F(Fusion, FusesThroughBroadcasts) {
  const Variable row = vector("row");
  EXPECT_EQ(text({x_, row}, {x_ * row + row}), "fused(add mul)");
  EXPECT_EQ(text({x_, row}, {x_ + row * 2.0}), "fused(add mul)") << "doing row * 2 again costs less than writing it";
}

TEST_F(Fusion, ComputesAnExpensiveRowOnce) {
  const Variable row = vector("row");
  EXPECT_EQ(text({x_, row}, {x_ + tanh(row)}), "tanh add");
}

TEST_F(Fusion, WritesARowThatIsAnOutputByItself) {
  const Variable row = vector("row"), twice = row * 2.0;
  EXPECT_EQ(text({x_, row}, {x_ + twice, twice}), "mul add");
}

TEST_F(Fusion, FusesCastsAndChoices) {
  EXPECT_EQ(text({x_, y_}, {where(lt(x_, y_), cast(x_, float16), cast(y_, float16))}), "fused(cast cast lt where)");
}

TEST_F(Fusion, ReadsThroughViews) {
  EXPECT_EQ(text({x_, y_}, {transpose(x_) * 2.0 + y_}), "dimshuffle fused(add mul)");
}

TEST_F(Fusion, IsSwitchedOffByName) {
  const damo::testing::Environment off("DAMO_DISABLE", "fuse_elementwise");
  const Pass passes[] = {{"fuse_elementwise", [](FunctionGraph graph) { return fuse_elementwise(std::move(graph), {}); }}};
  const Variable inputs[] = {x_}, outputs[] = {exp(x_) + 1.0};
  EXPECT_EQ(nodes_text(run_passes(FunctionGraph(inputs, outputs), passes)), "exp add");
}

TEST_F(Fusion, IsDeterministic) {
  const auto once = [&] { return text({x_, y_, z_}, {exp(x_ * y_) + z_, x_ - z_, tanh(custom(y_ * z_)) + x_}); };
  EXPECT_EQ(once(), once());
}

/// The most of what limits bound, over all fused nodes.
struct Extremes {
  std::size_t inputs = 0, outputs = 0;
  int cost = 0;
  explicit Extremes(const FunctionGraph& graph) {
    for (NodeId node : graph.nodes()) {
      const FunctionGraph* inner = graph.op(node).inner_graph();
      if (!inner) continue;
      inputs = std::max(inputs, graph.inputs(node).size());
      outputs = std::max(outputs, graph.outputs(node).size());
      int sum = 0;
      for (NodeId member : inner->nodes()) sum += static_cast<const ElementwiseOp&>(inner->op(member)).row().cost;
      cost = std::max(cost, sum);
    }
  }
};

TEST_F(Fusion, LimitsInputs) {
  Variables inputs;
  Variable sum = x_;
  for (int i = 0; i < 100; ++i) inputs.push_back(matrix("a" + std::to_string(i))), sum = sum + inputs.back();
  inputs.push_back(x_);
  const FunctionGraph graph = fused(inputs, {sum}, {.inputs = 12});
  EXPECT_LE(Extremes(graph).inputs, 12u);
  EXPECT_LE(graph.node_count(), 16);
}

TEST_F(Fusion, LimitsOutputs) {
  Variables outputs;
  Variable value = x_;
  for (int i = 0; i < 60; ++i) outputs.push_back(value = value * 0.5 + x_);
  const FunctionGraph graph = fused({x_}, outputs, {.outputs = 8});
  EXPECT_LE(Extremes(graph).outputs, 8u);
  EXPECT_LE(graph.node_count(), 12);
}

TEST_F(Fusion, LimitsOutputsThatOnlyTheNextKernelReads) {
  // 40 values, all made before any is read: whatever the cut, many cross it.
  Variables values;
  for (int i = 0; i < 40; ++i) values.push_back(x_ * static_cast<double>(i + 2));
  Variable sum = y_;
  for (const Variable& value : values) sum = sum * value;
  const FunctionGraph graph = fused({x_, y_}, {sum}, {.outputs = 6, .cost = 20});
  EXPECT_LE(Extremes(graph).outputs, 6u);
}

TEST_F(Fusion, LimitsCost) {
  Variable value = x_;
  for (int i = 0; i < 40; ++i) value = tanh(value);
  const FunctionGraph graph = fused({x_}, {value}, {.cost = 100});
  EXPECT_LE(Extremes(graph).cost, 100);
  EXPECT_LE(graph.node_count(), 8);
}

TEST_F(Fusion, CutsLongChainsSoonerAsTheyCompileQuicker) {
  Variable value = x_;
  const auto chain = [&](int length) {
    for (int i = 0; i < length; ++i) value = tanh(value);
    return fused({x_}, {std::exchange(value, x_)});
  };
  const int each = Extremes(chain(10)).cost / 10, fitting = FusionLimits().cost / each;
  EXPECT_EQ(chain(fitting).node_count(), 1) << "one kernel may have it";
  const FunctionGraph graph = chain(8 * fitting);
  EXPECT_LE(Extremes(graph).cost, 1250 + each);
  EXPECT_LE(graph.node_count(), 16) << "twice as many kernels as the limit asks for";
}

TEST_F(Fusion, TakesAnOpThatExceedsALimitAlone) {
  EXPECT_EQ(fused({x_}, {tanh(exp(x_))}, {.cost = 5}).node_count(), 2);
  EXPECT_EQ(fused({x_, y_}, {x_ + y_}, {.inputs = 1}).node_count(), 1);
}

/// x / 2 + x * (1 / 2) + x * (1 / 3) + ...
Variable sum_of_products(const Variable& x, int terms) {
  Variable sum = x * 0.5;
  for (int i = 2; i <= terms; ++i) sum = sum + x * (1.0 / i);
  return sum;
}

TEST_F(Fusion, MakesASumOfManyProductsOneKernel) {
  for (int terms : {65, 66, 100, 999}) EXPECT_EQ(fused({x_}, {sum_of_products(x_, terms)}).node_count(), 1) << terms;
}

TEST_F(Fusion, MakesTheGradientOfALongChainOneKernel) {
  Variable y = x_;
  for (int i = 0; i < 100; ++i) y = tanh(1.5 * y + 0.1);
  EXPECT_EQ(fused({x_, y_}, {lop(y, y_, x_)}).node_count(), 1);
}

TEST_F(Fusion, LimitsRegisters) {
  Variable y = x_;
  for (int i = 0; i < 300; ++i) y = tanh(y);
  const FunctionGraph graph = fused({x_, y_}, {lop(y, y_, x_)});
  EXPECT_GT(graph.node_count(), 1) << "300 values of the way there wait for the way back";
  EXPECT_LE(Extremes(graph).outputs, FusionLimits().outputs);
}

/// The distinct texts of the fused kernels.
std::set<std::string> texts(const FunctionGraph& graph) {
  std::set<std::string> found;
  for (NodeId node : graph.nodes()) {
    if (const FunctionGraph* inner = graph.op(node).inner_graph()) found.insert(step_functions(lower(*inner)));
  }
  return found;
}

TEST_F(Fusion, CutsALongChainIntoKernelsOfOneText) {
  Variable y = x_;
  for (int i = 0; i < 5000; ++i) y = tanh(y * (1.001 + 0.001 * i) + 0.01 * (i % 7));
  const FunctionGraph graph = fused({x_}, {y});
  EXPECT_GE(graph.node_count(), 30);
  EXPECT_LE(texts(graph).size(), 2u) << "the last one is shorter";
}

TEST_F(Fusion, CutsALongSumWhereAllItsNumbersAreArguments) {
  const FunctionGraph graph = fused({x_}, {sum_of_products(x_, 6000)});
  EXPECT_GE(graph.node_count(), 6);
  EXPECT_LE(texts(graph).size(), 3u) << "the first and the last one differ";
}

Variable tree(const Variables& leaves, std::size_t begin, std::size_t end) {
  if (end == begin + 1) return leaves[begin];
  const std::size_t middle = (begin + end) / 2;
  return tree(leaves, begin, middle) + tree(leaves, middle, end);
}

TEST_F(Fusion, CutsABalancedTreeIntoKernelsOfFewTexts) {
  Variables leaves;
  for (int i = 0; i < 10000; ++i) leaves.push_back(tanh(x_ * (1.5 + i)));
  const FunctionGraph graph = fused({x_}, {tree(leaves, 0, leaves.size())});
  EXPECT_GE(graph.node_count(), 50);
  EXPECT_LE(texts(graph).size(), 24u);
}

/// A random graph of elementwise, custom and view ops on a few shapes.
FunctionGraph random_graph(std::mt19937& random, int nodes) {
  const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const Variables inputs = {matrix("x"), matrix("y"), vector("v"), scalar("s")};
  const auto opaque = make_op<OpaqueOp>("custom"), two = make_op<OpaqueOp>("two", 2);
  Variables values = inputs;
  for (int i = 0; i < nodes; ++i) {
    const auto near = [&] { return values[values.size() - 1 - pick(std::min<std::size_t>(values.size(), 12))]; };
    const Variable a = near(), b = near();
    switch (pick(8)) {
      case 0: values.push_back(opaque(a, b)); break;
      case 1: for (const Variable& output : two.outputs({a, b})) values.push_back(output); break;
      case 2: values.push_back(transpose(a)); break;
      case 3: values.push_back(tanh(a)); break;
      case 4: values.push_back(a * 2.0); break;
      default: values.push_back(a + b);
    }
  }
  Variables outputs = {values.back()};
  for (int i = 0; i < 3; ++i) outputs.push_back(values[pick(values.size())]);
  return merge_duplicates(FunctionGraph(inputs, outputs, true));
}

TEST(FusionGroups, AreConvexInRandomGraphs) {
  int large = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    FunctionGraph graph = random_graph(random, 60);
    const Reachability paths(graph);
    const FusionGroups groups(graph);
    for (const std::vector<NodeId>& group : groups.groups()) {
      large += group.size() > 3;
      EXPECT_TRUE(is_convex(graph, paths, group)) << "seed " << seed;
    }
    const int before = graph.node_count();
    const FunctionGraph after = fuse_elementwise(std::move(graph), {.inputs = 6, .outputs = 3, .cost = 60, .registers = 9});
    EXPECT_NO_THROW(after.verify()) << "seed " << seed;
    EXPECT_LE(after.node_count(), before);
  }
  EXPECT_GT(large, 60) << "the graphs should give it something to do";
}

/// Elementwise nodes of a graph in the order in which they were made.
std::vector<NodeId> elementwise_nodes(const FunctionGraph& graph) {
  std::vector<NodeId> nodes;
  for (NodeId node : graph.toposort()) {
    if (dynamic_cast<const ElementwiseOp*>(&graph.op(node))) nodes.push_back(node);
  }
  return nodes;
}

TEST(FusionOrder, AddsEachProductAsSoonAsItIsMade) {
  const Variable x = matrix("x");
  Variables products;
  for (int i = 0; i < 50; ++i) products.push_back(x * (2.5 + i));
  Variable sum = products[0];
  for (int i = 1; i < 50; ++i) sum = sum + products[static_cast<std::size_t>(i)];
  const FunctionGraph graph(Variables{x}, Variables{sum});
  FusionOrder order(graph);
  EXPECT_EQ(order.words_held(order(elementwise_nodes(graph))), 2) << "the sum so far and a product";
}

TEST(FusionOrder, KeepsInputsBeforeUsersAndHoldsNoMoreThanTheOrderThatWasGiven) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const FunctionGraph graph = random_graph(random, 60);
    const FusionGroups groups(graph);
    FusionOrder order(graph);
    for (const std::vector<NodeId>& members : groups.groups()) {
      const std::vector<NodeId> ordered = order(members);
      EXPECT_THAT(ordered, ::testing::UnorderedElementsAreArray(members));
      EXPECT_LE(order.words_held(ordered), order.words_held(members));
      std::set<NodeId> done;
      for (NodeId node : ordered) {
        for (ValueId input : graph.inputs(node)) {
          const NodeId owner = graph.owner(input);
          const bool inside = std::find(members.begin(), members.end(), owner) != members.end();
          EXPECT_TRUE(!inside || done.contains(owner)) << "seed " << seed;
        }
        done.insert(node);
      }
    }
  }
}

TEST(FusionGroups, TakeLinearTime) {
  const Variable x = matrix("x");
  Variable value = x;
  for (int i = 0; i < 20'000; ++i) value = value + 1.0;
  const FunctionGraph graph = fused({x}, {value});
  EXPECT_GE(graph.node_count(), 20'000 / 2500);
  EXPECT_LE(graph.node_count(), 100);
}

TEST_F(Fusion, RepeatsCheapWorkThatReadsWhatOthersReadToo) {
  const Variable v = vector("v"), w = exp(v), x = input({float32, {4, kUnknown, kUnknown}}, "x");
  const Variable distance = expand_dims(w, 1) - w;
  EXPECT_EQ(nodes_text(fused({v, x}, {where(le(expand_dims(w, 1), w), x + distance, 0.0)})), "exp dimshuffle fused(add le sub where)") << "exp is read from memory";
}

}  // namespace
}  // namespace damo
