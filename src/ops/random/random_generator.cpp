#include <utility>

#include <damo/array_math.hpp>
#include <damo/array_reduce.hpp>
#include <damo/array_shape.hpp>
#include <damo/array_sort.hpp>
#include <damo/random.hpp>
#include "graph/base/computed_dtype.hpp"
#include "ops/both_worlds.hpp"
#include "ops/eager/kernels.hpp"
#include "ops/lower.hpp"
#include "ops/random/distributions.hpp"
#include "ops/random/stream_state.hpp"

namespace damo {
namespace {

/// The kernel of a draw of any shape, as a graph lowers it, but with numbers passed by value.
KernelSpec spec_of(const DrawOp& op, std::span<const EagerInput> inputs) {
  std::vector<Variable> variables;
  FunctionGraph graph;
  std::vector<ValueId> values;
  for (const EagerInput& given : inputs) {
    const TensorType type{given.dtype(), {}};
    variables.push_back(input(type));
    values.push_back(graph.add_input(type));
  }
  const Apply node = op.apply(variables, {});
  const TensorType types[] = {node.output().type()};
  graph.add_output(graph.outputs(graph.add(node.op_ptr(), values, types, {}))[0]);
  KernelSpec spec = lower(graph);
  for (const EagerInput& given : inputs) spec.values.push_back(!given.array);
  for (auto& axes : spec.ordinals) {
    if (axes) axes = ~0u;  // the space is the draw's shape
  }
  return spec;
}

/// Which kernel, among those of the device that are found by number: that of a kind, of dtypes, and of what is an array.
std::uint32_t number_of(std::uint32_t kind, DType dtype, int digits, std::span<const EagerInput> inputs) {
  std::uint32_t number = 1u << 31 | kind << 26 | static_cast<std::uint32_t>(dtype) << 22 | static_cast<std::uint32_t>(digits & 63) << 16;
  int shift = 0;
  for (const EagerInput& input : inputs) {
    if (input.dtype() == uint64 && !input.array) continue;
    number |= (static_cast<std::uint32_t>(input.dtype()) | (input.array ? 16u : 0u)) << shift;
    shift += 5;
  }
  return number;
}

}  // namespace

class GeneratorWorld {
 public:
  using Value = Array;
  using Operand = ArrayOperand;
  using DrawShape = Shape;

  explicit GeneratorWorld(RandomGenerator& generator) : generator_(generator) {}

  Array draw(const std::string& name, RandomKind kind, DType dtype, int digits, const Shape& shape, const std::vector<const ArrayOperand*>& parameters) {
    check_draw_shape(name, shape);
    std::vector<Shape> shapes;
    for (const ArrayOperand* parameter : parameters) {
      if (!parameter->is_number()) check_place(name, parameter->array()), shapes.push_back(parameter->array().shape());
    }
    const Array out = Array::empty(RandomOp(kind, dtype, digits, shape).output_shape(shapes, shapes), dtype, generator_.device_);
    std::vector<EagerInput> inputs = keys();
    for (const ArrayOperand* parameter : parameters) {
      if (parameter->is_number()) inputs.push_back({nullptr, parameter->number().cast(parameter_dtype(kind, dtype))});
      else inputs.push_back({&parameter->array(), {}});
    }
    const auto spec = [&] { return spec_of(*std::make_shared<const RandomOp>(kind, dtype, digits, Shape()), inputs); };
    kernels()->reducing(number_of(static_cast<std::uint32_t>(kind), dtype, digits, inputs), spec)->run(inputs, out);
    return out;
  }
  Array apply(const ElementwiseRow& row, const Array& unit, const ArrayOperand& a, const ArrayOperand& b) { return apply_elementwise(row, {unit, a, b}); }
  Array dropout(const Array& x, double p) {
    check_place("dropout", x);
    require_computed("dropout", x.dtype());
    const auto made = Distributions<GeneratorWorld>::dropout(x.dtype(), p);
    std::vector<EagerInput> inputs{{&x, {}}};
    for (const EagerInput& key : keys()) inputs.push_back(key);
    inputs.push_back({nullptr, Scalar(made.kept)});
    inputs.push_back({nullptr, Scalar(made.scale).cast(x.dtype() == float64 ? float64 : float32)});
    const Array out = Array::empty(x.shape(), x.dtype(), generator_.device_);
    kernels()->reducing(number_of(31, x.dtype(), 0, inputs), [&] { return spec_of(*std::make_shared<const DropoutOp>(), inputs); })->run(inputs, out);
    return out;
  }

  static const Shape& dims(const Array& x) { return x.shape(); }
  static Array cast(const Array& x, DType dtype) { return x.dtype() == dtype ? x : astype(x, dtype); }
  static Array add(const Array& x, const ArrayOperand& y) { return damo::add(x, y); }
  static Array divide(const Array& x, const Array& y) { return true_div(x, y); }
  static Array argmax(const Array& x, int axis) { return damo::argmax(x, axis); }
  static Array argsort(const Array& x) { return damo::argsort(x); }
  static Array first(const Array& x, std::int64_t count) { return x.slice({Slice{0, count}}); }
  static Array reshape(const Array& x, const Shape& shape) { return x.contiguous().reshape(shape); }
  static Shape shape_of(const Array& x) { return x.shape(); }
  static Shape with_axis(Shape shape, std::int64_t extent) {
    shape.push_back(extent);
    return shape;
  }
  static Shape known_shape(const std::string&, const Shape& shape) { return shape; }
  Array numbers(const std::vector<double>& values) const { return Array::from(values, generator_.device_); }

 private:
  std::shared_ptr<EagerKernels> kernels() const { return EagerKernels::of(generator_.device_.backend()); }
  std::vector<EagerInput> keys() { return {{nullptr, Scalar(generator_.key_)}, {nullptr, Scalar(generator_.counter_++)}, {nullptr, Scalar(std::uint64_t{0})}}; }
  void check_place(const std::string& name, const Array& x) const {
    if (x.device() == generator_.device_) return;
    throw DeviceError(name + ": " + describe(x) + " lies on " + x.device().name() + ", the generator draws on " + generator_.device_.name(), "move it: x.to(device)");
  }

  RandomGenerator& generator_;
};

namespace {

using GeneratorDraws = Distributions<GeneratorWorld>;

/// build(draws), whose errors tell of that function.
template <class Build, class... Operands>
Array drawn(const char* function, RandomGenerator& generator, const Build& build, const Operands&... operands) {
  return asked_at_once(function, [&] {
    GeneratorWorld world(generator);
    return build(GeneratorDraws(world));
  }, operands...);
}

}  // namespace

RandomGenerator RandomGenerator::split() { return {split_key(key_, splits_++), 0, device_}; }

Array RandomGenerator::bits(const Shape& shape, DType dtype) {
  return drawn("bits", *this, [&](GeneratorDraws draws) { return draws.bits(shape, dtype); });
}
Array RandomGenerator::uniform(const Shape& shape, const ArrayOperand& low, const ArrayOperand& high, DType dtype) {
  return drawn("uniform", *this, [&](GeneratorDraws draws) { return draws.uniform(shape, low, high, dtype); }, low, high);
}
Array RandomGenerator::normal(const Shape& shape, const ArrayOperand& mean, const ArrayOperand& std, DType dtype) {
  return drawn("normal", *this, [&](GeneratorDraws draws) { return draws.normal(shape, mean, std, dtype); }, mean, std);
}
Array RandomGenerator::truncated_normal(const Shape& shape, const ArrayOperand& low, const ArrayOperand& high, const ArrayOperand& mean, const ArrayOperand& std, DType dtype) {
  return drawn("truncated_normal", *this, [&](GeneratorDraws draws) { return draws.truncated_normal(shape, low, high, mean, std, dtype); }, low, high, mean, std);
}
Array RandomGenerator::exponential(const Shape& shape, const ArrayOperand& scale, DType dtype) {
  return drawn("exponential", *this, [&](GeneratorDraws draws) { return draws.exponential(shape, scale, dtype); }, scale);
}
Array RandomGenerator::gumbel(const Shape& shape, DType dtype) {
  return drawn("gumbel", *this, [&](GeneratorDraws draws) { return draws.gumbel(shape, dtype); });
}
Array RandomGenerator::gamma(const Shape& shape, const ArrayOperand& alpha, const ArrayOperand& scale, DType dtype) {
  return drawn("gamma", *this, [&](GeneratorDraws draws) { return draws.gamma(shape, alpha, scale, dtype); }, alpha, scale);
}
Array RandomGenerator::poisson(const Shape& shape, const ArrayOperand& rate) {
  return drawn("poisson", *this, [&](GeneratorDraws draws) { return draws.poisson(shape, rate); }, rate);
}
Array RandomGenerator::bernoulli(const Shape& shape, const ArrayOperand& p) {
  return drawn("bernoulli", *this, [&](GeneratorDraws draws) { return draws.bernoulli(shape, p); }, p);
}
Array RandomGenerator::randint(const Shape& shape, std::int64_t low, std::int64_t high, DType dtype) {
  return drawn("randint", *this, [&](GeneratorDraws draws) { return draws.randint(shape, low, high, dtype); });
}
Array RandomGenerator::categorical(const Array& logits, int axis) {
  return drawn("categorical", *this, [&](GeneratorDraws draws) { return draws.categorical(logits, axis); }, logits);
}
Array RandomGenerator::categorical_of(const Array& probabilities, int axis) {
  return drawn("categorical_of", *this, [&](GeneratorDraws draws) { return draws.categorical_of(probabilities, axis); }, probabilities);
}
Array RandomGenerator::choice(std::int64_t n, const Shape& shape, bool replace, const std::vector<double>& p) {
  return drawn("choice", *this, [&](GeneratorDraws draws) { return draws.choice(n, shape, replace, p); });
}
Array RandomGenerator::permutation(std::int64_t n) {
  return drawn("permutation", *this, [&](GeneratorDraws draws) { return draws.permutation(n); });
}
Array RandomGenerator::permutation(const Array& x, int axis) { return take(x, permutation(x.shape()[normalize_axis("permutation", axis, x.rank())]), axis); }
Array RandomGenerator::dropout(const Array& x, double p) { return GeneratorWorld(*this).dropout(x, p); }

}  // namespace damo
