// Sums as the definition has them, in long double.
#include "fourier_ops.hpp"

#include <cmath>
#include <complex>

#include "op_family.hpp"

namespace damo::testing {
namespace {

std::optional<NodeSpec> draw_fourier(Draw& draw) {
  static const char* kNames[] = {"fft", "ifft", "rfft", "irfft", "fftn", "ifftn", "rfftn", "irfftn"};
  const std::optional<int> x = draw.find([&](const ValueType& type) { return !type.dims.empty() && type.dims.size() < 5 && (type.dtype == float32 || type.dtype == float64); });
  if (!x) return {};
  NodeSpec node{.kind = NodeSpec::Kind::kFamily, .family = "fourier", .name = kNames[draw.pick(std::size(kNames))], .operands = {*x}, .pattern = {draw.number(0, draw.rank(*x) - 1)}};
  if (node.name.ends_with("n")) node.pattern[0] = draw.rank(*x) - 1;
  if (!node.name.starts_with("rfft")) node.operands.push_back(draw.twin(*x));
  const std::int64_t extent = draw.extent(draw.type(*x).dims[static_cast<std::size_t>(node.pattern[0])]);
  draw.bounds = {node.name.starts_with("ir") ? 2 * extent : extent / 2 + 1};
  draw.result_size = 2 * draw.size(*x);
  return node;
}

std::vector<ValueType> fourier_types(const NodeSpec& node, const std::vector<ValueType>& in, const NewSymbols& symbols) {
  ValueType result = in.at(0);
  const std::size_t axis = static_cast<std::size_t>(node.pattern.at(0));
  demand(axis < result.dims.size() && result.dims.size() < 5 && (result.dtype == float32 || result.dtype == float64));
  if (!node.name.starts_with("rfft")) demand(in.at(1).dtype == result.dtype && in[1].dims == result.dims);
  if (node.name.ends_with("n")) {
    demand(axis + 1 == result.dims.size());
    for (int symbol : result.dims) demand(symbol < kSizedSymbols || symbol >= kFreshSymbols);  // of which there may be none
  }
  if (node.name.starts_with("r") || node.name.starts_with("ir")) result.dims[axis] = symbols.fresh();
  return {result};
}

struct Pair {
  Wide real = 0, imaginary = 0;
};

/// sum of x[j] e^(turn j), real and imaginary part added.
Wide transformed(const std::vector<Pair>& line, std::int64_t k, bool inverse) {
  const auto n = static_cast<std::int64_t>(line.size());
  Wide sum = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    const Wide angle = (inverse ? 2 : -2) * 3.14159265358979323846264338327950288L * static_cast<Wide>(j * k % n) / static_cast<Wide>(n), c = std::cos(angle), s = std::sin(angle);
    const Pair& x = line[static_cast<std::size_t>(j)];
    sum += x.real * c - x.imaginary * s + x.real * s + x.imaginary * c;
  }
  return inverse ? sum / static_cast<Wide>(n) : sum;
}

/// The whole spectrum of real numbers, of whose half the first and an even extent's last have no imaginary part.
std::vector<Pair> mirrored(std::vector<Pair> half) {
  half.front().imaginary = half.back().imaginary = 0;
  for (std::size_t i = half.size() - 2; i > 0; --i) half.push_back({half[i].real, -half[i].imaginary});
  return half;
}

/// Each line along the axis, by the definition.
void transform_along(std::vector<std::complex<Wide>>& values, const Shape& shape, int axis, bool inverse) {
  const std::int64_t extent = shape[axis], inner = inner_size(shape, axis);
  std::vector<std::complex<Wide>> line(static_cast<std::size_t>(extent)), turns;
  for (std::int64_t i = 0; i < extent; ++i) turns.push_back(std::polar<Wide>(1, (inverse ? 2 : -2) * 3.14159265358979323846264338327950288L * static_cast<Wide>(i) / static_cast<Wide>(extent)));
  for (std::int64_t i = 0; i < shape.size() / extent; ++i) {
    const auto at = [&](std::int64_t k) -> std::complex<Wide>& { return values[static_cast<std::size_t>((i / inner * extent + k) * inner + i % inner)]; };
    for (std::int64_t k = 0; k < extent; ++k) line[static_cast<std::size_t>(k)] = at(k);
    for (std::int64_t k = 0; k < extent; ++k) {
      std::complex<Wide> sum = 0;
      for (std::int64_t j = 0; j < extent; ++j) sum += line[static_cast<std::size_t>(j)] * turns[static_cast<std::size_t>(j * k % extent)];
      at(k) = inverse ? sum / static_cast<Wide>(extent) : sum;
    }
  }
}

/// Along all axes.
Tensor transformed_whole(const std::string& name, const Tensor& x, const Tensor& y) {
  const bool real = name == "rfftn", back = name == "ifftn" || name == "irfftn";
  const int last = x.shape.rank() - 1;
  Shape shape = x.shape;
  std::vector<std::complex<Wide>> values;
  Wide error = 0, square = 0;
  for (std::size_t i = 0; i < x.elements.size(); ++i) {
    values.emplace_back(x.elements[i].value, real ? 0 : y.elements[i].value);
    error += 4 * (x.elements[i].error + (real ? 0 : y.elements[i].error)), square += 2 * std::norm(values.back());
  }
  for (int axis = 0; axis < last; ++axis) transform_along(values, shape, axis, back);
  const std::int64_t extent = shape[last], count = name == "irfftn" ? 2 * (extent - 1) : real ? extent / 2 + 1 : extent;
  if (name == "irfftn") {  // lines of half a spectrum become whole ones
    std::vector<std::complex<Wide>> whole;
    for (std::size_t first = 0; first < values.size(); first += static_cast<std::size_t>(extent)) {
      const auto half = values.begin() + static_cast<std::ptrdiff_t>(first);
      for (std::int64_t k = 0; k < count; ++k) whole.push_back(k == 0 || k == extent - 1 ? half[k].real() : k < extent ? half[k] : std::conj(half[count - k]));
    }
    values = std::move(whole), shape[last] = count;
  }
  transform_along(values, shape, last, back);
  const auto n = static_cast<Wide>(values.size());
  error = error * 1.5L + (x.dtype == float32 ? 0x1p-22L : 0x1p-51L) * (std::log2(n) + 2) * static_cast<Wide>(x.shape.rank()) * std::sqrt(n * square);
  Tensor result{x.dtype, shape, {}};
  result.shape[last] = count;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (static_cast<std::int64_t>(i) % shape[last] < count) result.elements.push_back({values[i].real() + values[i].imag(), back ? error / n * static_cast<Wide>(name == "irfftn" ? 2 : 1) : error});
  }
  return result;
}

std::vector<Tensor> fourier_reference(const NodeSpec& node, const std::vector<Tensor>& in, const std::vector<DType>&) {
  const Tensor x = tamed_tensor(in[0]), y = in.size() < 2 ? Tensor{} : tamed_tensor(in[1]);
  const int axis = node.pattern[0];
  const bool back = node.name == "ifft" || node.name == "irfft";
  const std::int64_t extent = x.shape[axis], inner = inner_size(x.shape, axis);
  demand_extents(x.shape.size() > 0 && (!node.name.starts_with("irfft") || extent > 1));
  if (node.name.ends_with("n")) return {transformed_whole(node.name, x, y)};
  Tensor result{x.dtype, x.shape, {}};
  if (node.name == "rfft") result.shape[axis] = extent / 2 + 1;
  if (node.name == "irfft") result.shape[axis] = 2 * (extent - 1);
  const std::int64_t count = result.shape[axis];
  result.elements.resize(static_cast<std::size_t>(result.shape.size()));
  for (std::int64_t outer = 0; outer < x.shape.size() / (extent * inner); ++outer) {
    for (std::int64_t j = 0; j < inner; ++j) {
      std::vector<Pair> line;
      Wide error = 0, square = 0;
      for (std::int64_t i = 0; i < extent; ++i) {
        const auto place = static_cast<std::size_t>((outer * extent + i) * inner + j);
        line.push_back({x.elements[place].value, y.elements.empty() ? 0 : y.elements[place].value});
        error += 2 * (x.elements[place].error + (y.elements.empty() ? 0 : y.elements[place].error));
        square += line.back().real * line.back().real + line.back().imaginary * line.back().imaginary;
      }
      if (node.name == "irfft") line = mirrored(std::move(line)), error *= 2, square *= 2;
      const Wide n = static_cast<Wide>(line.size());
      error = error * 1.5L + (x.dtype == float32 ? 0x1p-22L : 0x1p-51L) * (std::log2(n) + 2) * std::sqrt(n * square);
      for (std::int64_t k = 0; k < count; ++k) {
        Wide value = transformed(line, k, back);
        result.elements[static_cast<std::size_t>((outer * count + k) * inner + j)] = {value, back ? error / n : error};
      }
    }
  }
  return {result};
}

}  // namespace

const OpFamily fourier_family{"fourier", draw_fourier, fourier_types, fourier_node<Variable>, fourier_node<Array>, fourier_reference};

}  // namespace damo::testing
