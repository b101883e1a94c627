#include "runtime/kernel/eager_kernel.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace damo {
namespace {

std::uint64_t bits_of(const Scalar& value) {
  std::uint64_t bits = 0;
  value.store(&bits);
  return bits;
}

/// The caller has copied what shares the result's memory in any other way (would_overwrite).
bool writes_an_input(std::span<const EagerInput> inputs, std::span<const Array> outs) {
  return std::any_of(inputs.begin(), inputs.end(), [&](const EagerInput& input) {
    return input.array && std::any_of(outs.begin(), outs.end(), [&](const Array& out) { return input.array->data() == out.data(); });
  });
}

}  // namespace

bool EagerKernel::Binding::fits(const Call& call) const {
  if (reduced_axes != call.reduced_axes || in_place != writes_an_input(call.inputs, call.outs) || !(space == call.space)) return false;
  std::size_t at = shapes.size() - call.outs.size();
  for (const Array& out : call.outs) {
    if (!(shapes[at] == out.shape()) || !(strides[at] == out.strides())) return false;
    ++at;
  }
  at = 0;
  for (const EagerInput& input : call.inputs) {
    if (!input.array) continue;
    if (!(shapes[at] == input.array->shape()) || !(strides[at] == input.array->strides())) return false;
    ++at;
  }
  return true;
}

std::unique_ptr<EagerKernel::Binding> EagerKernel::take(const Call& call) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = idle_.size(); i-- > 0;) {
    if (!idle_[i]->fits(call)) continue;
    std::unique_ptr<Binding> found = std::move(idle_[i]);
    idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(i));
    return found;
  }
  return nullptr;
}

std::unique_ptr<EagerKernel::Binding> EagerKernel::bind(const Call& call) {
  static const Shape kOne{}, kNoStrides{};
  auto binding = std::make_unique<Binding>(kernel_);
  std::vector<ArrayLayout> layouts;
  for (const EagerInput& input : call.inputs) {
    layouts.push_back(input.array ? ArrayLayout{&input.array->shape(), &input.array->strides()}
                                  : ArrayLayout{&kOne, &kNoStrides});
    if (!input.array) continue;
    binding->shapes.push_back(input.array->shape());
    binding->strides.push_back(input.array->strides());
  }
  for (const Array& out : call.outs) {
    layouts.push_back({&out.shape(), &out.strides()});
    binding->shapes.push_back(out.shape());
    binding->strides.push_back(out.strides());
  }
  binding->space = call.space;
  binding->reduced_axes = call.reduced_axes;
  binding->in_place = writes_an_input(call.inputs, call.outs);
  binding->bound.bind(call.space, layouts, binding->in_place, call.reduced_axes);
  return binding;
}

std::size_t EagerKernel::scratch_bytes(std::span<const ArrayLayout> layouts, const Shape& space, std::uint32_t reduced_axes) {
  BoundKernel bound(kernel_);
  bound.bind(space, layouts, false, reduced_axes);
  return bound.scratch_bytes();
}

void EagerKernel::keep(std::unique_ptr<Binding> binding) {
  std::unique_ptr<Binding> oldest;  // freed when the lock is gone
  const std::lock_guard lock(mutex_);
  if (idle_.size() == kBindings) {
    oldest = std::move(idle_.front());
    idle_.erase(idle_.begin());
  }
  idle_.push_back(std::move(binding));
}

void EagerKernel::run(std::span<const EagerInput> inputs, std::span<const Array> outs, const Shape& space, std::uint32_t reduced_axes) {
  if (outs[0].size() == 0) return;
  const Call call{inputs, outs, space, reduced_axes};
  std::unique_ptr<Binding> binding = take(call);
  if (!binding) binding = bind(call);
  int parameter = 0;
  for (const EagerInput& input : inputs) {
    if (input.array)
      binding->bound.set_pointer(parameter++, input.array->data());
    else
      binding->bound.set_value(parameter++, bits_of(input.number));
  }
  for (const Array& out : outs) binding->bound.set_pointer(parameter++, out.data());
  binding->bound.launch(nullptr);
  keep(std::move(binding));
}

}  // namespace damo
