#include "ops/rewrites/pipeline.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "graph/base/environment.hpp"
#include "graph/base/pass_names.hpp"
#include "ops/attention/attention.hpp"
#include "ops/gradient_mark.hpp"
#include "ops/inner_graph_op.hpp"
#include "ops/rewrites/divide_among_parts.hpp"
#include "ops/rewrites/divide_rows.hpp"
#include "ops/rewrites/forward_shapes.hpp"
#include "ops/rewrites/fuse_loops.hpp"
#include "ops/rewrites/fuse_pads.hpp"
#include "ops/rewrites/fuse_products.hpp"
#include "ops/rewrites/fuse_takes.hpp"
#include "ops/rewrites/fusion.hpp"
#include "ops/rewrites/join_sinks.hpp"
#include "ops/rewrites/join_sorts.hpp"
#include "ops/rewrites/match.hpp"
#include "ops/rewrites/pass_contiguous.hpp"
#include "ops/rewrites/push_out_of_loops.hpp"
#include "ops/rewrites/reduce_in_steps.hpp"
#include "ops/rewrites/refine_spaces.hpp"
#include "ops/rewrites/simplify.hpp"
#include "ops/rewrites/sink_branches.hpp"
#include "ops/rewrites/trim_loops.hpp"
#include "runtime/backend.hpp"
#include "runtime/kernel/dialect.hpp"

namespace damo {
namespace {

/// Each in place of what the passes make of it: last, when what goes into it and what stays outside is settled.
FunctionGraph rewrite_inner_graphs(FunctionGraph graph, Options options, Device device) {
  if (!graph.has_op<InnerGraphOp>()) return graph;
  options.passes.clear();
  bool has_changed = false;
  for (NodeId node : graph.nodes()) {
    const auto* op = dynamic_cast<const InnerGraphOp*>(&graph.op(node));
    if (!op) continue;
    std::vector<FunctionGraph> rewritten;
    for (const FunctionGraph* inner : op->inner_graphs()) rewritten.push_back(rewrite_graph(drop_gradient_marks(*inner), options, device));
    const std::vector<ValueId> inputs(graph.inputs(node).begin(), graph.inputs(node).end()), outputs(graph.outputs(node).begin(), graph.outputs(node).end());
    std::vector<TensorType> types;
    for (ValueId output : outputs) types.push_back(graph.type(output));
    const NodeId made = graph.add(op->with_graphs(std::move(rewritten)), inputs, types, graph.where(node));
    for (std::size_t i = 0; i < outputs.size(); ++i) graph.replace(outputs[i], graph.outputs(made)[i]);
    has_changed = true;
  }
  if (has_changed) graph.prune();
  return graph;
}

/// The pass, behind which the record follows the numbers of nodes: run_passes compacts a graph of which most is gone, so it is done here.
Pass followed_by(FusionRecord* record, Pass pass) {
  if (!record) return pass;
  pass.run = [record, run = std::move(pass.run)](FunctionGraph graph) {
    graph = run(std::move(graph));
    if (2 * graph.node_count() >= graph.node_limit()) return graph;
    record->renumber(graph.nodes());
    return graph.compact();
  };
  return pass;
}

bool finds_frames(Device device) { return device.backend().dialect().finds_frames(); }

}  // namespace

std::vector<Pass> fusion_passes(const Options& options, Device device, FusionRecord* record) {
  const Pass fuse{std::string(kFuseElementwise), [limits = options.fusion, record](FunctionGraph graph) { return fuse_elementwise(std::move(graph), limits, record); }};
  const Pass takes{std::string(kFuseTakes), [limits = options.fusion, record](FunctionGraph graph) { return fuse_takes(std::move(graph), limits, record); }};
  const Pass pads{std::string(kFusePads), [limits = options.fusion, record](FunctionGraph graph) { return fuse_pads(std::move(graph), limits, record); }};
  std::vector<Pass> passes{followed_by(record, fuse), followed_by(record, takes)};
  if (finds_frames(device)) passes.push_back(followed_by(record, pads));
  passes.push_back(followed_by(record, {std::string(kJoinSinks), join_sinks}));
  return passes;
}

std::vector<Pass> passes_of(const Options& options, Device device, FusionRecord* record) {
  std::vector<Pass> passes;
  if (options.fuse) passes.push_back({std::string(kAttentionKernels), [device](FunctionGraph graph) { return use_attention_kernels(std::move(graph), device); }});
  passes.push_back({std::string(kMergeDuplicates), merge_duplicates});
  passes.insert(passes.end(), options.passes.begin(), options.passes.end());
  // Not destroyed: another thread may be in function() as the process ends.
  static const std::vector<Rule>&exact = *new std::vector<Rule>(simplification_rules(false)), &regrouping = *new std::vector<Rule>(simplification_rules(true));
  const std::vector<Rule>& rules = options.reassociate ? regrouping : exact;
  passes.push_back({std::string(kTrimLoops), trim_loops});
  passes.push_back({std::string(kPushOutOfLoops), push_out_of_loops});
  passes.push_back({.name = std::string(kSimplify), .rules = rules});
  passes.push_back({std::string(kForwardShapes), [&rules, names = with_environment(options.disable)](FunctionGraph graph) {
                      const int before = graph.node_limit();
                      graph = forward_shapes(std::move(graph));
                      if (graph.node_limit() == before || std::find(names.begin(), names.end(), kSimplify) != names.end()) return graph;
                      return apply_rules(std::move(graph), rules, names);  // x * 1 is left of a fill
                    }});
  if (options.fuse) {
    passes.push_back({std::string(kDivideAmongParts), divide_among_parts});
    passes.push_back({std::string(kDivideRows), divide_rows});
  }
  passes.push_back({std::string(kSinkBranches), sink_branches});
  passes.push_back({std::string(kJoinSorts), join_sorts});
  if (options.tf32) passes.push_back({std::string(kUseTf32), use_tf32});
  if (options.fuse && finds_frames(device)) {
    passes.push_back({std::string(kPadFills), [names = with_environment(options.disable)](FunctionGraph graph) { return pad_fills(std::move(graph), names); }});
  }
  if (options.fuse) {
    passes.push_back({std::string(kFuseProducts), [device](FunctionGraph graph) { return fuse_products(std::move(graph), device); }});
    passes.push_back({std::string(kRefineSpaces), refine_spaces});
    passes.push_back({std::string(kReduceInSteps), reduce_in_steps});
    for (Pass& pass : fusion_passes(options, device, record)) passes.push_back(std::move(pass));
  }
  passes.push_back(followed_by(record, {std::string(kPassContiguous), pass_contiguous}));
  passes.push_back(followed_by(record, {std::string(kRewriteInnerGraphs), [options, device](FunctionGraph graph) { return rewrite_inner_graphs(std::move(graph), options, device); }}));
  if (options.fuse) passes.push_back(followed_by(record, {std::string(kFuseLoops), [limits = options.fusion](FunctionGraph graph) { return fuse_loops(std::move(graph), limits); }}));
  return passes;
}

std::vector<std::string> disabled_passes(const Options& options) {
  std::vector<std::string> names = options.disable;
  if (!options.rewrite) names.insert(names.end(), {std::string(kSimplify), std::string(kForwardShapes), std::string(kDivideAmongParts), std::string(kDivideRows), std::string(kPadFills), std::string(kAttentionKernels)});
  return names;
}

void check_disabled(const Options& options) {
  if (options.disable.empty()) return;
  std::vector<std::string_view> known;
  for (const std::string_view name : kPassNames) {
    if (std::find(kCallNames.begin(), kCallNames.end(), name) == kCallNames.end()) known.push_back(name);
  }
  for (const Pass& pass : options.passes) known.emplace_back(pass.name);
  std::string passes;
  for (const std::string_view name : known) passes += (passes.empty() ? "" : ", ") + std::string(name);
  static const std::vector<Rule>&rules = *new std::vector<Rule>(simplification_rules(true)), &pads = *new std::vector<Rule>(pad_rules());  // not destroyed, as above
  for (const Rule& rule : rules) known.emplace_back(rule.name);
  for (const Rule& rule : pads) known.emplace_back(rule.name);
  for (const Pass& pass : options.passes) {
    for (const Rule& rule : pass.rules) known.emplace_back(rule.name);
  }
  for (const std::string& name : options.disable) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string remedy = "the passes are " + passes + "; docs/rewrites.md lists the rules";
    if (name == kReplay) remedy = "Options::replay = false, or DAMO_DISABLE=replay for all Functions";
    else if (std::find(kCallNames.begin(), kCallNames.end(), name) != kCallNames.end()) remedy = "DAMO_DISABLE=" + name + ", for all Functions";
    else if (const std::string_view like = nearest(name, known); !like.empty()) remedy = "the nearest is " + std::string(like) + "; " + remedy;
    throw OptionError("Options::disable names '" + name + "', which is no pass or rule of this function", remedy);
  }
}

FunctionGraph rewrite_graph(FunctionGraph graph, const Options& options, Device device, std::vector<PassReport>* reports, FusionRecord* record) {
  const std::vector<std::string> disabled = disabled_passes(options), names = with_environment(disabled);
  const bool has_kernels = options.fuse && std::find(names.begin(), names.end(), kAttentionKernels) == names.end();
  if (!has_kernels) graph = drop_gradient_marks(std::move(graph), Marks::kAll);
  return run_passes(std::move(graph), passes_of(options, device, record), reports, disabled);
}

}  // namespace damo
