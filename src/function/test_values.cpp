#include <damo/test_values.hpp>

#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <damo/graph.hpp>
#include <damo/shared.hpp>
#include "graph/node_observer.hpp"
#include "runtime/exec/executor.hpp"

namespace damo {

struct TestValues::Data {
  struct Value {
    Variable variable;  // keeps its number from being another one's
    Array array;
  };

  explicit Data(Device on) : device(on), before(node_observer) {
    observer = [this](const Apply& node) { compute(node); };
    node_observer = &observer;
  }
  ~Data() { node_observer = before; }

  /// Empty if there is none.
  Array value_of(const Variable& variable) const {
    if (const auto found = values.find(variable.id()); found != values.end()) return found->second.array;
    if (const ConstantPtr& constant = variable.constant()) {
      return Array::from_bytes(constant->bytes.data(), static_cast<std::size_t>(constant->type.dims.size()), constant->type.dtype, constant->type.dims, device);
    }
    return variable.is_shared() ? Shared(variable).array().to(device) : Array();
  }

  /// The node on inputs of its own, by itself.
  void compute(const Apply& node) {
    std::vector<Array> arrays;
    std::vector<Variable> inputs, operands;
    for (const Variable& read : node.inputs()) {
      Array value = value_of(read);
      if (!value) return;
      operands.push_back(read.is_constant() ? read : input(read.type(), read.name()));
      if (read.is_constant()) continue;
      inputs.push_back(operands.back());
      arrays.push_back(std::move(value));
    }
    std::vector<TensorType> types;
    for (const Variable& output : node.outputs()) types.push_back(output.type());
    const Apply copy(node.op(), std::move(operands), std::move(types));
    copy.set_where(node.where());
    node_observer = nullptr;  // what the op builds to run is no part of the graph
    struct Back {
      Data* data;
      ~Back() { node_observer = &data->observer; }
    } back{this};
    const std::vector<Array> results = Executor(FunctionGraph(inputs, copy.outputs(), true), device, false).call(arrays);
    for (int i = 0; i < node.output_count(); ++i) values.insert_or_assign(node.output(i).id(), Value{node.output(i), results[static_cast<std::size_t>(i)]});
  }

  Device device;
  std::function<void(const Apply&)>* before;
  std::function<void(const Apply&)> observer;
  std::unordered_map<std::size_t, Value> values;
};

TestValues::TestValues(Device device) : data_(std::make_unique<Data>(device)) {}
TestValues::~TestValues() = default;

void TestValues::set(const Variable& variable, const Array& value) {
  if (!variable || !variable.is_input()) throw GraphError("test value: " + (variable ? describe(variable) : "an empty Variable") + " is no input", "computed Variables have theirs by themselves");
  if (!value) throw TypeError("test value: that of " + describe(variable) + " is an empty Array", "check the Array with if (array)");
  const std::string text = "test value: that of " + describe(variable) + " cannot be " + describe(value);
  if (value.dtype() != variable.dtype()) throw TypeError(text, "convert the values");
  if (!variable.type().accepts(value.dtype(), value.shape())) throw ShapeError(text, "reshape it");
  if (value.device() != data_->device) throw DeviceError(text, "copy it there with .to(Device(\"" + data_->device.name() + "\"))");
  data_->values.insert_or_assign(variable.id(), Data::Value{variable, value});
}

Array TestValues::of(const Variable& variable) const {
  if (!variable) throw GraphError("test value: an empty Variable has none", "assign it before it is used");
  Array value = data_->value_of(variable);
  if (!value) throw GraphError("test value: " + describe(variable) + " has none", "set those of its inputs before it is built");
  return value;
}

bool TestValues::has(const Variable& variable) const {
  if (!variable) return false;
  const Array value = data_->value_of(variable);
  return bool(value);
}

}  // namespace damo
