// join_sinks: which nodes become members of one launch, and which must not.
#include <damo/graph.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/reduce.hpp>
#include <damo/print.hpp>
#include <damo/rewrite.hpp>
#include <damo/shared.hpp>

#include <gmock/gmock.h>

#include "ops/joined_op.hpp"
#include "ops/rewrites/fusion.hpp"
#include "ops/rewrites/join_sinks.hpp"

namespace damo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class JoinSinks : public ::testing::Test {
 protected:
  /// The numbers of members of the joined nodes, and nodes that were left in `others`.
  std::vector<int> members(const std::vector<Variable>& outputs) {
    FunctionGraph graph(inputs_, outputs, true);
    graph = join_sinks(fuse_elementwise(merge_duplicates(std::move(graph)), {}));
    graph.verify();
    std::vector<int> counts;
    others_ = 0;
    for (NodeId node : graph.nodes()) {
      if (const auto* joined = dynamic_cast<const JoinedOp*>(&graph.op(node))) counts.push_back(static_cast<int>(joined->members().size()));
      else ++others_;
    }
    return counts;
  }
  Variable vector(int n, std::int64_t extent = kUnknown) {
    inputs_.push_back(input({float32, {extent}}, "x" + std::to_string(n)));
    return inputs_.back();
  }
  std::vector<Variable> inputs_;
  int others_ = 0;
};

TEST_F(JoinSinks, JoinsLikeKernelsOfUnlikeSizesAndNumbers) {
  std::vector<Variable> outputs;
  for (int i = 0; i < 10; ++i) outputs.push_back(tanh(vector(i, 10 + i) * (1.5 + i)) + 0.25);
  EXPECT_THAT(members(outputs), ElementsAre(10));
  EXPECT_EQ(others_, 0);
}

TEST_F(JoinSinks, JoinsNodesThatFusionLeftAlone) {
  std::vector<Variable> outputs;
  for (int i = 0; i < 5; ++i) outputs.push_back(exp(vector(i)));
  EXPECT_THAT(members(outputs), ElementsAre(5));
}

TEST_F(JoinSinks, KeepsKernelsOfOtherTextsApart) {
  std::vector<Variable> outputs;
  for (int i = 0; i < 5; ++i) outputs.push_back(exp(vector(i)));
  for (int i = 5; i < 9; ++i) outputs.push_back(vector(i) * 0.0 + 1.0);
  for (int i = 9; i < 12; ++i) outputs.push_back(tanh(vector(i)));
  EXPECT_THAT(members(outputs), ::testing::UnorderedElementsAre(5, 4));
  EXPECT_EQ(others_, 3) << "of three it is not worth it";
}

TEST_F(JoinSinks, LeavesWhatOthersReadAndWhatReduces) {
  std::vector<Variable> outputs;
  for (int i = 0; i < 5; ++i) {
    const Variable middle = exp(vector(i));
    outputs.push_back(middle);
    outputs.push_back(sum(middle));
  }
  EXPECT_THAT(members(outputs), IsEmpty());
}

TEST_F(JoinSinks, LeavesNodesWhoseOutputsMayHaveUnlikeShapesInACall) {
  std::vector<Variable> outputs, known;
  for (int i = 0; i < 5; ++i) {
    const Variable x = vector(3 * i), y = vector(3 * i + 1), z = vector(3 * i + 2);
    outputs.push_back(x * y);
    outputs.push_back(x * z);
  }
  EXPECT_THAT(members(outputs), IsEmpty());
  inputs_.clear();
  for (int i = 0; i < 5; ++i) {
    const Variable x = vector(3 * i, 7), y = vector(3 * i + 1, 7), z = vector(3 * i + 2, 7);
    known.push_back(x * y);
    known.push_back(x * z);
  }
  EXPECT_THAT(members(known), ElementsAre(5));
}

TEST_F(JoinSinks, LeavesWhatReadsASharedVariableThatAnotherNodeUpdates) {
  std::vector<Shared> all;
  std::vector<Assignment> updates;
  for (int i = 0; i < 6; ++i) all.push_back(shared("s", Array::zeros({3}, float32, Device("null"))));
  for (std::size_t i = 0; i < 6; ++i) updates.push_back({all[i], all[i] + all[(i + 1) % 6]});
  FunctionGraph ring = join_sinks(FunctionGraph({}, {}, false, updates));
  EXPECT_EQ(ring.node_count(), 6);
  updates.clear();
  for (std::size_t i = 0; i < 6; ++i) updates.push_back({all[i], all[i] + 2.0});
  EXPECT_EQ(join_sinks(FunctionGraph({}, {}, false, updates)).node_count(), 1);
}

}  // namespace
}  // namespace damo
