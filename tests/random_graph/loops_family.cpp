#include "loops_ops.hpp"

#include <algorithm>
#include <cmath>

#include "op_family.hpp"

namespace damo::testing {
namespace {

constexpr const char* kLoops[] = {"scan", "scan", "scan_two", "scan_taps", "scan_last", "scan_products", "scan_steps", "scan_checkpoints", "map", "reduce", "while", "ifelse", "ifelse_rows"};

bool has_products(const std::string& name) { return name == "scan_products" || name == "scan_steps"; }

int outputs_of(const std::string& name) { return name == "scan_two" || name == "scan_products" || name == "while" ? 2 : 1; }

std::optional<NodeSpec> draw_loop(Draw& draw) {
  const std::string name = kLoops[draw.pick(std::size(kLoops))];
  const std::optional<int> x = draw.find([&](const ValueType& type) {
    if (has_products(name) && type.dims.size() != 2 && type.dims.size() != 3) return false;
    return !type.dims.empty() && (type.dtype == float32 || type.dtype == float64) && draw.extent(type.dims[0]) <= 40;
  });
  if (!x) return {};
  NodeSpec node{.kind = NodeSpec::Kind::kFamily, .family = "loops", .name = name, .operands = {*x, draw.twin(*x)}, .pattern = {draw.number(0, 1), draw.number(0, 2)}};
  node.outputs = outputs_of(name);
  if (has_products(name)) draw.result_size = 3 * draw.size(*x) * draw.extent(draw.type(*x).dims.back());
  draw.bounds = {std::max<std::int64_t>(draw.extent(draw.type(*x).dims[0]), 3)};
  if (name == "scan_checkpoints") draw.result_size = 5 * draw.size(*x);
  return node;
}

std::vector<ValueType> loop_types(const NodeSpec& node, const std::vector<ValueType>& in, const NewSymbols& symbols) {
  ValueType x = in.at(0);
  demand(!x.dims.empty() && (x.dtype == float32 || x.dtype == float64) && in.at(1).dtype == x.dtype && in[1].dims == x.dims);
  demand(node.outputs == outputs_of(node.name));
  if (has_products(node.name)) demand(x.dims.size() == 2 || x.dims.size() == 3);
  if (node.name == "scan_last" || node.name == "reduce") x.dims.erase(x.dims.begin());
  if (node.name == "scan_taps" || node.name == "scan_steps") x.dims[0] = symbols.fresh();
  if (node.name == "ifelse_rows") x.dims[0] = symbols.sized();
  if (node.name == "scan_checkpoints") demand(x.dims.size() < 6), x.dims.insert(x.dims.begin(), symbols.fresh());
  return std::vector<ValueType>(static_cast<std::size_t>(node.outputs), x);
}

/// Arithmetic on tensors, as rows do it.
struct Value {
  Tensor tensor;
  Value row(const char* name, const Value& other) const { return {apply_row(*find_elementwise(name), {tensor, other.tensor})}; }
  Value number(double value) const { return {{tensor.dtype, {}, {{static_cast<Wide>(value), 0}}}}; }
  Value operator+(const Value& other) const { return row("add", other); }
  Value operator-(const Value& other) const { return row("sub", other); }
  Value operator*(const Value& other) const { return row("mul", other); }
  Value operator*(double value) const { return row("mul", number(value)); }
  Value operator+(double value) const { return row("add", number(value)); }
};

Value row_of(const Tensor& x, std::int64_t i) {
  Shape shape;
  for (int axis = 1; axis < x.shape.rank(); ++axis) shape.push_back(x.shape[axis]);
  const std::int64_t size = shape.size();
  return {{x.dtype, shape, {x.elements.begin() + i * size, x.elements.begin() + (i + 1) * size}}};
}

Tensor stacked(const std::vector<Value>& rows) {
  Tensor result{rows[0].tensor.dtype, {static_cast<std::int64_t>(rows.size())}, {}};
  for (std::int64_t extent : rows[0].tensor.shape) result.shape.push_back(extent);
  for (const Value& row : rows) result.elements.insert(result.elements.end(), row.tensor.elements.begin(), row.tensor.elements.end());
  return result;
}

Tensor unknown_like(Tensor x) {
  for (Element& element : x.elements) element = {0, std::numeric_limits<Wide>::infinity()};
  return x;
}

std::vector<Tensor> loop_reference(const NodeSpec& node, const std::vector<Tensor>& in, const std::vector<DType>&) {
  const Tensor x = tamed_tensor(in[0]), y = tamed_tensor(in[1]);
  const std::int64_t steps = x.shape[0];
  demand_extents(x.shape.size() > 0);
  const auto bent = [&](const Value& value) {
    if (node.pattern[1] == 0) return Value{apply_row(*find_elementwise("tanh"), {value.tensor})};
    return node.pattern[1] == 1 ? value * 0.5 : value.row("maximum", value.number(-1)) * 0.25;
  };
  std::vector<Value> rows, others;
  const auto place = [&](std::int64_t step) { return node.pattern[0] ? steps - 1 - step : step; };
  if (node.name == "ifelse_rows") {
    const Element mean = reduce_tensor("mean", x, all_axes(x), false, x.dtype).elements[0];
    demand_extents(std::fabs(mean.value) > mean.error);  // how many rows nobody knows else
    if (mean.value <= 0) return {(Value{y} * 2).tensor};
    for (std::int64_t i = 0; i < steps; i += 2) rows.push_back(bent(row_of(x, i)));
    return {stacked(rows)};
  }
  if (node.name == "ifelse") {
    const Element mean = reduce_tensor("mean", x, all_axes(x), false, x.dtype).elements[0];
    const Value a{x}, b{y};
    if (!(std::fabs(mean.value) > mean.error)) return {unknown_like(x)};
    return {(mean.value > 0 ? bent(a) + b : b - a * 3).tensor};
  }
  if (node.name == "while") {
    Value a{x}, b{y};
    for (;;) {
      const Value size{apply_row(*find_elementwise("abs"), {a.tensor})};
      const Element most = reduce_tensor("max", size.tensor, all_axes(x), false, x.dtype).elements[0];
      if (!(std::fabs(most.value - 100) > most.error)) return {unknown_like(x), unknown_like(x)};
      if (most.value >= 100) return {a.tensor, b.tensor};
      a = size * 2 + 1, b = bent(b);
    }
  }
  if (has_products(node.name)) {
    Value weights = row_of(y, 0), state = weights;
    if (weights.tensor.shape.rank() == 2) weights = row_of(weights.tensor, 0);
    weights = Value{shuffled(weights.tensor, {0, kNewAxis})} * Value{shuffled(weights.tensor, {kNewAxis, 0})} * 0.0625;
    const auto product = [&](const Value& value) { return Value{dot_of(value.tensor, weights.tensor, x.dtype)}; };
    if (node.name == "scan_steps") return {stacked({Value{apply_row(*find_elementwise("tanh"), {product(row_of(x, place(0))).tensor})} + bent(row_of(y, 0))})};
    for (std::int64_t step = 0; step < steps; ++step) {
      const Value row = row_of(x, place(step));
      state = Value{apply_row(*find_elementwise("tanh"), {product(state).tensor})} + product(row);
      rows.push_back(state), others.push_back(bent(product(state)) - row);
    }
    return {stacked(rows), stacked(others)};
  }
  if (node.name == "map") {
    for (std::int64_t i = 0; i < steps; ++i) rows.push_back(bent(row_of(x, i) * 2 + row_of(y, i)) - row_of(x, 0));
    return {stacked(rows)};
  }
  if (node.name == "scan_checkpoints") {  // behind the second step, the fourth and the last
    Value kept{y};
    for (const Value& row : {Value{x}, Value{y}, Value{x} * 0.5, Value{y}, Value{x}}) rows.push_back(kept = bent(kept) + row);
    return {stacked({rows[1], rows[3], rows[4]})};
  }
  Value state = row_of(node.name == "scan_two" ? x : y, 0), older = row_of(y, 0);
  if (node.name == "scan_taps") {
    demand_extents(steps > 2);
    state = row_of(x, 0);
    for (std::int64_t step = 1; step < steps - 1; ++step) {
      const Value next = bent(state) - older * 0.25 + row_of(x, place(step - 1)) * row_of(x, place(step + 1));
      older = state, state = next;
      rows.push_back(state);
    }
    return {stacked(rows)};
  }
  for (std::int64_t step = 0; step < steps; ++step) {
    const Value row = row_of(x, node.name == "reduce" ? step : place(step));
    if (node.name == "scan_two") others.push_back(state * row_of(y, place(step)) + row_of(y, 0));
    if (node.name == "scan") state = bent(state) + row;
    else if (node.name == "scan_last") state = bent(state) * row + 1;
    else state = bent(state) - row;
    rows.push_back(state);
  }
  if (node.name == "reduce" || node.name == "scan_last") return {state.tensor};
  if (node.name == "scan") return {stacked(rows)};
  return {stacked(rows), stacked(others)};
}

}  // namespace

const OpFamily loops_family{"loops", draw_loop, loop_types, loops_node<Variable>, loops_node<Array>, loop_reference};

}  // namespace damo::testing
