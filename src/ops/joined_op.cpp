#include "ops/joined_op.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <damo/thunk.hpp>
#include "ops/lower.hpp"
#include "runtime/exec/repeat_state.hpp"
#include "runtime/exec/version_table.hpp"
#include "runtime/kernel/joined_kernel.hpp"

namespace damo {
namespace {

int input_count(const FusedOp& op) { return static_cast<int>(op.inner_graph()->inputs().size()); }
int output_count(const FusedOp& op) { return static_cast<int>(op.inner_graph()->outputs().size()); }

class JoinedThunk {
 public:
  /// cells: of each member, inputs, then outputs.
  JoinedThunk(SpecKernel& kernel, std::vector<KernelSpec> specs, std::vector<std::vector<Cell*>> cells, ThunkContext& context)
      : bound_(all(cells)), kernel_(kernel), specs_(std::move(specs)), cells_(std::move(cells)), stream_(context.stream()), in_place_(context.runs_in_place()), repeat_state_(context.repeat_state()), flag_(kernel.spec().has_guards() ? context.fault_flag() : nullptr) {}

  void operator()() {
    std::unique_ptr<JoinedKernel>* found = bound_.find();
    if (!found) found = &bound_.add(std::make_unique<JoinedKernel>(kernel_, members(), in_place_, flag_));
    JoinedKernel& joined = **found;
    for (std::size_t member = 0; member < cells_.size(); ++member) {
      for (std::size_t i = 0; i < cells_[member].size(); ++i) joined.set_pointer(member, static_cast<int>(i), cells_[member][i]->array().data());
    }
    if (joined.launch(stream_.handle())) ++repeat_state_.changes;
  }

  /// See ThunkContext::foresee.
  void foresee(const WantKernel& want) {
    if (!bound_.find()) JoinedKernel::foresee(kernel_, members(), in_place_, want);
  }

 private:
  static std::vector<const Cell*> all(const std::vector<std::vector<Cell*>>& cells) {
    std::vector<const Cell*> flat;
    for (const std::vector<Cell*>& of_member : cells) flat.insert(flat.end(), of_member.begin(), of_member.end());
    return flat;
  }

  /// The last output's shape is the space: all of a member's outputs fill it.
  std::vector<JoinedKernel::Member> members() const {
    std::vector<JoinedKernel::Member> members;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      JoinedKernel::Member member{&specs_[i], cells_[i].back()->shape(), {}};
      for (const Cell* cell : cells_[i]) member.arrays.push_back({&cell->shape(), &cell->strides()});
      members.push_back(std::move(member));
    }
    return members;
  }

  VersionTable<std::unique_ptr<JoinedKernel>> bound_;
  SpecKernel& kernel_;
  std::vector<KernelSpec> specs_;           // by member: they differ in their numbers
  std::vector<std::vector<Cell*>> cells_;  // by member
  Stream stream_;
  bool in_place_;
  RepeatState& repeat_state_;
  const void* flag_;
};

}  // namespace

JoinedOp::JoinedOp(std::vector<std::shared_ptr<const FusedOp>> members, std::vector<bool> guarded) : members_(std::move(members)), guarded_(std::move(guarded)) {}

Props JoinedOp::props() const {
  Props props{{"members", static_cast<std::int64_t>(members_.size())}};
  if (const auto guarded = std::count(guarded_.begin(), guarded_.end(), true); guarded > 0) props.push_back({"guarded", std::int64_t{guarded}});
  return props;
}

Apply JoinedOp::make_node(Inputs inputs) const {
  int count = 0;
  std::vector<TensorType> types;
  for (const auto& member : members_) {
    const FunctionGraph& inner = *member->inner_graph();
    count += input_count(*member);
    for (ValueId output : inner.outputs()) types.push_back(inner.type(output));
  }
  inputs.require_count(count);
  return {*this, {inputs.begin(), inputs.end()}, std::move(types)};
}

Shapes JoinedOp::infer_shape(const Apply& node, std::span<const Shape> inputs) const {
  std::vector<Shape> shapes;
  for (const auto& member : members_) {
    const auto own = static_cast<std::size_t>(input_count(*member));
    const Shapes outputs = member->infer_shape(node, inputs.first(own));
    shapes.insert(shapes.end(), outputs->begin(), outputs->end());
    inputs = inputs.subspan(own);
  }
  return shapes;
}

bool JoinedOp::may_run_in_place(int output, int input) const {
  for (const auto& member : members_) {
    const int inputs = input_count(*member), outputs = output_count(*member);
    if (output < outputs) return input >= 0 && input < inputs;
    output -= outputs;
    input -= inputs;
  }
  return false;
}

Thunk JoinedOp::make_thunk(const Apply& node, ThunkContext& context) const {
  std::vector<KernelSpec> specs;
  std::vector<std::vector<Cell*>> cells;
  int input = 0, output = 0;
  for (const auto& member : members_) {
    specs.push_back(lower(*member->inner_graph()));
    specs.back().guarded = guarded_;
    std::vector<Cell*>& own = cells.emplace_back();
    for (int i = 0; i < input_count(*member); ++i) own.push_back(&context.storage(node.input(input++)));
    for (int i = 0; i < output_count(*member); ++i) own.push_back(&context.storage(node.output(output++)));
  }
  SpecKernel& kernel = context.kernel(specs[0]);
  context.promise_repeatable();
  context.promise_contained();
  const auto thunk = std::make_shared<JoinedThunk>(kernel, std::move(specs), std::move(cells), context);
  context.foresee([thunk](const WantKernel& want) { thunk->foresee(want); });
  return [thunk] { (*thunk)(); };
}

}  // namespace damo
