#include <damo/shared.hpp>

#include <utility>

#include "runtime/exec/shared_state.hpp"
#include "runtime/memory/workspace.hpp"

namespace damo {
namespace {

/// Also within a thunk: it outlives the thunk's workspace.
Array kept(const Array& value) {
  const WorkspaceScope none(nullptr);
  return value.copy();
}

SharedState& state_of(const Variable& variable) { return static_cast<SharedState&>(*variable.shared_storage()); }

}  // namespace

Shared::Shared(const Variable& variable) : Variable(variable) {
  if (!variable.is_shared()) throw GraphError("Shared: " + describe(variable) + " is not a shared variable", "make it by shared(name, array)");
}

Device Shared::device() const { return state_of(*this).device(); }
Array Shared::array() const { return state_of(*this).value().copy(); }

void Shared::set(const Array& value) const {
  SharedState& state = state_of(*this);
  const std::string what = "set: " + state.label() + " cannot be " + describe(value);
  if (!value) throw TypeError(what, "give an Array with elements");
  if (value.dtype() != state.type().dtype) throw TypeError(what, "convert it to " + std::string(damo::name(state.type().dtype)));
  if (!state.type().accepts(value.dtype(), value.shape())) throw ShapeError(what, "reshape it, or declare the extents that change as kUnknown where the variable is made");
  if (value.device() != state.device()) throw DeviceError(what + ", the variable is on " + state.device().name(), "copy it there with .to(Device(\"" + state.device().name() + "\"))");
  Array copy = kept(value);
  const SharedCall::NewValue replaced{&state, &copy};
  SharedCall::replace({&replaced, 1});
}

std::vector<Array> values_of(std::span<const Shared> variables) {
  std::vector<Array> values(variables.size());
  std::vector<SharedCall::Use> uses;
  std::vector<Array*> to;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    uses.push_back({&state_of(variables[i]), false});
    to.push_back(&values[i]);
  }
  SharedCall(uses, to);
  return values;
}

void replace_values(std::span<const Shared> variables, std::span<Array> values) {
  std::vector<SharedCall::NewValue> replaced;
  for (std::size_t i = 0; i < variables.size(); ++i) replaced.push_back({&state_of(variables[i]), &values[i]});
  SharedCall::replace(replaced);
}

Shared shared(std::string name, const Array& value, const Shape& dims, SourceLine where) {
  if (!value) throw TypeError("shared: the value of " + (name.empty() ? "the variable" : name) + " is an empty Array", "give an Array with elements");
  const TensorType type{value.dtype(), dims};
  if (!type.accepts(value.dtype(), value.shape())) throw ShapeError("shared: " + (name.empty() ? "" : name + " ") + to_string(type) + " cannot be " + describe(value), "dims are the array's extents, or kUnknown");
  auto state = std::make_shared<SharedState>(type, name, kept(value));
  return Shared(shared_variable(type, std::move(state), std::move(name), where));
}

Shared shared(std::string name, const Array& value, SourceLine where) { return shared(std::move(name), value, value.shape(), where); }

}  // namespace damo
