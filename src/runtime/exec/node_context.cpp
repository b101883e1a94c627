#include "runtime/exec/node_context.hpp"

#include <algorithm>

#include "runtime/kernel/cache.hpp"

namespace damo {

std::shared_ptr<const LoadedKernel> PendingKernels::add(const Program& program, int node, CompileRequest request) {
  auto kernel = std::make_shared<PendingKernel>(request.kernels.front(), backend_);
  items_.push_back({&program, node, std::move(request), kernel});
  return kernel;
}

void PendingKernels::add(const Program& program, int node, SpecKernel& kernel, const Layout& layout) {
  std::vector<Layout>& wanted = wanted_[&kernel];
  if (std::find(wanted.begin(), wanted.end(), layout) != wanted.end()) return;
  wanted.push_back(layout);
  if (!kernel.has(layout)) items_.push_back({&program, node, kernel.request(layout), nullptr, &kernel, layout});
}

bool PendingKernels::add_unserved(const Program& program, int node, SpecKernel& kernel, const Layout& layout, std::int64_t count) {
  if (kernel.is_served(layout, count)) return true;
  std::vector<Layout>& wanted = wanted_[&kernel];
  if (std::any_of(wanted.begin(), wanted.end(), [&](const Layout& other) { return serves(other, layout, count); })) return false;
  wanted.push_back(layout);
  items_.push_back({&program, node, kernel.request(layout), nullptr, &kernel, layout});
  return false;
}

void PendingKernels::add_maybe(SpecKernel& kernel, const Layout& layout, std::int64_t count) {
  if (kernel.is_served(layout, count)) return;
  std::vector<Layout>& wanted = wanted_[&kernel];
  if (std::any_of(wanted.begin(), wanted.end(), [&](const Layout& other) { return serves(other, layout, count); })) return;
  wanted.push_back(layout);
  maybe_.push_back(kernel.request(layout));
}

std::string PendingKernels::names() const {
  std::string names;
  for (const Item& item : items_) names += (names.empty() ? "" : ", ") + item.request.kernels.front();
  return names;
}

std::string PendingKernels::maybe_names() const {
  std::string names;
  for (const CompileRequest& request : maybe_) names += (names.empty() ? "" : ", ") + request.kernels.front();
  return names;
}

void PendingKernels::compile() {
  std::vector<CompileRequest> requests;
  for (const Item& item : items_) requests.push_back(item.request);
  std::vector<std::shared_ptr<const LoadedModule>> modules;
  try {
    modules = backend_.cache().get(requests, std::move(maybe_));
  } catch (CompileError& error) {
    for (const Item& item : items_) {
      if (error.source().find(item.request.source) != std::string::npos) error.add_where(item.program->describe(item.node));
    }
    throw;
  }
  for (std::size_t i = 0; i < items_.size(); ++i) finish(items_[i], modules[i]);
  items_.clear();
  maybe_.clear();
  wanted_.clear();
}

void PendingKernels::finish(const Item& item, const std::shared_ptr<const LoadedModule>& module) {
  if (item.generated) {
    if (!item.generated->has(item.layout)) item.generated->add(item.layout, module);
  } else {
    item.by_name->resolve(module->kernel(item.request.kernels.front()));
  }
}

Cell& NodeContext::storage(const Variable& variable) {
  const ProgramNode& node = program_.nodes()[static_cast<std::size_t>(node_)];
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.apply.inputs()[i].is_same(variable)) return cells_[static_cast<std::size_t>(node.inputs[i])];
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.apply.output(static_cast<int>(i)).is_same(variable)) return cells_[static_cast<std::size_t>(node.outputs[i])];
  }
  throw GraphError("storage(): " + describe(variable) + " is neither an input nor an output of the node", "ask for node.input(i) or node.output(i)");
}

Kernel NodeContext::compile(std::string_view source, std::string_view name, std::vector<std::string> flags) {
  CompileRequest request;
  request.source = std::string(source);
  request.kind = SourceKind::kCudaC;
  request.file_name = std::string(name) + ".cu";
  request.kernels = {std::string(name)};
  request.flags = std::move(flags);
  request.options.check = program_.checks();
  return Kernel(pending_.add(program_, node_, std::move(request)), stream());
}

}  // namespace damo
