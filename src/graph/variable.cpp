#include <damo/variable.hpp>

#include <algorithm>
#include <ostream>
#include <utility>

#include <damo/op.hpp>
#include "graph/apply_data.hpp"
#include "graph/user_line.hpp"

namespace damo {

void ApplyData::release(ApplyData* data) noexcept {
  if (data->shares.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  for (ApplyData* dead = data; dead;) {
    ApplyData* const node = std::exchange(dead, dead->next_dead);
    for (Variable& input : node->inputs) {
      ApplyData* below = std::exchange(input.data_, nullptr);
      if (below && below->shares.fetch_sub(1, std::memory_order_acq_rel) == 1) below->next_dead = std::exchange(dead, below);
    }
    delete node;
  }
}

Variable::Variable(ApplyData* data, int index) : data_(data), index_(index) {
  data_->shares.fetch_add(1, std::memory_order_relaxed);
}

Variable::Variable(const Variable& other) : data_(other.data_), index_(other.index_) {
  if (data_) data_->shares.fetch_add(1, std::memory_order_relaxed);
}

Variable& Variable::operator=(Variable other) noexcept {
  std::swap(data_, other.data_);
  std::swap(index_, other.index_);
  return *this;
}

Variable::~Variable() {
  if (data_) ApplyData::release(data_);
}

const TensorType& Variable::type() const {
  if (!data_) throw GraphError("an empty Variable has no type", "assign it before it is used");
  return *data_->types[static_cast<std::size_t>(index_)];
}

/// Of its place in the list of types: each output of each node has one of its own, wherever the node lies.
std::size_t Variable::id() const { return data_ ? reinterpret_cast<std::size_t>(&data_->types[static_cast<std::size_t>(index_)]) : 0; }

Apply Variable::owner() const {
  if (!has_owner()) throw GraphError("this Variable has no owner: it is an input, a constant or a shared variable", "ask has_owner() first");
  return Apply(*this);
}

bool Variable::has_owner() const { return data_ && data_->op; }
bool Variable::is_input() const { return data_ && !data_->op && !data_->constant && !data_->shared; }

const ConstantPtr& Variable::constant() const {
  static const ConstantPtr none;
  return data_ ? data_->constant : none;
}

const SharedPtr& Variable::shared_storage() const {
  static const SharedPtr none;
  return data_ ? data_->shared : none;
}

const std::string& Variable::name() const {
  static const std::string none;
  return data_ && !data_->names.empty() ? data_->names[static_cast<std::size_t>(index_)] : none;
}

const Variable& Variable::set_name(std::string name) const {
  if (data_->names.empty()) data_->names.resize(data_->types.size());
  data_->names[static_cast<std::size_t>(index_)] = std::move(name);
  return *this;
}

SourceLine Variable::where() const { return data_ ? data_->where : SourceLine{}; }

namespace {
const std::shared_ptr<const TensorType>& type_of(const Variable& variable) { return ApplyData::of(variable)->types[static_cast<std::size_t>(variable.index())]; }
}  // namespace

Apply::Apply(const Op& op, std::vector<Variable> inputs, std::vector<TensorType> outputs) {
  OpPtr shared = op.weak_from_this().lock();
  if (!shared) {
    throw GraphError("op " + op.name() + " is not shared", "make it with make_op<...>() and call that");
  }
  if (outputs.empty()) throw GraphError("op " + op.name() + " has no output: an Apply needs at least one", "let make_node give the types of its outputs");
  for (const Variable& input : inputs) {
    if (!input) throw GraphError("op " + op.name() + " was given an empty Variable", "assign it before it is used");
  }
  auto* data = new ApplyData;
  any_ = Variable(data, 0);  // which gives it up if there is no memory for what follows
  data->op = std::move(shared);
  data->inputs = std::move(inputs);
  data->types.reserve(outputs.size());
  for (TensorType& type : outputs) {
    const auto same = std::find_if(data->inputs.begin(), data->inputs.end(), [&](const Variable& input) { return input.type() == type; });
    data->types.push_back(same != data->inputs.end() ? type_of(*same) : std::make_shared<const TensorType>(std::move(type)));
  }
}

const Op& Apply::op() const { return *any_.data_->op; }
const OpPtr& Apply::op_ptr() const { return any_.data_->op; }
std::span<const Variable> Apply::inputs() const { return any_.data_->inputs; }
int Apply::output_count() const { return static_cast<int>(any_.data_->types.size()); }
SourceLine Apply::where() const { return any_.data_->where; }
void Apply::set_where(SourceLine where) const { any_.data_->where = where; }

Variable Apply::output(int i) const {
  if (i < 0 || i >= output_count()) {
    throw GraphError("op " + op().name() + " has no output " + std::to_string(i) + ": it has " + std::to_string(output_count()), "count them from 0");
  }
  return Variable(any_.data_, i);
}

std::vector<Variable> Apply::outputs() const {
  std::vector<Variable> all;
  for (int i = 0; i < output_count(); ++i) all.push_back(output(i));
  return all;
}

SourceLine Operand::where() const { return line_of_user(where_); }

void Operand::refuse_empty() const {
  ErrorParts parts{"an empty Variable was given to an op", {}, {}, "assign it before it is used"};
  if (where_) parts.where = "at " + to_string(where_);
  throw GraphError(std::move(parts));
}

Promotable Operand::promotable() const {
  if (is_number()) return {number_.dtype(), true};
  return {variable_.dtype(), false};
}

Variable Operand::as(DType dtype) const {
  if (is_number()) return constant(number_.cast(dtype), where_);
  return variable_;
}

Variable input(TensorType type, std::string name, SourceLine where) {
  for (std::int64_t extent : type.dims) {
    if (extent < kUnknown) throw ShapeError("an input's extents are 0 or more, or kUnknown: " + to_string(type.dims));
  }
  Variable made = ApplyData::output(new ApplyData, 0);
  ApplyData* const data = ApplyData::of(made);
  data->types.push_back(std::make_shared<const TensorType>(std::move(type)));
  if (!name.empty()) data->names.push_back(std::move(name));
  data->where = where;
  return made;
}

namespace {
Variable unknown_input(int rank, std::string name, DType dtype, SourceLine where) {
  return input({dtype, Shape::filled(rank, kUnknown)}, std::move(name), where);
}
}  // namespace

Variable scalar(std::string name, DType dtype, SourceLine where) { return unknown_input(0, std::move(name), dtype, where); }
Variable vector(std::string name, DType dtype, SourceLine where) { return unknown_input(1, std::move(name), dtype, where); }
Variable matrix(std::string name, DType dtype, SourceLine where) { return unknown_input(2, std::move(name), dtype, where); }
Variable tensor3(std::string name, DType dtype, SourceLine where) { return unknown_input(3, std::move(name), dtype, where); }
Variable tensor4(std::string name, DType dtype, SourceLine where) { return unknown_input(4, std::move(name), dtype, where); }

Variable constant(ConstantData value, std::string name, SourceLine where) {
  const std::size_t wanted = static_cast<std::size_t>(value.type.dims.size()) * itemsize(value.type.dtype);
  if (!value.type.dims.is_known() || value.bytes.size() != wanted) {
    throw ShapeError("a constant of type " + to_string(value.type) + " does not have " + std::to_string(value.bytes.size()) + " bytes", "give all extents, and the elements' bytes in C order");
  }
  Variable made = ApplyData::output(new ApplyData, 0);
  ApplyData* const data = ApplyData::of(made);
  if (!name.empty()) data->names.push_back(std::move(name));
  data->constant = std::make_shared<const ConstantData>(std::move(value));
  data->types.emplace_back(data->constant, &data->constant->type);
  data->where = where;
  return made;
}

Variable shared_variable(TensorType type, SharedPtr storage, std::string name, SourceLine where) {
  Variable made = input(std::move(type), std::move(name), where);
  ApplyData::of(made)->shared = std::move(storage);
  return made;
}

Variable constant(Scalar value, SourceLine where) {
  ConstantData data{{value.dtype(), {}}, std::vector<std::byte>(itemsize(value.dtype()))};
  value.store(data.bytes.data());
  return constant(std::move(data), {}, where);
}

namespace {

/// Of the op; where that drops axes, as behind a reduction that keeps none, of the one before, which the user wrote.
std::string name_of_owner(const Variable& variable) {
  const Apply node = variable.owner();
  std::string name = node.op().name();
  const bool drops_axes = name == "dimshuffle" && node.input(0).rank() > variable.rank() && node.input(0).name().empty() && node.input(0).has_owner();
  return drops_axes ? node.input(0).owner().op().name() : name;
}

}  // namespace

std::string describe(const Variable& variable) {
  if (!variable) return "(empty)";
  std::string label = variable.name();
  if (label.empty() && variable.has_owner()) label = name_of_owner(variable);
  if (label.empty() && variable.is_constant()) {
    label = variable.constant()->is_scalar() ? to_string(variable.constant()->scalar()) : "constant";
  }
  if (label.empty()) label = variable.is_shared() ? "shared variable" : "input";
  return label + " " + to_string(variable.type());
}

std::ostream& operator<<(std::ostream& out, const Variable& variable) { return out << describe(variable); }

}  // namespace damo
