// graph_work_N/null: function() on a graph of N nodes for the device that compiles nothing: snapshot, rewrites, fusion,
// plan, texts of the kernels. rewrite_s is the part before make_thunk.
// large_NAME_N/DEVICE: function() of such a graph, compiling included, in a process of its own with an empty kernel cache; peak_megabytes:
// of that process, graph and Function together. Median of three.
#include "benchmarks.hpp"
#include "child_process.hpp"
#include "workload.hpp"

namespace damo::bench {
namespace {

/// A chain in which every value is read twice and every fiftieth is a transpose, where fusion must think.
Variable graph_of(const Variable& x, const Variable& y, int nodes) {
  Variable z = x;
  for (int made = 0; made + 4 <= nodes; made += 4) {
    const Variable product = z * y;
    z = tanh(product + 0.001 * (made % 7)) - product;
    if (made % 200 == 196) z = transpose(z);
  }
  return z;
}

void run(benchmark::State& state, int nodes) {
  const Variable x = input({float32, {8, 8}}), y = input({float32, {8, 8}});
  const auto building = Clock::now();
  const Variable z = graph_of(x, y, nodes);
  state.counters["build_s"] = seconds_since(building);
  Options options;
  options.device = Device("null");
  std::vector<double> whole, rewrites, processor;
  double kernels = 0;
  for (int repeat = 0; repeat < (nodes > 100000 ? 1 : 3); ++repeat) {
    const double busy = processor_seconds();
    const auto start = Clock::now();
    const Function made = function({x, y}, {z}, options);
    whole.push_back(seconds_since(start));
    processor.push_back(processor_seconds() - busy);
    rewrites.push_back(made.build_report().graph_milliseconds * 1e-3);
    kernels = made.graph().node_count();
  }
  for ([[maybe_unused]] auto _ : state) state.SetIterationTime(median(whole));
  state.counters["rewrite_s"] = median(rewrites);
  state.counters["processor_s"] = median(processor);
  state.counters["nodes_after"] = kernels;
  state.counters["ns_a_node"] = median(whole) * 1e9 / nodes;
}

void run_large(benchmark::State& state, const std::string& name, const std::string& device) {
  const Children children;
  const Figures figures = children.medians(3, "large_graph/" + name, device, true);
  for ([[maybe_unused]] auto _ : state) state.SetIterationTime(figures.at("function_s"));
  for (const auto& [figure, value] : figures) state.counters[figure] = value;
}

}  // namespace

void add_large_graphs(const std::vector<Target>& targets) {
  for (const Target& target : targets) {
    for (const LargeGraph& graph : large_graphs()) {
      add(std::string(graph.name) + "/" + target.name, [=, name = std::string(graph.name)](benchmark::State& state) { run_large(state, name, target.name); });
    }
  }
}

void add_graph_work() {
  for (int nodes : {10000, 100000, 1000000}) {
    add("graph_work_" + std::to_string(nodes) + "/null", [=](benchmark::State& state) { run(state, nodes); });
  }
}

}  // namespace damo::bench
