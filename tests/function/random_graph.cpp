#include "random_graph.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

namespace damo::testing {
namespace {

constexpr double kUnknownError = std::numeric_limits<double>::infinity();
constexpr DType kDTypes[] = {float32, float32, float32, float64, float16, bfloat16, int32, int16, uint8, bool_};

/// Half a unit in the last place, relative.
double unit(DType dtype) {
  switch (dtype) {
    case float64: return 0x1p-52;
    case float32: return 0x1p-23;
    case float16: return 0x1p-10;
    case bfloat16: return 0x1p-7;
    default: return 0;
  }
}
double greatest(DType dtype) { return dtype == float16 ? 6e4 : dtype == float64 ? 1e300 : 1e37; }
double denormal(DType dtype) { return dtype == float16 ? 0x1p-24 : dtype == float64 ? 0 : 0x1p-126; }

/// The value as the dtype holds it: integers wrap, floats gain an error and may overflow into the unknown.
Element held(DType dtype, Element x) {
  if (!std::isfinite(x.error)) return x;
  if (!is_floating(dtype)) return {Scalar(static_cast<std::int64_t>(x.value)).cast(dtype).as_double(), x.error};
  x.error += std::fabs(x.value) * unit(dtype) * 4 + denormal(dtype);
  if (!(std::fabs(x.value) + x.error < greatest(dtype))) x.error = kUnknownError;
  return x;
}

Element truth(bool value) { return {value ? 1.0 : 0.0, 0}; }
Element less(Element a, Element b) {
  if (std::fabs(a.value - b.value) <= a.error + b.error && a.error + b.error > 0) return {0, kUnknownError};
  return truth(a.value < b.value);
}
Element cast_element(DType from, DType to, Element x) {
  if (!std::isfinite(x.error)) return x;
  if (to == bool_) return is_floating(from) && std::fabs(x.value) <= x.error ? Element{0, x.error > 0 ? kUnknownError : 0} : truth(x.value != 0);
  if (is_floating(to) || !is_floating(from)) return x;
  const bool open = std::trunc(x.value - x.error) != std::trunc(x.value + x.error) || std::fabs(x.value) > 100 || (x.value < 0 && !is_signed(to));
  return {std::trunc(x.value), open ? kUnknownError : 0};
}

using Rule = std::function<Element(const Element&, const Element&, const Element&)>;

class Builder {
 public:
  explicit Builder(unsigned seed) : random_(seed * 2654435761u + 1), rows_(1 + pick(20)), columns_(pick(4) == 0 ? rows_ : 1 + pick(40)), static_(pick(2)) {}

  RandomGraph build() {
    const int inputs = 2 + static_cast<int>(pick(4)), nodes = 3 + static_cast<int>(pick(14));
    for (int i = 0; i < inputs; ++i) add_input();
    for (int i = 0; i < nodes; ++i) add_node();
    graph_.outputs = {variables_.back()};
    graph_.expected = {references_.back()};
    for (std::size_t i = 0, n = pick(3); i < n; ++i) {
      const std::size_t at = pick(variables_.size());
      graph_.outputs.push_back(variables_[at]);
      graph_.expected.push_back(references_[at]);
    }
    return std::move(graph_);
  }

 private:
  std::size_t pick(std::size_t n) { return random_() % n; }
  std::size_t near() { return variables_.size() - 1 - pick(std::min<std::size_t>(variables_.size(), 8)); }

  void add_input() {
    const auto m = static_cast<std::int64_t>(rows_), n = static_cast<std::int64_t>(columns_);
    const Shape shapes[] = {{m, n}, {m, n}, {m, n}, {m, n}, {n}, {1, n}, {m, 1}, {}, {2, m, n}};
    Reference reference{kDTypes[pick(std::size(kDTypes))], shapes[pick(std::size(shapes))], {}};
    for (std::int64_t i = 0; i < reference.shape.size(); ++i) {
      const double value = is_floating(reference.dtype) ? std::round(std::uniform_real_distribution(-3.0, 3.0)(random_) * 32) / 32
                           : reference.dtype == bool_   ? static_cast<double>(pick(2))
                           : reference.dtype == uint8   ? static_cast<double>(pick(12))
                                                        : static_cast<double>(pick(21)) - 10;
      reference.elements.push_back({value, 0});
    }
    TensorType type{reference.dtype, reference.shape};
    // Extents of 1 stay: only they broadcast as far as types tell.
    for (std::int64_t& extent : type.dims) extent = static_ || extent == 1 ? extent : kUnknown;
    const std::string name = "i" + std::to_string(graph_.inputs.size());
    graph_.inputs.push_back(input(type, name));
    graph_.arguments.push_back(reference);
    graph_.layouts.push_back(static_cast<int>(pick(6)));
    graph_.text += name + " = " + to_string(TensorType{reference.dtype, reference.shape}) + " layout " + std::to_string(graph_.layouts.back()) + "\n";
    push(graph_.inputs.back(), std::move(reference));
  }

  void push(const Variable& variable, Reference reference) {
    variables_.push_back(variable);
    references_.push_back(std::move(reference));
  }

  void add_node() {
    const std::size_t a = near(), b = near(), c = near();
    switch (pick(13)) {
      case 0: return turn(a);
      case 1: return convert(a);
      case 2: case 3:
        return apply({a, b}, "lt", [](const auto& v) { return lt(v[0], v[1]); }, [](const Element& x, const Element& y, const Element&) { return less(x, y); });
      case 4: return choose(a, b, c);
      case 5: return smooth(a);
      default: return arithmetic(a, b);
    }
  }

  void arithmetic(std::size_t a, std::size_t b) {
    if (variables_[a].dtype() == bool_ && variables_[b].dtype() == bool_) return choose(a, a, b);
    switch (pick(6)) {
      case 0: case 1:
        return apply({a, b}, "add", [](const auto& v) { return v[0] + v[1]; }, [](const Element& x, const Element& y, const Element&) { return Element{x.value + y.value, x.error + y.error}; });
      case 2:
        return apply({a, b}, "sub", [](const auto& v) { return v[0] - v[1]; }, [](const Element& x, const Element& y, const Element&) { return Element{x.value - y.value, x.error + y.error}; });
      case 3:
        return apply({a, b}, "maximum", [](const auto& v) { return maximum(v[0], v[1]); }, [](const Element& x, const Element& y, const Element&) { return Element{std::max(x.value, y.value), std::max(x.error, y.error)}; });
      case 4: {
        const int literal = 1 + static_cast<int>(pick(3));
        return apply({variables_[a].dtype() == bool_ ? b : a}, "mul " + std::to_string(literal), [&](const auto& v) { return v[0] * literal; },
                     [&](const Element& x, const Element&, const Element&) { return Element{x.value * literal, x.error * literal}; });
      }
      default:
        return apply({a, b}, "mul", [](const auto& v) { return v[0] * v[1]; }, [](const Element& x, const Element& y, const Element&) {
          return Element{x.value * y.value, std::fabs(x.value) * y.error + std::fabs(y.value) * x.error + x.error * y.error};
        });
    }
  }

  void smooth(std::size_t a) {
    apply({a}, "tanh", [](const auto& v) { return tanh(v[0]); }, [](const Element& x, const Element&, const Element&) { return Element{std::tanh(x.value), x.error}; });
  }

  void choose(std::size_t condition, std::size_t b, std::size_t c) {
    const bool is_bool = variables_[condition].dtype() == bool_;
    const Variable mask = is_bool ? variables_[condition] : cast(variables_[condition], bool_);
    const DType from = variables_[condition].dtype();
    apply({condition, b, c}, "where", [&](const auto& v) { return where(mask, v[1], v[2]); }, [&](const Element& x, const Element& y, const Element& z) {
      const Element on = is_bool ? x : cast_element(from, bool_, x);
      return std::isfinite(on.error) ? (on.value != 0 ? y : z) : on;
    });
  }

  void convert(std::size_t a) {
    const DType from = variables_[a].dtype(), to = kDTypes[pick(std::size(kDTypes))];
    apply({a}, "cast to " + std::string(name(to)), [&](const auto& v) { return cast(v[0], to); }, [&](const Element& x, const Element&, const Element&) { return cast_element(from, to, x); });
  }

  /// Of a square matrix, so that it still fits the others.
  void turn(std::size_t a) {
    const Reference& x = references_[a];
    if (x.shape.rank() != 2 || x.shape[0] != x.shape[1]) return smooth(a);
    const Variable y = transpose(variables_[a]);
    Reference turned{x.dtype, x.shape, {}};
    const std::int64_t n = x.shape[0];
    for (std::int64_t i = 0; i < n * n; ++i) turned.elements.push_back(x.elements[static_cast<std::size_t>(i % n * n + i / n)]);
    note("transpose", {a});
    push(y, std::move(turned));
  }

  template <class Build>
  void apply(const std::vector<std::size_t>& operands, const std::string& op, Build build, const Rule& rule) {
    std::vector<Variable> variables;
    std::vector<Shape> shapes;
    for (std::size_t at : operands) variables.push_back(variables_[at]), shapes.push_back(references_[at].shape);
    Reference result{float32, broadcast_shapes(shapes), {}};
    const Variable y = build(variables);
    result.dtype = y.dtype();
    for (std::int64_t i = 0; i < result.shape.size(); ++i) {
      Element x[3];
      bool open = false;
      for (std::size_t k = 0; k < operands.size(); ++k) {
        x[k] = element(references_[operands[k]], result.shape, i);
        // An operand is first converted to the dtype that the op computes in.
        if (is_floating(result.dtype)) x[k].error += std::fabs(x[k].value) * unit(result.dtype);
        open |= !std::isfinite(x[k].error);
      }
      const Element value = rule(x[0], x[1], x[2]);
      result.elements.push_back(open && op != "where" ? Element{0, kUnknownError} : held(result.dtype, value));
    }
    note(op, operands);
    push(y, std::move(result));
  }

  static Element element(const Reference& x, const Shape& space, std::int64_t i) {
    std::int64_t offset = 0, step = 1;
    for (int axis = space.rank() - 1, own = x.shape.rank() - 1; own >= 0; --axis, --own) {
      const std::int64_t coordinate = i % space[axis];
      i /= space[axis];
      offset += (x.shape[own] == 1 ? 0 : coordinate) * step;
      step *= x.shape[own];
    }
    return x.elements[static_cast<std::size_t>(offset)];
  }

  void note(const std::string& op, const std::vector<std::size_t>& operands) {
    graph_.text += "v" + std::to_string(variables_.size()) + " = " + op;
    for (std::size_t at : operands) graph_.text += " v" + std::to_string(at);
    graph_.text += "\n";
  }

  std::mt19937 random_;
  std::size_t rows_, columns_;
  bool static_;
  RandomGraph graph_;
  std::vector<Variable> variables_;
  std::vector<Reference> references_;
};

}  // namespace

RandomGraph random_graph(unsigned seed) { return Builder(seed).build(); }

Array place(const Reference& argument, int layout, Device device) {
  // The elements are copied into a view of a larger array, or of one with its axes turned.
  const Shape& shape = argument.shape;
  std::vector<std::byte> bytes(argument.elements.size() * itemsize(argument.dtype));
  for (std::size_t i = 0; i < argument.elements.size(); ++i) Scalar(argument.elements[i].value).cast(argument.dtype).store(bytes.data() + i * itemsize(argument.dtype));
  const Array plain = Array::from_bytes(bytes.data(), argument.elements.size(), argument.dtype, shape, device);
  if (shape.rank() == 0 || layout == 0) return plain;
  Shape wider = shape;
  if (layout == 1) {
    std::reverse(wider.begin(), wider.end());
    const Array turned = Array::empty(wider, argument.dtype, device).transpose();
    turned.copy_from(plain);
    return turned;
  }
  std::vector<Slice> slices(static_cast<std::size_t>(shape.rank()));
  Slice& last = slices.back();
  if (layout == 2) last = {{}, {}, -1};
  if (layout == 3) wider[-1] *= 2, last = {{}, {}, 2};
  if (layout == 4) wider[-1] += 1, last = {1, {}, 1};
  if (layout == 5) wider[0] += 3, slices.front() = {1, 1 + shape[0], 1};
  const Array view = Array::empty(wider, argument.dtype, device).slice(slices);
  view.copy_from(plain);
  return view;
}

std::string difference(const Array& array, const Reference& expected, std::size_t& known) {
  if (array.dtype() != expected.dtype || array.shape() != expected.shape) {
    return "is " + describe(array) + ", not " + to_string(TensorType{expected.dtype, expected.shape});
  }
  const std::vector<double> values = array.to_doubles();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Element& want = expected.elements[i];
    if (!std::isfinite(want.error)) continue;
    ++known;
    if (std::fabs(values[i] - want.value) <= want.error) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(values[i]) + ", not " + std::to_string(want.value) + " within " + std::to_string(want.error);
  }
  return {};
}

}  // namespace damo::testing
