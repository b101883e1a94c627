// Random typed graphs, fused and unfused, against a float64 interpreter. DAMO_FUZZ_SEED=first,count runs others.
#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

#include "random_graph.hpp"
#include "support/devices.hpp"

namespace damo::testing {
namespace {

class FusionFuzzOnEachDevice : public OnEachDevice {};

struct Tally {
  std::size_t known = 0, elements = 0, fused = 0;
};

void check_graph(unsigned seed, Device device, Tally& tally) {
  const RandomGraph graph = random_graph(seed);
  SCOPED_TRACE("DAMO_FUZZ_SEED=" + std::to_string(seed) + "\n" + graph.text);
  std::vector<Array> arguments;
  for (std::size_t i = 0; i < graph.arguments.size(); ++i) arguments.push_back(place(graph.arguments[i], graph.layouts[i], device));
  for (const bool fuse : {true, false}) {
    try {
      const Function f = function(graph.inputs, graph.outputs, {.fuse = fuse, .device = device, .allow_unused_inputs = true});
      for (NodeId node : f.graph().nodes()) tally.fused += f.graph().op(node).inner_graph() != nullptr;
      const Results results = f.call(arguments);
      for (std::size_t i = 0; i < results.size(); ++i) {
        const std::string wrong = difference(results[i], graph.expected[i], tally.known);
        EXPECT_EQ(wrong, "") << "output " << i << (fuse ? ", fused" : ", unfused");
        tally.elements += graph.expected[i].elements.size();
      }
    } catch (const Error& error) {
      ADD_FAILURE() << (fuse ? "fused: " : "unfused: ") << error.what();
    }
  }
}

TEST_P(FusionFuzzOnEachDevice, GivesWhatTheInterpreterGives) {
  unsigned first = 0, count = 200;
  if (const char* text = std::getenv("DAMO_FUZZ_SEED"); text && std::sscanf(text, "%u,%u", &first, &count) == 1) count = 1;
  Tally tally;
  for (unsigned seed = first; seed < first + count && !HasFailure(); ++seed) check_graph(seed, device(), tally);
  if (count < 100) return;
  EXPECT_GT(tally.known, tally.elements / 2) << "most elements should be comparable";
  EXPECT_GT(tally.fused, count / 2);
}

DAMO_ON_EACH_DEVICE(FusionFuzzOnEachDevice);

}  // namespace
}  // namespace damo::testing
