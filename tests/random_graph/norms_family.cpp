#include "norms_ops.hpp"

#include <algorithm>
#include <cmath>

#include "op_family.hpp"

namespace damo::testing {
namespace {

constexpr const char* kNorms[] = {"sum_told", "prod_told", "mean_told", "cumsum_told", "cumprod_told", "var", "stddev", "norm", "norm_p", "logcumsumexp", "softmax", "softmax", "log_softmax", "logsumexp",
                                  "cross_entropy", "layer_norm", "log_sum_exp_by_hand", "softmax_by_hand", "global_norm", "clip_by_global_norm", "sigmoid_cross_entropy", "shares_of_halves", "shares_of_halves"};

bool drops_axis(const std::string& name) { return name == "stddev" || name == "norm_p" || name == "cross_entropy"; }
bool takes_integers(const std::string& name) { return name == "sum_told" || name == "prod_told" || name == "cumsum_told" || name == "cumprod_told"; }
bool is_told(const std::string& name) { return takes_integers(name) || name == "mean_told" || name == "var" || name == "stddev" || name.starts_with("norm") || name == "logsumexp" || name == "logcumsumexp"; }
bool keeps_one(const std::string& name) { return name == "sum_told" || name == "prod_told" || name == "mean_told" || name == "var" || name == "norm" || name == "logsumexp" || name == "log_sum_exp_by_hand"; }

std::optional<NodeSpec> draw_norm(Draw& draw) {
  const std::string name = kNorms[draw.pick(std::size(kNorms))];
  const std::optional<int> x = draw.find([&](const ValueType& type) { return !type.dims.empty() && !is_float8(type.dtype) && (is_floating(type.dtype) || takes_integers(name)); });
  if (!x) return {};
  NodeSpec node{.kind = NodeSpec::Kind::kFamily, .family = "norms", .name = name, .operands = {*x}, .pattern = {draw.number(0, draw.rank(*x) - 1), draw.number(0, 3), draw.number(0, 1), draw.number(0, 3)}};
  if (name == "cross_entropy") node.operands.push_back(*draw.find([&](const ValueType& type) { return type.dims == draw.type(*x).dims; }));
  if (name == "sigmoid_cross_entropy" || name == "shares_of_halves") node.operands.push_back(draw.twin(*x));
  if (name.ends_with("global_norm")) node.operands.push_back(draw.twin(*x)), node.outputs = name == "global_norm" ? 1 : 2;
  return node;
}

/// In which elements are added, and what comes out.
struct SumDTypes {
  DType accumulator, result;
};
SumDTypes told_dtypes(DType x, int number) {
  const ToldDTypes told(x, number);
  const DType integer = x == bool_ || is_signed(x) ? int64 : uint64, result = told.dtype.value_or(is_floating(x) ? x : integer);
  if (told.acc_dtype) return {*told.acc_dtype, result};
  if (is_floating(result) && (x == float64 || !is_floating(x))) return {float64, result};
  return {is_half(result) ? float32 : is_floating(result) ? result : is_signed(result) ? int64 : uint64, result};
}

std::vector<ValueType> norm_types(const NodeSpec& node, const std::vector<ValueType>& in, const NewSymbols&) {
  ValueType result = in.at(0);
  const int axis = node.pattern.at(0);
  demand(axis < static_cast<int>(result.dims.size()) && !is_float8(result.dtype) && (is_floating(result.dtype) || takes_integers(node.name)));
  for (int symbol : result.dims) demand(symbol < kSizedSymbols || symbol >= kFreshSymbols);  // may have no greatest element
  if (node.name.ends_with("global_norm")) {
    demand(!is_half(result.dtype) && in.at(1).dtype == result.dtype && in[1].dims == result.dims && node.outputs == (node.name == "global_norm" ? 1 : 2));
    return node.outputs == 1 ? std::vector<ValueType>{{result.dtype, {}}} : std::vector<ValueType>{result, result};
  }
  if (node.name == "sigmoid_cross_entropy" || node.name == "shares_of_halves") demand(in.at(1).dtype == result.dtype && in[1].dims == result.dims);
  if (node.name == "cross_entropy") demand(in.at(1).dims == in[0].dims);
  if (is_told(node.name)) result.dtype = told_dtypes(result.dtype, node.pattern.at(3)).result;
  if (keeps_one(node.name)) result.dims[static_cast<std::size_t>(axis)] = kOne;
  if (drops_axis(node.name)) result.dims.erase(result.dims.begin() + axis);
  return {result};
}


/// log(sum(exp(x))), with the axis.
Tensor log_sum_exp(const Tensor& x, int axis) {
  const Tensor most = reduce_tensor("max", x, {axis}, true, x.dtype);
  const Tensor less = apply_row("sub", {x, most});
  Tensor result = apply_row("add", {apply_row("log", {reduce_tensor("sum", apply_row("exp", {less}), {axis}, true, x.dtype)}), most});
  for (std::size_t i = 0; i < most.elements.size(); ++i) {
    if (std::isinf(most.elements[i].value) && most.elements[i].error == 0) result.elements[i] = most.elements[i];
  }
  return result;
}

/// log(sum(exp(x))) of what has gone by, of each element as it is added: in as many steps as there are elements. It moves by no more than the element that moves most.
class RunningLogSumExp {
 public:
  Element add(const Element& x) {
    error_ = std::max(error_, x.error);
    if (std::isnan(x.value) || std::isnan(most_)) most_ = std::numeric_limits<Wide>::quiet_NaN();
    else if (x.value > most_) sum_ = sum_ * std::exp(most_ - x.value) + 1, most_ = x.value;
    else if (!std::isinf(most_)) sum_ += std::exp(x.value - most_);
    return {std::isfinite(most_) ? most_ + std::log(sum_) : most_, error_};
  }

 private:
  Wide most_ = -std::numeric_limits<Wide>::infinity(), sum_ = 0, error_ = 0;
};

Tensor computed(const NodeSpec& node, const Tensor& x, const std::vector<Tensor>& in) {
  const int axis = node.pattern[0];
  const std::string& name = node.name;
  const auto sum = [&](const Tensor& of, bool keep) { return reduce_tensor("sum", of, {axis}, keep, of.dtype); };
  if (name == "var" || name == "stddev" || name == "layer_norm") {
    const int freedom = name == "var" ? node.pattern[1] % 2 : 0;
    demand_extents(x.shape[axis] > freedom);
    const Tensor centred = apply_row("sub", {x, reduce_tensor("mean", x, {axis}, true, x.dtype)});
    Tensor squares = sum(apply_row("mul", {centred, centred}), name != "stddev");
    const Tensor mean = apply_row("true_div", {squares, number_like(x, static_cast<double>(x.shape[axis] - freedom))});
    if (name == "var") return mean;
    if (name == "stddev") return apply_row("sqrt", {mean});
    return apply_row("true_div", {centred, apply_row("sqrt", {apply_row("add", {mean, number_like(x, 0.5)})})});
  }
  if (name == "shares_of_halves") {
    const Tensor whole = apply_row("add", {apply_row("add", {sum(apply_row("abs", {x}), true), sum(apply_row("abs", {in[1]}), true)}), number_like(x, 0.5)});
    const auto share = [&](const Tensor& of, double factor) { return apply_row("mul", {apply_row("true_div", {of, whole}), number_like(x, factor)}); };
    return apply_row("sub", {share(x, 0.75), share(in[1], 0.5)});
  }
  if (name == "sum_told" || name == "prod_told" || name == "mean_told") return reduce_tensor(name.substr(0, name.size() - 5), x, {axis}, true, x.dtype);
  if (name == "cumsum_told" || name == "cumprod_told") return scan_tensor(name.substr(0, name.size() - 5), x, axis, node.pattern[2] != 0, node.pattern[1] % 2 != 0, x.dtype);
  const Tensor sizes = apply_row("abs", {x});
  if (name == "norm" || (name == "norm_p" && node.pattern[1] == 2)) return apply_row("sqrt", {sum(apply_row("mul", {x, x}), name == "norm")});
  if (name == "norm_p" && node.pattern[1] == 0) demand_extents(x.shape[axis] > 0);
  if (name == "norm_p" && node.pattern[1] == 0) return reduce_tensor("max", sizes, {axis}, false, x.dtype);
  if (name == "norm_p" && node.pattern[1] == 1) return sum(sizes, false);
  if (name == "norm_p") return apply_row("pow", {sum(apply_row("pow", {sizes, number_like(x, 3)}), false), number_like(x, 1.0 / 3)});
  demand_extents(x.shape[axis] > 0);
  if (name.ends_with("cross_entropy")) demand_extents(x.shape.size() > 0);  // of no rows there is no loss
  if (name == "logsumexp" || name == "log_sum_exp_by_hand") return log_sum_exp(x, axis);
  if (name == "logcumsumexp") {
    Tensor result = x;
    const std::int64_t extent = x.shape[axis], inner = inner_size(x.shape, axis);
    for (std::int64_t line = 0; line < x.shape.size() / extent; ++line) {
      RunningLogSumExp sum;
      for (std::int64_t k = 0; k < extent; ++k) {
        const std::int64_t place = node.pattern[2] ? extent - 1 - k : k;
        const auto at = static_cast<std::size_t>((line / inner * extent + place) * inner + line % inner);
        result.elements[at] = sum.add(x.elements[at]);
      }
    }
    for (Element& element : result.elements) element.error += static_cast<Wide>(extent) * (std::fabs(element.value) + 1) * (x.dtype == float64 ? 0x1p-51L : 0x1p-22L);
    return result;
  }
  if (name == "sigmoid_cross_entropy") {
    const Tensor &y = in[1], one = number_like(x, 1), off = apply_row("softplus", {apply_row("neg", {x})}), on = apply_row("softplus", {x});
    return apply_row("add", {apply_row("mul", {y, off}), apply_row("mul", {apply_row("sub", {one, y}), on})});
  }
  const Tensor less = apply_row("sub", {x, reduce_tensor("max", x, {axis}, true, x.dtype)}), powers = apply_row("exp", {less});
  if (name == "softmax") return apply_row("true_div", {powers, sum(powers, true)});
  const Tensor logarithms = apply_row("sub", {less, apply_row("log", {sum(powers, true)})});
  if (name != "cross_entropy") return logarithms;
  const Tensor labels = reduce_tensor("argmax", in[1], {axis}, false, int64);
  const std::int64_t extent = x.shape[axis], inner = inner_size(x.shape, axis);
  Tensor result{x.dtype, labels.shape, {}};
  for (std::int64_t i = 0; i < labels.shape.size(); ++i) {
    const Element& label = labels.elements[static_cast<std::size_t>(i)];
    const auto at = static_cast<std::int64_t>(label.value);
    if (!std::isfinite(label.error)) result.elements.push_back(label);
    else result.elements.push_back(logarithms.elements[static_cast<std::size_t>((i / inner * extent + at) * inner + i % inner)]);
  }
  return apply_row("neg", {result});
}

std::vector<Tensor> global_norms(const NodeSpec& node, const Tensor& x, const Tensor& y) {
  const auto squares = [](const Tensor& of) { return reduce_tensor("sum", apply_row("mul", {of, of}), all_axes(of), false, of.dtype); };
  const Tensor norm = apply_row("sqrt", {apply_row("add", {squares(x), squares(y)})}), limit = number_like(x, 2);
  if (node.name == "global_norm") return {norm};
  const Tensor factor = apply_row("true_div", {limit, apply_row("maximum", {norm, limit})});
  return {apply_row("mul", {x, factor}), apply_row("mul", {y, factor})};
}

std::vector<Tensor> norm_reference(const NodeSpec& node, const std::vector<Tensor>& in, const std::vector<DType>& dtypes) {
  if (node.name.ends_with("global_norm")) return global_norms(node, in[0], in[1]);
  const bool is_one_op = node.name != "layer_norm" && node.name != "shares_of_halves" && node.name != "sigmoid_cross_entropy" && !node.name.ends_with("_by_hand");  // whose steps round to 16 bits
  const DType inner = is_told(node.name) ? told_dtypes(in[0].dtype, node.pattern[3]).accumulator : is_half(in[0].dtype) && is_one_op ? float32 : in[0].dtype;
  const Tensor x = inner == in[0].dtype ? in[0] : cast_tensor(in[0], inner);
  Tensor result = computed(node, x, in);
  if (node.name.ends_with("_by_hand")) {  // exp overflows in what is written down, and does not in what rules make of it
    for (std::size_t i = 0; i < result.elements.size(); ++i) {
      if (is_half(in[0].dtype) || !(std::fabs(result.elements[i].value) < 40)) result.elements[i].error = std::numeric_limits<Wide>::infinity();
      else result.elements[i].error += (x.dtype == float64 ? 0x1p-45L : 0x1p-16L) * 40;
    }
    for (const Element& element : x.elements) {
      if (!(std::fabs(element.value) + element.error < 40)) std::fill(result.elements.begin(), result.elements.end(), Element{0, std::numeric_limits<Wide>::infinity()});
    }
  }
  return {cast_tensor(result, dtypes[0])};
}

}  // namespace

const OpFamily norms_family{"norms", draw_norm, norm_types, norms_node<Variable>, norms_node<Array>, norm_reference};

}  // namespace damo::testing
