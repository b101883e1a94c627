#include <atomic>
#include <cstring>
#include <utility>

#include <damo/ops/cast.hpp>
#include <damo/ops/indexing.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/reduce.hpp>
#include <damo/ops/shape.hpp>
#include <damo/ops/sort.hpp>
#include <damo/ops/subtensor.hpp>
#include <damo/random.hpp>
#include "graph/user_line.hpp"
#include "ops/gradient_parts.hpp"
#include "ops/random/distributions.hpp"
#include "ops/random/step_draws.hpp"
#include "ops/random/stream_state.hpp"

namespace damo {

struct RandomStream::Data {
  Variable state, key, counter;
  SourceLine where;
  std::atomic<std::uint64_t> draws{0}, splits{0};
};

class StreamWorld {
 public:
  using Value = Variable;
  using Operand = damo::Operand;
  using DrawShape = damo::DrawShape;

  /// line: of the draw.
  StreamWorld(const RandomStream& stream, SourceLine line) : stream_(stream), data_(*stream.data_), line_(line) {}

  Variable draw(const std::string& name, RandomKind kind, DType dtype, int digits, const DrawShape& shape, const std::vector<const Operand*>& parameters) {
    if (!shape.like()) check_draw_shape(name, shape.shape());
    std::vector<Variable> inputs = keys();
    for (const Operand* parameter : parameters) {
      const DType given = parameter->is_number() ? parameter_dtype(kind, dtype) : parameter->variable().dtype();
      inputs.push_back(parameter->as(given));
    }
    if (shape.like()) inputs.push_back(shape.like());
    const auto op = std::make_shared<const RandomOp>(kind, dtype, digits, shape.like() ? std::nullopt : std::optional<Shape>(shape.shape()));
    return op->apply(inputs, line_).output();
  }
  Variable apply(const ElementwiseRow& row, const Variable& unit, const Operand& a, const Operand& b) {
    return apply_elementwise(row, {At(line_)(unit), a, b});
  }
  Variable dropout(const Variable& x, double p, SourceLine line) {
    const auto made = Distributions<StreamWorld>::dropout(x.dtype(), p);
    std::vector<Variable> inputs{x};
    for (Variable& key : keys()) inputs.push_back(std::move(key));
    inputs.push_back(constant(Scalar(made.kept), line));
    inputs.push_back(constant(Scalar(made.scale).cast(x.dtype() == float64 ? float64 : float32), line));
    return std::make_shared<const DropoutOp>()->apply(inputs, line).output();
  }

  static const Shape& dims(const Variable& x) { return x.dims(); }
  static Variable cast(const Variable& x, DType dtype) { return damo::cast(x, dtype); }
  static Variable add(const Variable& x, const Operand& y) { return damo::add(x, y); }
  static Variable divide(const Variable& x, const Variable& y) { return true_div(x, y); }
  static Variable argmax(const Variable& x, int axis) { return damo::argmax(x, axis); }
  static Variable argsort(const Variable& x) { return damo::argsort(x); }
  static Variable first(const Variable& x, std::int64_t count) { return subtensor(x, {Index(std::nullopt, count)}); }
  static Variable reshape(const Variable& x, const Shape& shape) { return damo::reshape(x, shape); }
  static DrawShape shape_of(const Variable& x) { return x; }
  static DrawShape with_axis(const DrawShape& shape, std::int64_t extent) {
    Shape all = shape.like() ? Shape::filled(shape.like().rank(), -1) : shape.shape();
    all.push_back(extent);
    return shape.like() ? DrawShape(broadcast_to(expand_dims(shape.like(), -1), all)) : DrawShape(all);
  }
  static Shape known_shape(const std::string& name, const DrawShape& shape) {
    if (!shape.like()) return shape.shape();
    if (!shape.like().dims().is_known()) refuse_draw(name, "how many numbers are drawn without replacement is not known", "give extents");
    return shape.like().dims();
  }
  Variable numbers(const std::vector<double>& values) const {
    ConstantData data{{float64, {static_cast<std::int64_t>(values.size())}}, std::vector<std::byte>(values.size() * sizeof(double))};
    std::memcpy(data.bytes.data(), values.data(), data.bytes.size());
    return constant(std::move(data), {}, line_);
  }

 private:
  std::vector<Variable> keys() {
    if (StepDraws* const step = StepDraws::current(); step && data_.state.is_shared()) {
      StepDraws::Stream& stream = step->stream(data_.state, line_, [stream = stream_] { return stream.bits({2}, uint64); });
      return {stream.key, stream.counter, constant(Scalar(stream.draws++), line_)};
    }
    return {data_.key, data_.counter, constant(Scalar(data_.draws.fetch_add(1)), line_)};
  }

  RandomStream stream_;
  RandomStream::Data& data_;
  SourceLine line_;
};

namespace {

using StreamDraws = Distributions<StreamWorld>;

/// build(draws): nodes and errors of that function, called at that line.
template <class Build, class... Parameters>
Variable drawn(const char* function, const RandomStream& stream, SourceLine line, const Build& build, const Parameters&... parameters) {
  const BuiltAt here(line);
  return asked(function, [&] {
    StreamWorld world(stream, line);
    return build(StreamDraws(world));
  }, parameters...);
}

}  // namespace

RandomStream::RandomStream(const Variable& state, SourceLine where) : data_(std::make_shared<Data>()) {
  asked("RandomStream", [&] {
    require_dtype(state, uint64);
    if (!(state.dims() == Shape{2})) throw ShapeError("RandomStream: " + describe(state) + " is no state", "give uint64 (2,): key and counter");
  }, std::span(&state, 1), where);
  const Operand operand(state, where.file, where.line);
  data_->state = state;
  data_->key = subtensor(operand, {0});
  data_->counter = subtensor(operand, {1});
  data_->where = where;
}

RandomStream::RandomStream(std::uint64_t seed, Device device, std::string name, SourceLine where)
    : RandomStream(shared(std::move(name), Array::from(std::vector<std::uint64_t>{seed, 0}, device), where), where) {}

const Variable& RandomStream::state() const { return data_->state; }
Variable RandomStream::next_state() const { return state_behind(data_->state, data_->draws, data_->where); }

RandomStream RandomStream::split(SourceLine where) const {
  return asked("split", [&] {
    if (!data_->state.is_shared()) throw GraphError("split: the state of this stream is " + describe(data_->state) + ", no shared variable", "make a stream of a seed");
    const Shared state(data_->state);
    const std::vector<std::uint64_t> words = state.array().to_vector<std::uint64_t>();
    return RandomStream(split_key(words[0], data_->splits.fetch_add(1)), state.device(), state.name(), data_->where);
  }, std::span(&data_->state, 1), where);
}

Variable RandomStream::bits(const DrawShape& shape, DType dtype) const {
  return drawn("bits", *this, shape.where(), [&](StreamDraws draws) { return draws.bits(shape, dtype); });
}
Variable RandomStream::uniform(const DrawShape& shape, const Operand& low, const Operand& high, DType dtype) const {
  return drawn("uniform", *this, shape.where(), [&](StreamDraws draws) { return draws.uniform(shape, low, high, dtype); }, low, high);
}
Variable RandomStream::normal(const DrawShape& shape, const Operand& mean, const Operand& std, DType dtype) const {
  return drawn("normal", *this, shape.where(), [&](StreamDraws draws) { return draws.normal(shape, mean, std, dtype); }, mean, std);
}
Variable RandomStream::truncated_normal(const DrawShape& shape, const Operand& low, const Operand& high, const Operand& mean, const Operand& std, DType dtype) const {
  return drawn("truncated_normal", *this, shape.where(), [&](StreamDraws draws) { return draws.truncated_normal(shape, low, high, mean, std, dtype); }, low, high, mean, std);
}
Variable RandomStream::exponential(const DrawShape& shape, const Operand& scale, DType dtype) const {
  return drawn("exponential", *this, shape.where(), [&](StreamDraws draws) { return draws.exponential(shape, scale, dtype); }, scale);
}
Variable RandomStream::gumbel(const DrawShape& shape, DType dtype) const {
  return drawn("gumbel", *this, shape.where(), [&](StreamDraws draws) { return draws.gumbel(shape, dtype); });
}
Variable RandomStream::gamma(const DrawShape& shape, const Operand& alpha, const Operand& scale, DType dtype) const {
  return drawn("gamma", *this, shape.where(), [&](StreamDraws draws) { return draws.gamma(shape, alpha, scale, dtype); }, alpha, scale);
}
Variable RandomStream::poisson(const DrawShape& shape, const Operand& rate) const {
  return drawn("poisson", *this, shape.where(), [&](StreamDraws draws) { return draws.poisson(shape, rate); }, rate);
}
Variable RandomStream::bernoulli(const DrawShape& shape, const Operand& p) const {
  return drawn("bernoulli", *this, shape.where(), [&](StreamDraws draws) { return draws.bernoulli(shape, p); }, p);
}
Variable RandomStream::randint(const DrawShape& shape, std::int64_t low, std::int64_t high, DType dtype) const {
  return drawn("randint", *this, shape.where(), [&](StreamDraws draws) { return draws.randint(shape, low, high, dtype); });
}
Variable RandomStream::categorical(const Operand& logits, int axis) const {
  return drawn("categorical", *this, logits.where(), [&](StreamDraws draws) { return draws.categorical(logits.as(logits.promotable().dtype), axis); }, logits);
}
Variable RandomStream::categorical_of(const Operand& probabilities, int axis) const {
  return drawn("categorical_of", *this, probabilities.where(), [&](StreamDraws draws) { return draws.categorical_of(probabilities.as(probabilities.promotable().dtype), axis); }, probabilities);
}
Variable RandomStream::choice(std::int64_t n, const DrawShape& shape, bool replace, const std::vector<double>& p) const {
  return drawn("choice", *this, shape.where(), [&](StreamDraws draws) { return draws.choice(n, shape, replace, p); });
}
Variable RandomStream::permutation(std::int64_t n, SourceLine where) const {
  return drawn("permutation", *this, where, [&](StreamDraws draws) { return draws.permutation(n); });
}
Variable RandomStream::permutation(const Operand& x, int axis) const {
  const BuiltAt here(x.where());
  return asked("permutation", [&] {
    const Variable from = x.as(x.promotable().dtype);
    const int along = normalize_axis("permutation", axis, from.rank());
    std::vector<Index> line(static_cast<std::size_t>(from.rank()), Index(0));  // of which only the extent is read
    line[static_cast<std::size_t>(along)] = Index();
    return take(x, argsort(bits(subtensor(x, line), uint64)), along);
  }, x);
}
Variable RandomStream::dropout(const Operand& x, double p) const {
  return asked("dropout", [&] { return StreamWorld(*this, x.where()).dropout(x.as(x.promotable().dtype), p, x.where()); }, x);
}

}  // namespace damo
