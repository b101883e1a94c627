#include "runtime/exec/executor.hpp"

#include <chrono>

namespace damo {

Executor::Executor(const FunctionGraph& graph, Device device, bool profile)
    : program_(graph, device), recorder_(profile ? std::make_unique<ProfileRecorder>(program_) : nullptr) {
  release(std::make_unique<Context>(program_, recorder_.get()));
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
  return std::make_unique<Context>(program_, recorder_.get());
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

std::vector<Array> Executor::call(std::span<const Array> inputs) {
  check(inputs);
  std::unique_ptr<Context> context = acquire();
  if (!recorder_) {
    std::vector<Array> outputs = context->call(inputs);
    release(std::move(context));
    return outputs;
  }
  const auto start = std::chrono::steady_clock::now();
  std::vector<Array> outputs = context->call(inputs);
  recorder_->called(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  release(std::move(context));
  return outputs;
}

void Executor::check(std::span<const Array> inputs) const {
  if (inputs.size() != program_.inputs().size()) {
    throw GraphError("the function takes " + std::to_string(program_.inputs().size()) + " inputs, " + std::to_string(inputs.size()) + " were given");
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorType& type = program_.cells()[static_cast<std::size_t>(program_.inputs()[i])].type;
    const bool fits = inputs[i] && type.accepts(inputs[i].dtype(), inputs[i].shape()) && inputs[i].device() == program_.device();
    if (!fits) check(i, inputs[i]);
  }
}

/// Says what does not fit.
void Executor::check(std::size_t i, const Array& input) const {
  const ProgramCell& cell = program_.cells()[static_cast<std::size_t>(program_.inputs()[i])];
  const std::string label = "input " + std::to_string(i) + (cell.name.empty() ? "" : " (" + cell.name + ")");
  if (!input) throw GraphError(label + " is an empty Array");
  const std::string given = ", it was given " + describe(input);
  if (input.dtype() != cell.type.dtype) {
    throw TypeError(label + " must be " + std::string(name(cell.type.dtype)) + given, "convert the values, or declare the input as " + std::string(name(input.dtype())));
  }
  if (input.rank() != cell.type.rank()) {
    throw ShapeError(label + " must have " + std::to_string(cell.type.rank()) + " axes" + given, "reshape it, or declare the input with " + std::to_string(input.rank()) + " axes");
  }
  if (!cell.type.accepts(input.dtype(), input.shape())) throw ShapeError(label + " must be " + to_string(cell.type) + given);
  if (input.device() != program_.device()) {
    throw DeviceError(label + " must be on " + program_.device().name() + given, "copy it there with .to(Device(\"" + program_.device().name() + "\"))");
  }
}

Profile Executor::profile() const {
  if (!recorder_) throw OptionError("the function records no profile", "build it with Options{.profile = true}");
  return recorder_->profile(program_);
}

void Executor::free_memory() {
  std::vector<std::unique_ptr<Context>> dropped;
  {
    const std::lock_guard lock(mutex_);
    dropped.swap(idle_);
  }
  if (Context* context = hot_.exchange(nullptr)) dropped.emplace_back(context);
}

}  // namespace damo
