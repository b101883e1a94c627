// Layers in plain ops: what holds shared variables and says, called with a Variable, what becomes of it. They fuse as what they are made of.
//
//   nn::Init init(seed);
//   nn::Linear first(init, "first", 784, 512), second(init, "second", 512, 10);
//   Variable scores = second(relu(first(x)));
//   auto parameters = nn::parameters(first, second);            // for optim:: and save(): "first.weight", "first.bias", ...
//
// Shapes are written with the axes that matter; axes before them are the batch's. Errors are those of the ops, with the layer's names among the
// operands. What training and prediction compute apart has two names. See tests/train/nn_test.cpp.
#pragma once
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <damo/array.hpp>
#include <damo/optim.hpp>
#include <damo/shared.hpp>
#include <damo/windows.hpp>

namespace damo::nn {

/// Makes shared variables with random values: the same from the same seed, on every machine, in the order of the calls.
class Init {
 public:
  explicit Init(std::uint64_t seed, DType dtype = float32, Device device = Device()) : random_(seed), dtype_(dtype), device_(device) {}

  Shared full(std::string name, const Shape& shape, double value = 0);
  Shared uniform(std::string name, const Shape& shape, double limit);      ///< in (-limit, limit)
  Shared normal(std::string name, const Shape& shape, double deviation);
  /// (inputs, ..., outputs): uniform to sqrt(6 / (inputs + outputs)). Glorot, Bengio 2010.
  Shared glorot(std::string name, const Shape& shape);
  /// (inputs, ..., outputs): normal by sqrt(2 / inputs), for layers before relu. He et al. 2015.
  Shared he(std::string name, const Shape& shape);

 private:
  template <class Draw>
  Shared draw(std::string name, const Shape& shape, const Draw& draw);
  double unit();  // in (0, 1)
  std::mt19937_64 random_;
  DType dtype_;
  Device device_;
};

/// (n, inputs) -> x weight + bias, (n, outputs). Weights by Glorot, bias 0. Where x is float16 or bfloat16 and the parameters are wider, a call computes in
/// x's dtype with rounded parameters (mixed precision: Micikevicius et al. 2018); their gradients have their own dtype.
struct Linear {
  Linear(Init& init, const std::string& name, std::int64_t inputs, std::int64_t outputs);
  Variable operator()(const Operand& x) const;
  std::vector<Shared> parameters() const { return {weight, bias}; }
  Shared weight, bias;
};

/// (n, channels, extents...) of so many spatial axes -> conv1d, conv2d or conv3d(x, weight, options) + bias, (n, filters, ...): weight (filters,
/// channels / options.groups, window...), by Glorot with what a window sees and what sees an element as inputs and outputs; bias 0. window: an extent
/// for each spatial axis, or one for all. ShapeError for another number of them, and for groups that do not divide channels and filters.
template <int kSpatialAxes>
struct Conv {
  Conv(Init& init, const std::string& name, std::int64_t channels, std::int64_t filters, const PerAxis& window, ConvOptions options = {});
  Variable operator()(const Operand& x) const;
  std::vector<Shared> parameters() const { return {weight, bias}; }
  Shared weight, bias;
  ConvOptions options;
};
extern template struct Conv<1>;
extern template struct Conv<2>;
extern template struct Conv<3>;
using Conv1d = Conv<1>;
using Conv2d = Conv<2>;
using Conv3d = Conv<3>;

/// Integer positions of any shape -> that shape with an axis of features: rows of a table, normal by 0.02.
struct Embedding {
  Embedding(Init& init, const std::string& name, std::int64_t count, std::int64_t features);
  Variable operator()(const Operand& positions) const;
  std::vector<Shared> parameters() const { return {weight}; }
  Shared weight;
};

/// (x - mean) / sqrt(var + epsilon) scale + shift along the last axis. Ba, Kiros, Hinton 2016. For the gradient mean and variance are computed again
/// (recompute, custom_gradient.hpp): nothing but x is kept.
struct LayerNorm {
  LayerNorm(Init& init, const std::string& name, std::int64_t features, double epsilon = 1e-5);
  Variable operator()(const Operand& x) const;
  std::vector<Shared> parameters() const { return {scale, shift}; }
  Shared scale, shift;
  double epsilon;
};

/// x / sqrt(mean(x^2) + epsilon) scale along the last axis. Zhang, Sennrich 2019. Computed again for the gradient, as LayerNorm.
struct RMSNorm {
  RMSNorm(Init& init, const std::string& name, std::int64_t features, double epsilon = 1e-5);
  Variable operator()(const Operand& x) const;
  std::vector<Shared> parameters() const { return {scale}; }
  Shared scale;
  double epsilon;
};

/// (n, features, ...): the features fall into so many groups, of which each, of each sample, is brought to mean 0 and variance 1 over its features and all axes behind them;
/// then times scale, plus shift, a feature. As many groups as features: instance norm. Wu, He 2018. Computed again for the gradient, as LayerNorm. ShapeError for
/// groups that do not divide the features, and for another number of features.
struct GroupNorm {
  GroupNorm(Init& init, const std::string& name, std::int64_t features, std::int64_t groups, double epsilon = 1e-5);
  Variable operator()(const Operand& x) const;
  std::vector<Shared> parameters() const { return {scale, shift}; }
  Shared scale, shift;
  std::int64_t groups;
  double epsilon;
};

/// Each feature, along axis, by its mean and variance over all other axes. Ioffe, Szegedy 2015.
struct BatchNorm {
  BatchNorm(Init& init, const std::string& name, std::int64_t features, int axis = 1, double momentum = 0.9, double epsilon = 1e-5);
  /// By the batch's own; updates get the running ones: momentum running + (1 - momentum) batch's, the variance over n elements. ShapeError for a batch without
  /// rows, where the graph is built or at the call: the running ones stay what they were.
  Variable train(const Operand& x, optim::Updates& updates) const;
  /// By the running ones.
  Variable operator()(const Operand& x) const;
  std::vector<Shared> parameters() const { return {scale, shift}; }
  /// What save() needs beside the parameters.
  std::vector<Shared> running() const { return {running_mean, running_var}; }
  Shared scale, shift, running_mean, running_var;
  int axis;
  double momentum, epsilon;
};

/// One step of a recurrence. Hochreiter, Schmidhuber 1997, with Gers' forget gate, whose bias begins at 1:
/// (i, f, g, o) = x input_weight + h hidden_weight + bias, c' = sigmoid(f) c + sigmoid(i) tanh(g), h' = sigmoid(o) tanh(c').
struct LSTMCell {
  struct State {
    Variable hidden, cell;  ///< (n, features)
  };
  LSTMCell(Init& init, const std::string& name, std::int64_t inputs, std::int64_t features);
  State operator()(const Operand& x, const State& state) const;  ///< x: (n, inputs)
  /// The same where x input_weight + bias, (n, 4 features), is known.
  State from_sums(const Variable& sums, const State& state) const;
  std::vector<Shared> parameters() const { return {input_weight, hidden_weight, bias}; }
  Shared input_weight, hidden_weight, bias;
  std::int64_t features;
};

/// Cho et al. 2014, with the reset gate behind the product, as cuDNN has it: (r, z, n) of x and of h by products and biases of their own,
/// r, z = sigmoid(sums), n = tanh(x's + r h's), h' = (1 - z) n + z h.
struct GRUCell {
  GRUCell(Init& init, const std::string& name, std::int64_t inputs, std::int64_t features);
  Variable operator()(const Operand& x, const Operand& hidden) const;
  /// The same where x input_weight + input_bias, (n, 3 features), is known.
  Variable from_sums(const Variable& sums, const Operand& hidden) const;
  std::vector<Shared> parameters() const { return {input_weight, hidden_weight, input_bias, hidden_bias}; }
  Shared input_weight, hidden_weight, input_bias, hidden_bias;
  std::int64_t features;
};

/// A cell along axis 0 of (steps, n, inputs), by scan (loop.hpp); what needs no state is one product for all steps. Begins with zeros unless told.
struct LSTM {
  struct Result {
    Variable hidden;        ///< (steps, n, features): of each step
    LSTMCell::State last;   ///< behind the last one
  };
  LSTM(Init& init, const std::string& name, std::int64_t inputs, std::int64_t features) : cell(init, name, inputs, features) {}
  Result operator()(const Operand& xs, const std::optional<LSTMCell::State>& begin = {}) const;
  std::vector<Shared> parameters() const { return cell.parameters(); }
  LSTMCell cell;
};
struct GRU {
  GRU(Init& init, const std::string& name, std::int64_t inputs, std::int64_t features) : cell(init, name, inputs, features) {}
  /// (steps, n, features); begin: (n, features), zeros where it is empty.
  Variable operator()(const Operand& xs, const Variable& begin = {}) const;
  std::vector<Shared> parameters() const { return cell.parameters(); }
  GRUCell cell;
};

template <class Value>
struct AttentionOptionsOf {
  bool causal = false;                   ///< query i looks at keys 0 to i only
  std::optional<Value> mask = {};        ///< bool, broadcasts to (heads, n, m): false is not looked at
  std::optional<double> scale = {};      ///< of the products; 1 / sqrt(features) unless told
};
using AttentionOptions = AttentionOptionsOf<Variable>;
using ArrayAttentionOptions = AttentionOptionsOf<Array>;
/// softmax(query key^T scale) value: query (batch..., heads, n, features), key (batch..., groups, m, features), value (batch..., groups, m, depth) ->
/// (batch..., heads, n, depth). heads is a multiple of groups: each group of keys serves as many heads in a row (Ainslie et al. 2023), which
/// copies keys and values. Both numbers are known when the graph is built, and so is features, unless scale is told. A query that may look at
/// nothing gets 0. Memory: the (n, m) weights of all heads; none of them on a GPU from sm_80 on for one batch axis or none, float16 or bfloat16, features == depth, a known multiple
/// of 16 up to 128, and scale > 0: there keys and values are not copied either (Dao et al. 2022). explain() names what runs. Vaswani et al. 2017.
Variable attention(const Operand& query, const Operand& key, const Operand& value, const AttentionOptions& options = {});
/// Of Arrays, at once: several kernels, and the (n, m) weights of all heads in memory on every device.
Array attention(const Array& query, const Array& key, const Array& value, const ArrayAttentionOptions& options = {});

/// The parameters of several layers, in order.
template <class... Layers>
std::vector<Shared> parameters(const Layers&... layers) {
  std::vector<Shared> all;
  const auto add = [&](const std::vector<Shared>& more) { all.insert(all.end(), more.begin(), more.end()); };
  (add(layers.parameters()), ...);
  return all;
}

}  // namespace damo::nn
