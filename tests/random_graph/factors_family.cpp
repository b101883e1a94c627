// What factors should give: textbook methods in long double. Bounds are those of backward stable methods: the condition of the matrix, which is known, times what
// rounding and the uncertainty of its elements may change of it.
#include "factors_ops.hpp"

#include <algorithm>
#include <cmath>

#include "matrix_reference.hpp"
#include "op_family.hpp"

namespace damo::testing {
namespace {

constexpr std::int64_t kMostRows = 12;

std::optional<NodeSpec> draw_factor(Draw& draw) {
  static const char* kFactors[] = {"cholesky", "solve", "cholesky_solve", "solve_triangular", "inv", "slogdet", "qr", "svd", "eigh"};
  const std::optional<int> x = draw.find([&](const ValueType& type) {
    const std::size_t rank = type.dims.size();
    return rank >= 2 && (type.dtype == float32 || type.dtype == float64) && draw.extent(type.dims[rank - 2]) <= kMostRows && draw.size(type.dims) <= 1500;
  });
  if (!x) return {};
  return NodeSpec{.kind = NodeSpec::Kind::kFamily, .family = "factors", .name = kFactors[draw.pick(std::size(kFactors))], .operands = {*x}, .pattern = {0}};
}

std::vector<ValueType> factor_types(const NodeSpec& node, const std::vector<ValueType>& in, const NewSymbols&) {
  ValueType result = in.at(0);
  const std::size_t rank = result.dims.size();
  demand(rank >= 2 && (result.dtype == float32 || result.dtype == float64));
  if (node.name.find("solve") != std::string::npos) return {result};
  result.dims.back() = result.dims[rank - 2];
  if (node.name == "slogdet" || node.name == "svd" || node.name == "eigh") result.dims.pop_back();
  if (node.name == "slogdet") result.dims.pop_back();
  return {result};
}

/// |R| of QR, by Gram and Schmidt.
Matrix triangle_of(Matrix a) {
  Matrix r{a.columns, a.columns};
  for (std::size_t j = 0; j < a.columns; ++j) {
    for (std::size_t k = 0; k < j; ++k) {
      Wide part = 0;
      for (std::size_t i = 0; i < a.rows; ++i) part += a.at(i, k) * a.at(i, j);
      for (std::size_t i = 0; i < a.rows; ++i) a.at(i, j) -= part * a.at(i, k);
      r.at(k, j) = std::fabs(part);
    }
    Wide size = 0;
    for (std::size_t i = 0; i < a.rows; ++i) size += a.at(i, j) * a.at(i, j);
    r.at(j, j) = std::sqrt(size);
    for (std::size_t i = 0; i < a.rows; ++i) a.at(i, j) /= r.at(j, j);
  }
  return r;
}

std::vector<Wide> factor_of(const std::string& name, const Matrix& s, const Matrix& x) {
  if (name == "svd") return singular_values(s);
  if (name == "qr") return triangle_of(s).values;
  if (name == "solve_triangular") return solved(s, x, false).values;
  if (name == "eigh") {
    std::vector<Wide> values = singular_values(s);  // of a symmetric matrix without negative eigenvalues they are these
    std::reverse(values.begin(), values.end());
    return values;
  }
  const Matrix l = cholesky_of(s);
  if (name == "cholesky") return l.values;
  if (name == "slogdet") {
    Wide sum = 0;
    for (std::size_t i = 0; i < l.rows; ++i) sum += 2 * std::log(l.at(i, i));
    return {sum};
  }
  return solved_twice(l, name == "inv" ? identity_matrix(s.rows) : x).values;
}

std::vector<Tensor> factor_reference(const NodeSpec& node, const std::vector<Tensor>& in, const std::vector<DType>& dtypes) {
  const Tensor x = tamed_tensor(in[0]);
  demand_extents(x.shape.size() > 0);
  const auto rows = static_cast<std::size_t>(x.shape[-2]), columns = static_cast<std::size_t>(x.shape[-1]);
  Shape shape = x.shape;
  if (node.name.find("solve") == std::string::npos) {
    shape = {};
    const int missing = node.name == "slogdet" ? 2 : node.name == "svd" || node.name == "eigh" ? 1 : 0;
    for (int axis = 0; axis < x.shape.rank() - missing; ++axis) shape.push_back(axis == x.shape.rank() - 1 ? x.shape[-2] : x.shape[axis]);
  }
  Tensor result{dtypes[0], shape, {}};
  const Wide unit = dtypes[0] == float64 ? 0x1p-53L : 0x1p-24L;
  for (std::size_t first = 0; first < x.elements.size(); first += rows * columns) {
    const auto [values, s, error, trace, change] = conditioned(x, first, rows, columns, unit);
    const auto n = static_cast<Wide>(rows);
    Wide size = 0;
    const std::vector<Wide> factor = factor_of(node.name, s, values);
    for (Wide value : factor) size = std::max(size, std::fabs(value));
    // A triangle alone is not as well conditioned as the matrix that it is part of: its diagonal is at least 4, the rest up to the trace.
    const Wide condition = node.name == "solve_triangular" ? std::pow(1 + trace / 4, n) : trace / 4;
    const bool is_spectrum = node.name == "svd" || node.name == "eigh";
    Wide bound = is_spectrum ? change : 4 * n * condition * (change / trace * (size + 1) + error);
    if (!is_spectrum) bound += n * change / 4;
    if (!(bound < 0.1L * size + 0.01L)) bound = std::numeric_limits<Wide>::infinity();
    for (Wide value : factor) result.elements.push_back({value, bound});
  }
  return {result};
}

}  // namespace

const OpFamily factors_family{"factors", draw_factor, factor_types, factors_node<Variable>, factors_node<Array>, factor_reference};

}  // namespace damo::testing
