// NodeContext: the ThunkContext of one node. PendingKernels: what all nodes of a Function asked for, those of graphs within its graph too, compiled together.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <damo/thunk.hpp>
#include "runtime/backend.hpp"
#include "runtime/exec/code_requests.hpp"
#include "runtime/exec/fault_flag.hpp"
#include "runtime/exec/program.hpp"
#include "runtime/module/pending_kernel.hpp"

namespace damo {

class PendingKernels {
 public:
  explicit PendingKernels(Backend& backend) : backend_(backend) {}
  /// program, node: which asked.
  std::shared_ptr<const LoadedKernel> add(const Program& program, int node, CompileRequest request);
  void add(const Program& program, int node, SpecKernel& kernel, const Layout& layout);
  /// Only where no code that is there, or was asked for, serves the layout: what kernels compiled one by one, in this order, would come to. Gives whether some is there.
  bool add_unserved(const Program& program, int node, SpecKernel& kernel, const Layout& layout, std::int64_t count);
  /// The kernel for a layout that another guess at unknown extents has, where none that was asked for serves it. Compiled beside the others, as far as threads are left (KernelCache::get).
  void add_maybe(SpecKernel& kernel, const Layout& layout, std::int64_t count);
  /// The same of other code.
  void add_maybe(CompileRequest request) { maybe_.push_back(std::move(request)); }
  bool is_empty() const { return items_.empty(); }
  /// "damo_mean, damo_tanh"
  std::string names() const;
  /// Of what add_maybe() was given.
  std::string maybe_names() const;
  /// Throws the first CompileError, with the node that asked.
  void compile();

 private:
  struct Item {
    const Program* program;
    int node;
    CompileRequest request;
    std::shared_ptr<PendingKernel> by_name;  // of a user's source
    SpecKernel* generated = nullptr;
    Layout layout;
  };
  void finish(const Item& item, const std::shared_ptr<const LoadedModule>& module);
  Backend& backend_;
  std::vector<Item> items_;
  std::vector<CompileRequest> maybe_;
  std::unordered_map<const SpecKernel*, std::vector<Layout>> wanted_;  // of kernels that several nodes have
};

class NodeContext final : public ThunkContext {
 public:
  NodeContext(Program& program, int node, std::vector<Cell>& cells, PendingKernels& pending, FaultFlag& faults, RepeatState& repeat_state, Foresight& foresight, std::function<ThunkMemory()>& memory)
      : program_(program), node_(node), cells_(cells), pending_(pending), faults_(faults), repeat_state_(repeat_state), foresight_(foresight), memory_(memory) {}

  Cell& storage(const Variable& variable) override;
  Device device() const override { return program_.device(); }
  Stream stream() const override { return Stream::default_of(program_.device()); }
  bool runs_in_place() const override { return program_.nodes()[static_cast<std::size_t>(node_)].runs_in_place; }
  bool contracts() const override { return program_.contracts(); }
  bool lies_in_place(int input) const override {
    const std::vector<int>& placed = program_.nodes()[static_cast<std::size_t>(node_)].placed;
    return std::find(placed.begin(), placed.end(), input) != placed.end();
  }
  Kernel compile(std::string_view source, std::string_view name, std::vector<std::string> flags) override;
  SpecKernel& kernel(const KernelSpec& spec) override { return program_.kernel(node_, requests_++, spec); }
  SpecKernel& kernel(std::shared_ptr<const KernelSpec> spec) override { return program_.kernel(node_, requests_++, std::move(spec)); }
  void foresee(Foresight kernels) override {
    foresight_ = std::move(kernels);
    is_guessed_ = true;
  }
  void foresee_calls(Foresight kernels) override {
    foresight_ = std::move(kernels);
    is_guessed_ = false;
  }
  void foresee_code(std::function<CodeRequests()> code) override { code_ = std::move(code); }
  void foresee_memory(std::function<ThunkMemory()> memory) override { memory_ = std::move(memory); }
  void* fault_flag() override { return faults_.address(); }
  RepeatState& repeat_state() override { return repeat_state_; }
  PendingKernels& pending() override { return pending_; }
  void runs(std::shared_ptr<const Program> program) override { program_.add_inner(node_, inner_++, std::move(program)); }
  void promise_recordable() override { is_recordable_ = true; }
  void promise_repeatable() override { is_recordable_ = is_repeatable_ = true; }
  void promise_contained() override { is_contained_ = true; }
  bool is_recordable() const { return is_recordable_; }
  bool is_repeatable() const { return is_repeatable_; }
  bool is_contained() const { return is_contained_; }
  /// Whether the thunk foresees with expected layouts too.
  bool is_guessed() const { return is_guessed_; }
  const std::function<CodeRequests()>& code() const { return code_; }

 private:
  Program& program_;
  int node_;
  int requests_ = 0, inner_ = 0;
  bool is_recordable_ = false, is_repeatable_ = false, is_contained_ = false, is_guessed_ = false;
  std::vector<Cell>& cells_;
  PendingKernels& pending_;
  FaultFlag& faults_;
  RepeatState& repeat_state_;
  Foresight& foresight_;
  std::function<ThunkMemory()>& memory_;
  std::function<CodeRequests()> code_;
};

}  // namespace damo
