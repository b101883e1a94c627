// What random graphs are made of, held against what there is: each row, each op of each family, and each public function that makes nodes of graphs.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "op_family.hpp"

namespace damo::testing {
namespace {

/// Functions of Variables that no random graph needs, and why.
const std::map<std::string, std::string> kNotInRandomGraphs = {
    {"input", "every graph has inputs"},
    {"scalar", "input under another name"},
    {"vector", "input under another name"},
    {"matrix", "input under another name"},
    {"tensor3", "input under another name"},
    {"tensor4", "input under another name"},
    {"shared_variable", "what Shared is made of: shared_check.hpp has shared variables"},
    {"print", "writes to standard output; observe is the same op"},
    {"cosine", "a rate by step, one elementwise formula: tests/train/optim_test.cpp"},
    {"exponential", "a rate by step, one elementwise formula: tests/train/optim_test.cpp; the draw of that name is in graphs"},
    {"spatial_transformer", "beside a whole number of x's places the value jumps where x ends, and rounding decides: tests/conv/signal_test.cpp"},
    {"warmup", "a rate by step, one elementwise formula: tests/train/optim_test.cpp"},
};

std::string text_of_file(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// All matches of a pattern's last group.
std::set<std::string> names_in(const std::string& text, const char* pattern) {
  std::set<std::string> names;
  const std::regex regex(pattern, std::regex::ECMAScript | std::regex::multiline);
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match) names.insert((*match)[match->size() - 1]);
  return names;
}

/// Functions of public headers, and of RandomStream, that give Variables or a struct of them.
std::set<std::string> functions_of_variables() {
  std::set<std::string> functions;
  std::string results = "Variable|std::vector<Variable>|ScanOutputs", all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(DAMO_SOURCE_DIR "/include/damo")) {
    if (!entry.is_regular_file() || entry.path().filename() == "rows.inc") continue;
    const std::string text = text_of_file(entry.path());
    for (const std::string& name : names_in(text, "^struct (\\w+) \\{\\n  Variable ")) results += "|" + name;
    if (entry.path().filename() == "random.hpp") functions = names_in(text, "^  Variable (\\w+)\\(");
    all += text;
  }
  functions.merge(names_in(all, ("^(inline )?(" + results + ") (\\w+)\\(").c_str()));
  for (const char* part : {"state", "next_state"}) functions.erase(part);  // of a stream, which draws use
  std::erase_if(functions, [](const std::string& name) { return name.starts_with("operator"); });
  return functions;
}

/// What builds the nodes of random graphs.
std::string builders() {
  std::string text;
  for (const auto& entry : std::filesystem::directory_iterator(DAMO_SOURCE_DIR "/tests/random_graph")) {
    const std::string name = entry.path().filename();
    if (name.ends_with("_ops.hpp") || name == "family_parts.hpp" || name == "check.cpp" || name == "gradient_check.cpp") text += text_of_file(entry.path());
  }
  return text;
}

struct Seen {
  std::set<std::string> nodes, features, families;
  std::set<DType> dtypes;
  std::set<std::size_t> ranks;
};

const Seen& seen() {
  static const Seen all = [] {
    Seen seen;
    for (std::uint64_t seed = 0; seed < 8000; ++seed) {
      const GraphSpec graph = random_graph(seed);
      for (const ValueType& value : graph.types()) seen.dtypes.insert(value.dtype), seen.ranks.insert(value.dims.size());
      for (const NodeSpec& node : graph.nodes) {
        seen.families.insert(node.family);
        seen.nodes.insert(node.name.empty() ? "kind " + std::to_string(static_cast<int>(node.kind)) : node.name);
      }
      for (const InputSpec& input : graph.inputs) seen.features.insert(input.shares >= 0 ? "shared" : "lie " + std::to_string(static_cast<int>(input.lie)));
      for (const auto& extents : graph.calls) {
        if (std::find(extents.begin(), extents.end(), 0) != extents.end()) seen.features.insert("empty");
      }
      if (graph.threads > 1) seen.features.insert("threads");
      if (graph.differentiates) seen.features.insert("gradients");
      if (graph.updates) seen.features.insert("updates");
      if (graph.donates) seen.features.insert("donates");
    }
    return seen;
  }();
  return all;
}

TEST(RandomGraphCoverage, HoldsEveryKindOfNodeAndOfMemory) {
  for (const ElementwiseRow* row : elementwise_rows()) EXPECT_TRUE(seen().nodes.contains(std::string(row->name))) << row->name;
  for (const char* name : {"raw_mix", "raw_strided", "raw_into", "raw_mirror", "raw_both"}) EXPECT_TRUE(seen().nodes.contains(name)) << name;
  for (const char* name : {"shared", "empty", "threads", "gradients", "updates", "donates"}) EXPECT_TRUE(seen().features.contains(name)) << name;
  for (const OpFamily* family : op_families()) EXPECT_TRUE(seen().families.contains(family->name)) << family->name;
  for (int lie = 0; lie < kLies; ++lie) EXPECT_TRUE(seen().features.contains("lie " + std::to_string(lie)));
  for (int kind : {1, 2, 3, 4, 6, 7, 8, 9}) EXPECT_TRUE(seen().nodes.contains("kind " + std::to_string(kind))) << kind;
  EXPECT_EQ(seen().dtypes.size(), std::size(kAllDTypes));
  for (std::size_t rank = 0; rank <= 6; ++rank) EXPECT_TRUE(seen().ranks.contains(rank)) << rank;
}

TEST(RandomGraphCoverage, DrawsEveryOpThatFamiliesBuild) {
  const std::set<std::string> ops = names_in(builders(), "how == \"([^\"]+)\"");
  EXPECT_GT(ops.size(), 100u);
  for (const std::string& op : ops) EXPECT_TRUE(seen().nodes.contains(op)) << op << " is built by a family and drawn by none";
}

TEST(RandomGraphCoverage, HoldsEveryFunctionThatMakesNodesOrSaysWhyNot) {
  const std::set<std::string> functions = functions_of_variables();
  EXPECT_GT(functions.size(), 150u);
  const std::set<std::string> all = names_in(builders(), "\\b(\\w+)\\(");
  for (const std::string& name : functions) {
    const bool is_there = all.contains(name) || seen().nodes.contains(name);
    EXPECT_TRUE(is_there || kNotInRandomGraphs.contains(name)) << name << " stands in no random graph: add it to a family, or to the list above with a reason";
  }
  for (const auto& [name, reason] : kNotInRandomGraphs) EXPECT_TRUE(functions.contains(name)) << name << " is no function any more";
}

}  // namespace
}  // namespace damo::testing
