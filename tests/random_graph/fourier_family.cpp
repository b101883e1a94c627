// Sums as the definition has them, in long double.
#include "fourier_ops.hpp"

#include <cmath>

#include "op_family.hpp"

namespace damo::testing {
namespace {

std::optional<NodeSpec> draw_fourier(Draw& draw) {
  static const char* kNames[] = {"fft", "ifft", "rfft", "irfft"};
  const std::optional<int> x = draw.find([&](const ValueType& type) { return !type.dims.empty() && type.dims.size() < 5 && (type.dtype == float32 || type.dtype == float64); });
  if (!x) return {};
  NodeSpec node{.kind = NodeSpec::Kind::kFamily, .family = "fourier", .name = kNames[draw.pick(std::size(kNames))], .operands = {*x}, .pattern = {draw.number(0, draw.rank(*x) - 1)}};
  if (node.name != "rfft") node.operands.push_back(draw.twin(*x));
  const std::int64_t extent = draw.extent(draw.type(*x).dims[static_cast<std::size_t>(node.pattern[0])]);
  draw.bounds = {node.name == "irfft" ? 2 * extent : extent / 2 + 1};
  draw.result_size = 2 * draw.size(*x);
  return node;
}

std::vector<ValueType> fourier_types(const NodeSpec& node, const std::vector<ValueType>& in, const NewSymbols& symbols) {
  ValueType result = in.at(0);
  const std::size_t axis = static_cast<std::size_t>(node.pattern.at(0));
  demand(axis < result.dims.size() && result.dims.size() < 5 && (result.dtype == float32 || result.dtype == float64));
  if (node.name != "rfft") demand(in.at(1).dtype == result.dtype && in[1].dims == result.dims);
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

std::vector<Tensor> fourier_reference(const NodeSpec& node, const std::vector<Tensor>& in, const std::vector<DType>&) {
  const Tensor x = tamed_tensor(in[0]), y = node.name == "rfft" ? Tensor{} : tamed_tensor(in[1]);
  const int axis = node.pattern[0];
  const bool back = node.name == "ifft" || node.name == "irfft";
  const std::int64_t extent = x.shape[axis], inner = inner_size(x.shape, axis);
  demand_extents(x.shape.size() > 0 && (node.name != "irfft" || extent > 1));
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
