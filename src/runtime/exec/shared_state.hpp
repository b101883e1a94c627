// SharedState: what a shared variable holds, and which call updates it. SharedCall: one call's use of all its shared variables.
//
// One mutex guards all states, and is held only while handles change hands: a call takes the values of all its
// variables in one step and gives their new ones back in one, so no call sees one variable before an update and another
// after it, and no order of locks can be wrong. A call that updates is its variables' writer from its beginning to its
// end; others that want to write one wait. For the time in which the writer writes a value in place (take() until publish()) there is
// no value that anybody could begin with, and who wants it waits.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <damo/array.hpp>
#include <damo/shared.hpp>
#include <damo/type.hpp>
#include <damo/variable.hpp>

namespace damo {

class SharedState final : public SharedStorage {
 public:
  /// value: in C order, nobody else's.
  SharedState(TensorType type, std::string name, Array value) : type_(std::move(type)), name_(std::move(name)), device_(value.device()), value_(std::move(value)) {}

  const TensorType& type() const { return type_; }
  Device device() const { return device_; }
  /// "shared variable w float32 (3,)"
  std::string label() const;
  /// A share of the present value: to be read, at once.
  Array value();

 private:
  friend class SharedCall;
  void require_value() const;
  [[noreturn]] void refuse_own_call(const char* what) const;

  const TensorType type_;
  const std::string name_;
  const Device device_;
  Array value_;
  std::thread::id writer_;    // of the call that updates it; none: nobody does
  bool is_taken_ = false;     // written in place: value_ is empty
  bool is_broken_ = false;    // what wrote it in place failed
};

class SharedCall {
 public:
  struct Use {
    SharedState* state;
    bool is_updated;
  };
  /// Waits until it may begin, then makes this call the writer of what it updates. values: where a share of each variable's goes.
  SharedCall(std::span<const Use> uses, std::span<Array* const> values);
  SharedCall(const SharedCall&) = delete;
  SharedCall& operator=(const SharedCall&) = delete;
  /// Unless it has published: the variables keep their values, but for those that were taken.
  ~SharedCall();

  /// Whether the value may be written where it lies: value is the call's own share, and there is no other.
  bool take(SharedState& state, const Array& value);
  struct NewValue {
    SharedState* state;
    Array* value;  ///< in C order, nobody else's; gets the old one
  };
  /// Gives all updated variables their new values and ends the call's use of them.
  void publish(std::span<const NewValue> values);
  /// The same without a call, once nobody updates any of them: also variables without a value have one then.
  static void replace(std::span<const NewValue> values);

 private:
  std::span<const Use> uses_;  // empty when it is over
};

/// Shares of what the variables hold at one moment, in their order: to be read. Calls that update them meanwhile write elsewhere.
std::vector<Array> values_of(std::span<const Shared> variables);
/// Gives all of them new values at one moment. values: of their types, on their devices, in C order, nobody else's; they get the old ones.
void replace_values(std::span<const Shared> variables, std::span<Array> values);

}  // namespace damo
