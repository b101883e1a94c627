// Function::report(), and what it says as text and JSON. The page is in report_html.cpp.
#include <damo/report.hpp>

#include <algorithm>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "function/compare_rows.hpp"
#include "function/compute_roof.hpp"
#include "function/explain_node.hpp"
#include "function/function_data.hpp"
#include "function/page.hpp"
#include "graph/print/label.hpp"
#include "runtime/copy_speed.hpp"
#include "runtime/memory/memory_pool.hpp"
#include "runtime/module/text_file.hpp"

namespace damo {
namespace {

/// Of each input once and each output, as far as types know their extents; 0 if one does not.
std::uint64_t bytes_by_types(const FunctionGraph& graph, NodeId node) {
  std::set<std::pair<ValueId, std::size_t>> seen;  // of what is taken from one value each time
  std::uint64_t bytes = 0;
  const auto add = [&](ValueId value, const TensorType& type) {
    if (!type.dims.is_known()) return false;
    const bool is_taken = !(type == graph.type(value));
    if (seen.emplace(value, is_taken ? seen.size() + 1 : 0).second) bytes += static_cast<std::uint64_t>(type.dims.size()) * itemsize(type.dtype);
    return true;
  };
  for (std::size_t i = 0; i < graph.inputs(node).size(); ++i) {
    if (!add(graph.inputs(node)[i], type_read(graph, node, i))) return 0;
  }
  for (ValueId output : graph.outputs(node)) {
    if (!add(output, graph.type(output))) return 0;
  }
  return bytes;
}

/// The cost of an element times the elements of the largest array.
std::uint64_t instructions_of(const FunctionGraph& graph, NodeId node) {
  std::int64_t elements = 0;
  const auto add = [&](const TensorType& type) {
    if (!type.dims.is_known()) return false;
    elements = std::max(elements, type.dims.size());
    return true;
  };
  const auto inputs = graph.inputs(node), outputs = graph.outputs(node);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!add(type_read(graph, node, i))) return 0;
  }
  if (!std::all_of(outputs.begin(), outputs.end(), [&](ValueId output) { return add(graph.type(output)); })) return 0;
  return static_cast<std::uint64_t>(elements) * static_cast<std::uint64_t>(cost_of(graph, node));
}

KernelReport report_of(const SpecKernel::Variant& variant) {
  const LoadedKernel& code = *variant.kernels[0];
  KernelReport report{code.name(), to_string(variant.layout), code.registers, code.local_bytes, variant.threads.load(), 0};
  if (report.threads > 0 && report.registers > 0) report.occupancy = code.occupancy(report.threads, variant.shared_bytes.load()).fraction;
  return report;
}

}  // namespace

FunctionReport Function::report() const {
  const FunctionGraph& graph = held().graph;
  const Program& program = held().executor->program();
  FunctionReport report{.name = name(), .device = device().name(), .device_description = device().properties().description, .nodes = {}};
  Profile profile;
  if (held().options.profile) profile = this->profile();
  report.calls = profile.calls;
  report.copy_bytes_per_second = held().options.profile ? profile.copy_bytes_per_second : copy_speed(device());
  if (report.calls > 0) report.instructions_per_second = compute_roof(device());
  NodeNumbers numbers;
  for (const ProgramNode& node : program.nodes()) numbers.emplace(node.id, numbers.size() + 1);
  std::size_t row = 0;
  for (std::size_t i = 0; i < program.nodes().size(); ++i) {
    const ProgramNode& planned = program.nodes()[i];
    if (planned.is_view) continue;
    NodeReport node{.number = static_cast<int>(i) + 1, .op = op_label(planned.apply.op()), .lines = lines_of(graph, planned.id), .formulas = formulas_of(graph, planned.id, numbers, kMostFormulas),
                    .reasons = borders_of(graph, planned.id, numbers, held().options, held().fusion), .kernels = {}};
    for (const SpecKernel* kernel : program.kernels(static_cast<int>(i))) {
      for (const SpecKernel::Variant* variant : kernel->variants()) node.kernels.push_back(report_of(*variant));
    }
    node.bytes = bytes_by_types(graph, planned.id);
    node.instructions = instructions_of(graph, planned.id);
    if (row < profile.rows.size()) {
      const ProfileRow& measured = profile.rows[row++];
      if (measured.calls > 0) {
        node.bytes = measured.bytes / measured.calls;
        node.milliseconds = measured.milliseconds / static_cast<double>(measured.calls);
      }
    }
    if (report.copy_bytes_per_second > 0) node.floor_milliseconds = static_cast<double>(node.bytes) / report.copy_bytes_per_second * 1e3;
    report.nodes.push_back(std::move(node));
  }
  return report;
}

std::string FunctionReport::text() const {
  std::string text = "report of function" + (name.empty() ? "" : " " + name) + " on " + device + ", copy " + rate_text(copy_bytes_per_second) + (instructions_per_second > 0 ? ", arithmetic " + instruction_rate(instructions_per_second) : "") + "\n";
  for (const NodeReport& node : nodes) {
    text += "  " + std::to_string(node.number) + "  " + node.op + (node.lines.empty() ? "" : "  at " + node.lines) + "\n";
    for (const std::string& formula : node.formulas) text += "       " + formula + "\n";
    if (node.bytes > 0) {
      text += "     moves " + bytes_text(static_cast<std::size_t>(node.bytes)) + ", at the copy's speed in " + duration_text(node.floor_milliseconds);
      if (node.milliseconds > 0) text += "; took " + duration_text(node.milliseconds) + ", " + short_number(100 * node.copy_share()) + " % of the copy's speed";
      text += "\n";
    }
    for (const KernelReport& kernel : node.kernels) {
      text += "     kernel " + kernel.name + " for " + kernel.layout;
      if (kernel.registers > 0) text += ", " + std::to_string(kernel.registers) + " registers, " + std::to_string(kernel.local_bytes) + " bytes spilled";
      if (kernel.occupancy > 0) text += ", occupancy " + short_number(100 * kernel.occupancy) + " % in blocks of " + std::to_string(kernel.threads);
      text += "\n";
    }
    for (const std::string& reason : node.reasons) text += "     ends here: " + reason + "\n";
  }
  return text;
}

std::string FunctionReport::json() const {
  using Json = nlohmann::ordered_json;
  Json all_nodes = Json::array();
  for (const NodeReport& node : nodes) {
    Json kernels = Json::array();
    for (const KernelReport& kernel : node.kernels) {
      kernels.push_back({{"name", kernel.name}, {"layout", kernel.layout}, {"registers", kernel.registers}, {"local_bytes", kernel.local_bytes}, {"threads", kernel.threads}, {"occupancy", kernel.occupancy}});
    }
    all_nodes.push_back({{"number", node.number},
                         {"op", node.op},
                         {"lines", node.lines},
                         {"formulas", node.formulas},
                         {"reasons", node.reasons},
                         {"bytes", node.bytes},
                         {"instructions", node.instructions},
                         {"milliseconds", node.milliseconds},
                         {"floor_milliseconds", node.floor_milliseconds},
                         {"copy_share", node.copy_share()},
                         {"kernels", std::move(kernels)}});
  }
  const Json all = {{"name", name}, {"device", device}, {"device_description", device_description}, {"copy_bytes_per_second", copy_bytes_per_second}, {"instructions_per_second", instructions_per_second}, {"calls", calls}, {"nodes", std::move(all_nodes)}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

const FunctionReport& FunctionReport::write_json(const std::string& path) const {
  write_file(path, json());
  return *this;
}

const FunctionReport& FunctionReport::write_html(const std::string& path) const {
  write_file(path, html());
  return *this;
}

}  // namespace damo
