#include "runtime/exec/shared_state.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "runtime/backend.hpp"

namespace damo {
namespace {

std::mutex mutex;
std::condition_variable changed;

}  // namespace

std::string SharedState::label() const { return "shared variable " + (name_.empty() ? "" : name_ + " ") + to_string(type_); }

void SharedState::require_value() const {
  if (is_broken_) {
    throw DeviceError(label() + " has no value: the call that wrote it in place failed half way", "give it one with set()");
  }
  if (value_.is_lost()) refuse_lost(device_.backend(), label());
}

void SharedState::refuse_own_call(const char* what) const {
  throw GraphError(label() + " cannot be " + what + " here: an op of a Function that updates it is running in this thread", "do it after the call");
}

Array SharedState::value() {
  Array value;
  const SharedCall::Use use{this, false};
  Array* const to = &value;
  SharedCall({&use, 1}, {&to, 1});
  return value;
}

SharedCall::SharedCall(std::span<const Use> uses, std::span<Array* const> values) {
  if (uses.empty()) return;
  const std::thread::id self = std::this_thread::get_id();
  std::unique_lock lock(mutex);
  for (const auto& [state, is_updated] : uses) {
    if (state->writer_ == self && (is_updated || state->is_taken_)) state->refuse_own_call(is_updated ? "updated" : "read");
  }
  changed.wait(lock, [&] {
    return std::all_of(uses.begin(), uses.end(), [](const Use& use) { return !use.state->is_taken_ && (!use.is_updated || use.state->writer_ == std::thread::id()); });
  });
  for (const Use& use : uses) use.state->require_value();
  for (std::size_t i = 0; i < uses.size(); ++i) {
    *values[i] = uses[i].state->value_;
    if (uses[i].is_updated) uses[i].state->writer_ = self;
  }
  uses_ = uses;
}

SharedCall::~SharedCall() {
  if (uses_.empty()) return;
  {
    const std::lock_guard lock(mutex);
    for (const auto& [state, is_updated] : uses_) {
      if (!is_updated) continue;
      state->writer_ = {};
      state->is_broken_ |= std::exchange(state->is_taken_, false);
    }
  }
  changed.notify_all();
}

bool SharedCall::take(SharedState& state, const Array& value) {
  const std::lock_guard lock(mutex);
  state.value_ = Array();
  if (value.claim()) return state.is_taken_ = true;
  state.value_ = value;
  return false;
}

void SharedCall::publish(std::span<const NewValue> values) {
  if (values.empty()) return;
  {
    const std::lock_guard lock(mutex);
    for (auto& [state, value] : values) {
      if (state->is_taken_) state->value_ = std::move(*value);  // in place: there is no old one
      else swap(state->value_, *value);
      state->writer_ = {};
      state->is_taken_ = false;
    }
  }
  uses_ = {};
  changed.notify_all();
}

void SharedCall::replace(std::span<const NewValue> values) {
  {
    std::unique_lock lock(mutex);
    for (const NewValue& value : values) {
      if (value.state->writer_ == std::this_thread::get_id()) value.state->refuse_own_call("set");
    }
    changed.wait(lock, [&] { return std::all_of(values.begin(), values.end(), [](const NewValue& value) { return value.state->writer_ == std::thread::id(); }); });
    for (const auto& [state, value] : values) {
      swap(state->value_, *value);
      state->is_broken_ = false;
    }
  }
  changed.notify_all();
}  // the caller gives the old values back to their pools, outside the lock

}  // namespace damo
