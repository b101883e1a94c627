#include "runtime/exec/executor.hpp"

#include <algorithm>
#include <chrono>

#include "graph/base/counted.hpp"
#include "runtime/memory/workspace.hpp"
#include "runtime/stream/capture.hpp"

namespace damo {

// A thunk may build and call Functions. What they keep is not of its workspace: each entry leaves that first.

Executor::Executor(const FunctionGraph& graph, Device device, bool profile, bool check, bool share_results, bool replay, std::span<const int> donated, bool guarded, bool contracts)
    : program_(std::make_shared<Program>(graph, device, check, share_results, donated, guarded, contracts)), replays_(replay), recorder_(profile ? std::make_unique<ProfileRecorder>(*program_) : nullptr) {
  release(std::make_unique<Context>(program_, recorder_.get(), replays_));
}

Executor::~Executor() { delete hot_.load(); }

std::unique_ptr<Context> Executor::acquire() {
  if (Context* context = hot_.exchange(nullptr, std::memory_order_acquire)) return std::unique_ptr<Context>(context);
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Context> context = std::move(idle_.back());
      idle_.pop_back();
      return context;
    }
  }
  return std::make_unique<Context>(program_, recorder_.get(), replays_);
}

void Executor::release(std::unique_ptr<Context> context) {
  Context* none = nullptr;
  if (hot_.compare_exchange_strong(none, context.get(), std::memory_order_release)) {
    context.release();
    return;
  }
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(context));
}

std::vector<Array> Executor::call(std::span<const Array> inputs, std::span<Array> given_up) {
  check(inputs);
  const WorkspaceScope none(nullptr);
  if (CaptureScope* capture = current_capture(program_->device().backend())) [[unlikely]]
    return call_captured(inputs, *capture);
  std::unique_ptr<Context> context = acquire();
  const auto start = recorder_ ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
  std::vector<Array> outputs;
  try {
    outputs = context->call(inputs, program_->donations().empty() ? std::span<Array>() : given_up);
  } catch (Error& error) {
    error.add_operands(describe_inputs(inputs));
    throw;
  }
  if (recorder_) recorder_->called(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  release(std::move(context));
  return outputs;
}

/// The graph owns the Context of its call, as it writes the buffers again at each launch.
std::vector<Array> Executor::call_captured(std::span<const Array> inputs, CaptureScope& capture) {
  const auto context = std::make_shared<Context>(program_, nullptr, false);
  capture.holds().hold(context);
  try {
    return context->call(inputs);
  } catch (Error& error) {
    error.add_operands(describe_inputs(inputs));
    throw;
  }
}

/// "x float32 (3, 4)", at most as many as one can read.
std::vector<std::string> Executor::describe_inputs(std::span<const Array> inputs) const {
  constexpr std::size_t kMost = 12;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(inputs.size(), kMost); ++i) {
    const std::string& name = program_->cells()[static_cast<std::size_t>(program_->inputs()[i])].name;
    texts.push_back((name.empty() ? "input " + std::to_string(i) : name) + " " + (inputs[i] ? to_string(TensorType{inputs[i].dtype(), inputs[i].shape()}) : "given up"));
  }
  if (inputs.size() > kMost) texts.push_back(std::to_string(inputs.size() - kMost) + " more");
  return texts;
}

void Executor::check_count(std::size_t count) const {
  if (count == program_->inputs().size()) return;
  std::string wanted;
  for (int input : program_->inputs()) {
    const ProgramCell& cell = program_->cells()[static_cast<std::size_t>(input)];
    wanted += (wanted.empty() ? ": " : ", ") + (cell.name.empty() ? "" : cell.name + " ") + to_string(cell.type);
  }
  throw GraphError("the function takes " + counted(program_->inputs().size(), "input") + ", " + were_given(count) + wanted, "give one for each, in this order; call_named takes Arrays by their names");
}

std::string Executor::label(std::size_t input) const {
  const ProgramCell& cell = program_->cells()[static_cast<std::size_t>(program_->inputs()[input])];
  return "input " + std::to_string(input) + (cell.name.empty() ? "" : " (" + cell.name + ")");
}

CallPlan Executor::plan(std::span<const Shape> shapes) {
  check_count(shapes.size());
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const TensorType& type = program_->cells()[static_cast<std::size_t>(program_->inputs()[i])].type;
    if (!shapes[i].is_known() || !type.accepts(type.dtype, shapes[i])) throw ShapeError(label(i) + " must be " + to_string(type) + ", the plan is for " + to_string(shapes[i]), "give known extents that fit to the input's");
  }
  const WorkspaceScope none(nullptr);
  std::unique_ptr<Context> context = acquire();
  const CallPlan plan = context->plan(shapes);
  release(std::move(context));
  return plan;
}

void Executor::check(std::span<const Array> inputs) const {
  check_count(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorType& type = program_->cells()[static_cast<std::size_t>(program_->inputs()[i])].type;
    const bool fits = inputs[i] && type.accepts(inputs[i].dtype(), inputs[i].shape()) && inputs[i].device() == program_->device();
    if (!fits) check(i, inputs[i]);
  }
}

/// Says what does not fit.
void Executor::check(std::size_t i, const Array& input) const {
  const ProgramCell& cell = program_->cells()[static_cast<std::size_t>(program_->inputs()[i])];
  const std::string label = this->label(i);
  if (!input) throw GraphError(label + " is an empty Array", "check the Array with if (array)");
  const std::string given = ", it was given " + describe(input);
  if (input.dtype() != cell.type.dtype) {
    throw TypeError(label + " must be " + std::string(name(cell.type.dtype)) + given, "convert the values, or declare the input as " + std::string(name(input.dtype())));
  }
  if (input.rank() != cell.type.rank()) {
    throw ShapeError(label + " must have " + counted_axes(cell.type.rank()) + given, "reshape it, or declare the input with " + counted_axes(input.rank()));
  }
  if (!cell.type.accepts(input.dtype(), input.shape())) throw ShapeError(label + " must be " + to_string(cell.type) + given, "give these extents, or declare the input with kUnknown where others may come");
  if (input.device() != program_->device()) {
    throw DeviceError(label + " must be on " + program_->device().name() + given, "copy it there with .to(Device(\"" + program_->device().name() + "\"))");
  }
}

Profile Executor::profile() const {
  if (!recorder_) throw OptionError("the function records no profile", "build it with Options{.profile = true}");
  return recorder_->profile(*program_);
}

void Executor::free_memory() {
  const std::unique_ptr<Context> hot(hot_.exchange(nullptr));
  std::vector<std::unique_ptr<Context>> dropped;
  const std::lock_guard lock(mutex_);
  dropped.swap(idle_);
}

}  // namespace damo
