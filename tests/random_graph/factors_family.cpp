// What factors should give: textbook methods in long double. Bounds are those of backward stable methods: the condition of the matrix, which is known, times what
// rounding and the uncertainty of its elements may change of it.
#include "factors_ops.hpp"

#include <algorithm>
#include <cmath>

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

struct Matrix {
  std::size_t rows, columns;
  std::vector<Wide> values = std::vector<Wide>(rows * columns, 0);
  Wide& at(std::size_t i, std::size_t j) { return values[i * columns + j]; }
  Wide at(std::size_t i, std::size_t j) const { return values[i * columns + j]; }
};

Matrix cholesky_of(const Matrix& s) {
  Matrix l{s.rows, s.rows};
  for (std::size_t j = 0; j < s.rows; ++j) {
    for (std::size_t i = j; i < s.rows; ++i) {
      Wide rest = s.at(i, j);
      for (std::size_t k = 0; k < j; ++k) rest -= l.at(i, k) * l.at(j, k);
      l.at(i, j) = i == j ? std::sqrt(rest) : rest / l.at(j, j);
    }
  }
  return l;
}

/// l y = b, or l^T y = b.
Matrix solved(const Matrix& l, Matrix b, bool transposed) {
  for (std::size_t step = 0; step < l.rows; ++step) {
    const std::size_t i = transposed ? l.rows - 1 - step : step;
    for (std::size_t c = 0; c < b.columns; ++c) {
      for (std::size_t k = transposed ? i + 1 : 0; k < (transposed ? l.rows : i); ++k) b.at(i, c) -= (transposed ? l.at(k, i) : l.at(i, k)) * b.at(k, c);
      b.at(i, c) /= l.at(i, i);
    }
  }
  return b;
}

/// Descending: columns are turned against each other until all are orthogonal (Hestenes).
std::vector<Wide> singular_values(Matrix a) {
  for (int sweep = 0; sweep < 30; ++sweep) {
    for (std::size_t p = 0; p < a.columns; ++p) {
      for (std::size_t q = p + 1; q < a.columns; ++q) {
        Wide pp = 0, qq = 0, pq = 0;
        for (std::size_t i = 0; i < a.rows; ++i) pp += a.at(i, p) * a.at(i, p), qq += a.at(i, q) * a.at(i, q), pq += a.at(i, p) * a.at(i, q);
        if (std::fabs(pq) <= 1e-25L * std::sqrt(pp * qq)) continue;
        const Wide zeta = (qq - pp) / (2 * pq), t = std::copysign(1.0L, zeta) / (std::fabs(zeta) + std::sqrt(1 + zeta * zeta)), c = 1 / std::sqrt(1 + t * t);
        for (std::size_t i = 0; i < a.rows; ++i) {
          const Wide x = a.at(i, p), y = a.at(i, q);
          a.at(i, p) = c * (x - t * y), a.at(i, q) = c * (t * x + y);
        }
      }
    }
  }
  std::vector<Wide> values;
  for (std::size_t j = 0; j < a.columns; ++j) {
    Wide size = 0;
    for (std::size_t i = 0; i < a.rows; ++i) size += a.at(i, j) * a.at(i, j);
    values.push_back(std::sqrt(size));
  }
  std::sort(values.rbegin(), values.rend());
  return values;
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
  Matrix b = x;
  if (name == "inv") {
    b = Matrix{s.rows, s.rows};
    for (std::size_t i = 0; i < s.rows; ++i) b.at(i, i) = 1;
  }
  return solved(l, solved(l, b, false), true).values;
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
    Matrix values{rows, columns}, s{rows, rows};
    Wide error = 0, size = 0, trace = 0;
    for (std::size_t i = 0; i < rows * columns; ++i) values.values[i] = x.elements[first + i].value, error = std::max(error, x.elements[first + i].error);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < rows; ++j) {
        for (std::size_t k = 0; k < columns; ++k) s.at(i, j) += values.at(i, k) * values.at(j, k) / static_cast<Wide>(columns);
        if (i == j) s.at(i, j) += 4, trace += s.at(i, i);
      }
    }
    const auto n = static_cast<Wide>(rows);
    const Wide change = n * (8 * error + error * error) + 2 * (static_cast<Wide>(columns) + 8 * n) * unit * trace;  // of s, in norm
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
