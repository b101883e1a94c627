// What products and functions of matrices should give, of matrices whose condition is known (matrix_reference.hpp).
#include "matrices_ops.hpp"

#include <algorithm>
#include <cmath>

#include "matrix_reference.hpp"
#include "op_family.hpp"

namespace damo::testing {
namespace {

int results_of_matrices(const std::string& name) { return name == "lstsq" ? 4 : name == "lu" ? 2 : 1; }

std::optional<NodeSpec> draw_matrices(Draw& draw) {
  static const char* kNames[] = {"kron", "kron", "matrix_power", "expm", "det", "trace", "pinv", "lstsq", "lu"};
  const std::string name = kNames[draw.pick(std::size(kNames))];
  const std::optional<int> x = draw.find([&](const ValueType& type) {
    const std::size_t rank = type.dims.size();
    if (name == "kron") return rank <= 3 && draw.size(type.dims) <= 300;
    return rank >= 2 && (type.dtype == float32 || type.dtype == float64) && draw.extent(type.dims[rank - 2]) <= 12 && draw.size(type.dims) <= 1500;
  });
  if (!x) return {};
  NodeSpec node{.kind = NodeSpec::Kind::kFamily, .family = "matrices", .name = name, .operands = {*x}, .pattern = {draw.number(-2, 4)}};
  node.outputs = results_of_matrices(name);
  draw.bounds = {24};
  if (name == "kron") {
    node.operands.push_back(*draw.find([&](const ValueType& type) { return type.dims.size() <= 3; }));
    draw.result_size = draw.size(*x) * draw.size(node.operands[1]);
    draw.bounds = {draw.result_size, draw.result_size, draw.result_size};
  }
  return node;
}

std::vector<ValueType> matrices_types(const NodeSpec& node, const std::vector<ValueType>& in, const NewSymbols& symbols) {
  const ValueType& x = in.at(0);
  demand(node.outputs == results_of_matrices(node.name));
  if (node.name == "kron") {
    ValueType result{promote(x.dtype, in.at(1).dtype), {}};
    demand(x.dims.size() <= 3 && in[1].dims.size() <= 3);
    for (const ValueType& value : in) {
      for (int symbol : value.dims) demand(symbol < kSizedSymbols || symbol >= kFreshSymbols);  // of which there may be none
    }
    for (std::size_t i = 0; i < std::max(x.dims.size(), in[1].dims.size()); ++i) result.dims.push_back(symbols.fresh(static_cast<int>(i)));
    return {result};
  }
  const std::size_t rank = x.dims.size();
  demand(rank >= 2 && (x.dtype == float32 || x.dtype == float64));
  const Dims batch(x.dims.begin(), x.dims.end() - 2);
  const auto of = [&](std::initializer_list<int> last) {
    Dims dims = batch;
    dims.insert(dims.end(), last.begin(), last.end());
    return ValueType{x.dtype, dims};
  };
  const int rows = x.dims[rank - 2], columns = x.dims[rank - 1];
  if (node.name == "lstsq") return {of({rows, columns}), of({columns}), {int64, batch}, of({rows})};
  if (node.name == "lu") return {of({rows, rows}), of({})};
  if (node.name == "det" || node.name == "trace") return {of({})};
  return {of({rows, node.name == "pinv" ? symbols.fresh() : rows})};
}

Tensor kron_of(const Tensor& given, const Tensor& other) {
  const int rank = std::max(given.shape.rank(), other.shape.rank());
  const auto raised = [&](const Tensor& x) {
    Tensor result{x.dtype, Shape::filled(rank - x.shape.rank(), 1), x.elements};
    for (std::int64_t extent : x.shape) result.shape.push_back(extent);
    return result;
  };
  const Tensor x = raised(given), y = raised(other);
  Shape shape;
  for (int axis = 0; axis < rank; ++axis) shape.push_back(x.shape[axis] * y.shape[axis]);
  const auto part = [&](const Tensor& of, bool quotient) {
    return gathered(of, shape, [&](Coordinates at) {
      for (int axis = 0; axis < rank; ++axis) {
        std::int64_t& place = at[static_cast<std::size_t>(axis)];
        place = quotient ? place / y.shape[axis] : place % y.shape[axis];
      }
      return at;
    });
  };
  return apply_row("mul", {part(x, true), part(y, false)});
}

/// 1 + a + a^2 / 2 + ... of a 2^-k, squared k times.
Matrix exponential_of(Matrix a) {
  Wide size = 0;
  int squarings = 0;
  for (Wide value : a.values) size = std::max(size, std::fabs(value));
  for (size *= static_cast<Wide>(a.rows); size > 0.25L; size /= 2) ++squarings;
  for (Wide& value : a.values) value = std::ldexp(value, -squarings);
  Matrix sum = identity_matrix(a.rows), term = sum;
  for (int i = 1; i < 20; ++i) {
    term = product_of(term, a);
    for (std::size_t k = 0; k < term.values.size(); ++k) term.values[k] /= i, sum.values[k] += term.values[k];
  }
  for (int i = 0; i < squarings; ++i) sum = product_of(sum, sum);
  return sum;
}

struct Expectation {
  std::vector<Wide> values;
  Wide bound;
};

/// Of one matrix, for each result.
std::vector<Expectation> expectations_of(const NodeSpec& node, const Conditioned& c, Wide unit, Wide greatest) {
  const auto n = static_cast<Wide>(c.s.rows);
  const auto solved_bound = [&](Wide size) { return n * c.trace * (c.change / c.trace * (size + 1) + c.error) + n * c.change / 4; };
  const std::string& name = node.name;
  if (name == "trace") return {{{c.trace}, n * c.change}};
  const Matrix l = cholesky_of(c.s);
  Wide logarithm = 0;
  for (std::size_t i = 0; i < c.s.rows; ++i) logarithm += 2 * std::log(l.at(i, i));
  if (name == "det") {
    const Wide value = std::exp(logarithm);
    return {{{value}, value < greatest ? value * (std::expm1(n * c.change / 2) + 20 * n * unit) : std::numeric_limits<Wide>::infinity()}};
  }
  if (name == "lu") return {{c.s.values, c.change + 32 * n * unit * c.trace}, {{logarithm}, n * c.change + 50 * n * n * unit * c.trace / 4}};
  if (name == "expm") {
    Matrix a = c.s;
    for (Wide& value : a.values) value /= 4;
    const Wide most = singular_values(a)[0], size = std::exp(most);
    return {{exponential_of(a).values, size < greatest ? size * (std::expm1(c.change / 2) + 100 * n * unit * (most + 1)) : std::numeric_limits<Wide>::infinity()}};
  }
  Matrix inverse = solved_twice(l, identity_matrix(c.s.rows));
  if (name == "matrix_power") {
    const Matrix& base = node.pattern[0] < 0 ? inverse : c.s;
    const Wide base_error = node.pattern[0] < 0 ? solved_bound(0.25L) : c.change, size = node.pattern[0] < 0 ? 0.25L : c.trace;
    const int power = std::abs(node.pattern[0]);
    Matrix result = identity_matrix(c.s.rows);
    for (int i = 0; i < power; ++i) result = product_of(result, base);
    return {{result.values, power == 0 ? 0 : 2 * static_cast<Wide>(power) * std::pow(size + base_error, power - 1) * (base_error + n * n * unit * size)}};
  }
  if (name == "pinv") {
    Matrix both{c.s.rows, 2 * c.s.rows};
    for (std::size_t i = 0; i < both.rows; ++i) {
      for (std::size_t j = 0; j < both.columns; ++j) both.at(i, j) = inverse.at(i, j % both.rows) / 2;
    }
    return {{both.values, solved_bound(0.25L)}};
  }
  // "lstsq": s above s against x above half of it is solved best by three quarters of s^-1 x, which leaves a quarter of x on either side.
  Expectation solution{solved_twice(l, c.x).values, 0}, residuals{std::vector<Wide>(c.x.columns, 0), 0}, values{singular_values(c.s), 2 * c.change + 16 * n * unit * c.trace};
  Wide size = 0;
  for (Wide& value : solution.values) value *= 0.75L, size = std::max(size, std::fabs(value));
  solution.bound = 2 * solved_bound(size);
  const Wide rest_error = c.error + 2 * c.trace * solution.bound + 8 * unit;
  for (std::size_t i = 0; i < c.x.values.size(); ++i) residuals.values[i % c.x.columns] += c.x.values[i] * c.x.values[i] / 8;
  residuals.bound = 2 * n * (2 * rest_error + rest_error * rest_error);
  for (Wide& value : values.values) value *= std::sqrt(2.0L);
  return {solution, residuals, {{n}, 0}, values};
}

std::vector<Tensor> matrices_reference(const NodeSpec& node, const std::vector<Tensor>& in, const std::vector<DType>& dtypes) {
  if (node.name == "kron") return {kron_of(in[0], in[1])};
  const Tensor x = tamed_tensor(in[0]);
  demand_extents(x.shape.size() > 0);
  const std::int64_t rows = x.shape[-2], columns = x.shape[-1];
  std::vector<Shape> shapes;  // of the matrices
  if (node.name == "lstsq") shapes = {{rows, columns}, {columns}, {}, {rows}};
  else if (node.name == "lu") shapes = {{rows, rows}, {}};
  else if (node.name == "det" || node.name == "trace") shapes = {{}};
  else shapes = {{rows, node.name == "pinv" ? 2 * rows : rows}};
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    Shape shape;
    for (int axis = 0; axis < x.shape.rank() - 2; ++axis) shape.push_back(x.shape[axis]);
    for (std::int64_t extent : shapes[i]) shape.push_back(extent);
    results.push_back({dtypes[i], shape, {}});
  }
  const bool wide = x.dtype == float64;
  for (std::int64_t first = 0; first < x.shape.size(); first += rows * columns) {
    const Conditioned c = conditioned(x, static_cast<std::size_t>(first), static_cast<std::size_t>(rows), static_cast<std::size_t>(columns), wide ? 0x1p-53L : 0x1p-24L);
    const std::vector<Expectation> expected = expectations_of(node, c, wide ? 0x1p-53L : 0x1p-24L, wide ? 1e300L : 1e36L);
    for (std::size_t i = 0; i < results.size(); ++i) {
      Wide size = 0, bound = expected[i].bound;
      for (Wide value : expected[i].values) size = std::max(size, std::fabs(value));
      if (!(bound < 0.1L * size + 0.01L)) bound = std::numeric_limits<Wide>::infinity();
      for (Wide value : expected[i].values) results[i].elements.push_back({value, bound});
    }
  }
  return results;
}

}  // namespace

const OpFamily matrices_family{"matrices", draw_matrices, matrices_types, matrices_node<Variable>, matrices_node<Array>, matrices_reference};

}  // namespace damo::testing
