#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>

#include <damo/log.hpp>
#include <damo/rewrite.hpp>

#include "graph/base/environment.hpp"
#include "graph/base/pass_names.hpp"

namespace damo {
namespace {

/// A name that is none of Damo's passes, nor of these and their rules, is told once: other functions may have a pass of that name.
void report_unknown(const std::vector<std::string>& disabled, std::span<const Pass> passes) {
  std::vector<std::string_view> known(kPassNames.begin(), kPassNames.end());
  for (const Pass& pass : passes) {
    if (std::find(known.begin(), known.end(), pass.name) == known.end()) known.emplace_back(pass.name);
  }
  const std::size_t pass_count = known.size();
  for (const Pass& pass : passes) {
    for (const Rule& rule : pass.rules) known.emplace_back(rule.name);
  }
  for (const std::string& name : disabled) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    static std::mutex mutex;
    static std::set<std::string> told;
    {
      const std::lock_guard lock(mutex);
      if (!told.insert(name).second) continue;
    }
    std::string line = "DAMO_DISABLE or Options::disable names '" + name + "', which is no pass or rule of this function; the passes are";
    for (std::size_t i = 0; i < pass_count; ++i) line += (i == 0 ? " " : ", ") + std::string(known[i]);
    if (const std::string_view like = nearest(name, known); !like.empty()) line += "; the nearest is " + std::string(like);
    log(LogLevel::kWarning, line);
  }
}

std::vector<TensorType> border(const FunctionGraph& graph) {
  std::vector<TensorType> types;
  for (ValueId value : graph.inputs()) types.push_back(graph.type(value));
  for (ValueId value : graph.outputs()) types.push_back(graph.type(value));
  return types;
}

void check(FunctionGraph& graph, const std::vector<TensorType>& before, std::size_t updates) {
  graph.verify_changes();
  if (graph.updated().size() != updates) throw GraphError("the number of updates changed", "change the graph that was given, a new one has none");
  const std::vector<TensorType> after = border(graph);
  if (after.size() != before.size()) throw GraphError("the number of inputs or outputs changed", "replace values between them; the outputs' places stay");
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (after[i].dtype == before[i].dtype && after[i].rank() == before[i].rank()) continue;
    throw TypeError("an input or output of " + to_string(before[i]) + " became " + to_string(after[i]), "give a value of the same dtype and rank: cast or dimshuffle it");
  }
}

}  // namespace

FunctionGraph run_passes(FunctionGraph graph, std::span<const Pass> passes, std::vector<PassReport>* reports, std::span<const std::string> named) {
  const std::vector<std::string> disabled = with_environment(named);
  if (!disabled.empty()) report_unknown(disabled, passes);
  for (const Pass& pass : passes) {
    const bool is_disabled = std::find(disabled.begin(), disabled.end(), pass.name) != disabled.end();
    PassReport report{pass.name, !is_disabled, 0, graph.node_count(), graph.node_count(), {}};
    if (report.ran) {
      const auto start = std::chrono::steady_clock::now();
      const std::vector<TensorType> before = border(graph);
      const std::size_t updates = graph.updated().size();
      try {
        graph = pass.run ? pass.run(std::move(graph)) : apply_rules(std::move(graph), pass.rules, disabled, &report.rules);
        check(graph, before, updates);
        if (2 * graph.node_count() < graph.node_limit()) graph = graph.compact();  // later passes look at what is there
      } catch (Error& error) {
        error.add_where("in pass " + pass.name);
        throw;
      }
      report.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
      for (RuleReport& rule : report.rules) rule.milliseconds = std::min(rule.milliseconds, report.milliseconds);  // an estimate of few questions may be more
      report.nodes_after = graph.node_count();
    }
    if (reports) reports->push_back(std::move(report));
  }
  return graph;
}

}  // namespace damo
