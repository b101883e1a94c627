#include <damo/op.hpp>

#include <algorithm>
#include <bit>
#include <typeindex>
#include <typeinfo>

#include "graph/base/computed_dtype.hpp"
#include "graph/base/counted.hpp"
#include "graph/node_observer.hpp"
#include "graph/user_line.hpp"
#include "graph/op_claims.hpp"

namespace damo {
namespace {

struct PropPrinter {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return to_string(Scalar(value)); }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const std::vector<std::int64_t>& values) const {
    std::string text = "[";
    for (std::size_t i = 0; i < values.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(values[i]);
    return text + "]";
  }
};

/// Numbers by their bits: 0.0 and -0.0 are different parameters, and a NaN is the same as itself.
bool is_same(const Props& a, const Props& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& left, const auto& right) {
    const double *x = std::get_if<double>(&left.second), *y = std::get_if<double>(&right.second);
    if (!x || !y) return left == right;
    return left.first == right.first && std::bit_cast<std::uint64_t>(*x) == std::bit_cast<std::uint64_t>(*y);
  });
}

std::size_t mix(std::size_t hash, std::size_t more) { return hash * 1099511628211u ^ (more + (hash >> 29)); }

}  // namespace

std::string to_string(const Props& props) {
  std::string text;
  for (const auto& [key, value] : props) text += (text.empty() ? "" : ", ") + key + "=" + std::visit(PropPrinter{}, value);
  return text;
}

const Variable& Inputs::at(int i) const {
  if (i < 0 || i >= size()) {
    throw GraphError("input " + std::to_string(i) + " is missing: " + were_given(size()), "call it with more, or ask size() in make_node");
  }
  return variables_[static_cast<std::size_t>(i)];
}

void Inputs::require_count(int n) const {
  if (size() != n) throw GraphError("takes " + counted(n, "input") + ", " + were_given(size()));
}

Shapes Op::infer_shape(const Apply& node, std::span<const Shape>) const {
  std::vector<Shape> shapes;
  for (int i = 0; i < node.output_count(); ++i) {
    shapes.push_back(node.output(i).dims());
    if (!shapes.back().is_known()) return std::nullopt;
  }
  return shapes;
}

Thunk Op::make_thunk(const Apply&, ThunkContext&) const {
  throw GraphError("op " + name() + " cannot run", "override Op::make_thunk");
}

Op::Layout Op::view_layout(const Apply&, std::span<const Layout>) const {
  throw InternalError("op " + name() + " says that it is a view and has no view_layout");
}

Gradients Op::gradient(const Apply& node, std::span<const Variable>) const {
  return Gradients(node.inputs().size(), Gradient::not_defined("op " + name() + " has no gradient"));
}

bool Op::equals(const Op& other) const {
  return this == &other || (typeid(*this) == typeid(other) && is_same(props(), other.props()));
}

std::size_t Op::hash() const {
  std::size_t hash = std::type_index(typeid(*this)).hash_code();
  for (const auto& [key, value] : props()) {
    hash = mix(mix(hash, std::hash<std::string>()(key)), std::hash<std::string>()(std::visit(PropPrinter{}, value)));
  }
  return hash;
}

Apply Op::apply(std::span<const Variable> inputs, SourceLine own_line) const {
  const SourceLine where = call_of_user(own_line);
  try {
    if (!takes_float8()) {
      for (const Variable& input : inputs) require_computed(name(), input.dtype());
    }
    Apply node = [&] {
      const BuiltAt here(where);  // what make_node wraps its inputs in has the line too
      return make_node(Inputs(inputs));
    }();
    node.set_where(where);
    if (has_claims(node.op(), static_cast<std::size_t>(node.output_count()))) {
      std::vector<TensorType> from, to;
      for (const Variable& input : node.inputs()) from.push_back(input.type());
      for (const Variable& output : node.outputs()) to.push_back(output.type());
      check_claims(node.op(), from, to);
    }
    if (node_observer) (*node_observer)(node);
    return node;
  } catch (Error& error) {
    std::vector<std::string> operands;
    for (const Variable& input : inputs) operands.push_back(describe(input));
    add_name(error, name());
    error.add_operands(std::move(operands));
    if (where) error.add_where(name() + " built at " + to_string(where));
    throw;
  }
}

void require_dtype(const Variable& variable, DType dtype) {
  if (variable.dtype() == dtype) return;
  throw TypeError(describe(variable) + " must be " + std::string(name(dtype)),
                  "cast(x, " + std::string(name(dtype)) + ") converts it");
}

void require_rank(const Variable& variable, int rank) {
  if (variable.rank() == rank) return;
  throw ShapeError(describe(variable) + " must have " + std::to_string(rank) + (rank == 1 ? " axis" : " axes") + ", it has " + std::to_string(variable.rank()), variable.rank() < rank ? "expand_dims or reshape gives it more" : "squeeze, flatten or reshape gives it fewer");
}

}  // namespace damo
