#include <chrono>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <damo/rewrite.hpp>

namespace damo {
namespace {

bool is_disabled(std::string_view name) {
  const char* text = std::getenv("DAMO_DISABLE");
  std::string_view rest = text ? text : "";
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    if (rest.substr(0, comma) == name) return true;
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return false;
}

std::vector<TensorType> border(const FunctionGraph& graph) {
  std::vector<TensorType> types;
  for (ValueId value : graph.inputs()) types.push_back(graph.type(value));
  for (ValueId value : graph.outputs()) types.push_back(graph.type(value));
  return types;
}

void check(const FunctionGraph& graph, const std::vector<TensorType>& before) {
  graph.verify();
  const std::vector<TensorType> after = border(graph);
  if (after.size() != before.size()) throw GraphError("the number of inputs or outputs changed");
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (after[i].dtype == before[i].dtype && after[i].rank() == before[i].rank()) continue;
    throw TypeError("an input or output of " + to_string(before[i]) + " became " + to_string(after[i]));
  }
}

}  // namespace

FunctionGraph run_passes(FunctionGraph graph, std::span<const Pass> passes, std::vector<PassReport>* reports) {
  for (const Pass& pass : passes) {
    PassReport report{pass.name, !is_disabled(pass.name), 0, graph.node_count(), graph.node_count()};
    if (report.ran) {
      const auto start = std::chrono::steady_clock::now();
      const std::vector<TensorType> before = border(graph);
      try {
        graph = pass.run(std::move(graph));
        check(graph, before);
      } catch (Error& error) {
        error.add_where("in pass " + pass.name);
        throw;
      }
      report.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
      report.nodes_after = graph.node_count();
    }
    if (reports) reports->push_back(std::move(report));
  }
  return graph;
}

}  // namespace damo
