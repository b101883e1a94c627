// Every op that has a gradient, and every gradient's op, held against central differences; and what verify_grad says of wrong ones.
#include <damo/damo.hpp>

#include <cxxabi.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>

#include "ops/rows.hpp"
#include "support/devices.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using ::testing::HasSubstr;
using Operands = std::span<const Variable>;

class VerifyGradOnEachDevice : public damo::testing::OnEachDevice {};

/// Different numbers between 0.2 and 1.8, in no order.
Array some_points(const Shape& shape, int from = 0) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.size(); ++i) values.push_back(0.2 + std::fmod(0.6180339887 * static_cast<double>(i + from + 1), 1.0) * 1.6);
  return Array::from(values, shape, Device("cpu"));
}

Array some_positions(const std::vector<std::int64_t>& values, const Shape& shape) { return Array::from(values, shape, Device("cpu")); }

/// Where the row is smooth and not steep.
std::pair<double, double> smooth_range(const ElementwiseRow& row, int input) {
  if (row.name == "pow" && input == 0) return {0.2, 3};
  if (row.name == "gamma" || row.name == "gammaln" || row.name == "psi" || row.name == "trigamma") return {0.7, 3};
  if (row.name == "polygamma") return input == 0 ? std::pair{2.0, 2.0} : std::pair{0.7, 3.0};
  if ((row.name == "mod" || row.name == "fmod" || row.name == "int_div" || row.name == "true_div") && input == 1) return {0.5, 3};
  if (row.name == "tan") return {-1.3, 1.3};
  const double low = std::max(row.low, -3.0), high = std::min(row.high, 3.0), margin = 0.1 * (high - low);
  return {low + margin, high - margin};
}

/// All rows of the table, each over a part of its range: from numbers between 0 and 2.
Variable all_rows(Operands in) {
  std::vector<Variable> results;
  for (const ElementwiseRow& row : builtin_rows()) {
    if (result_of(row, float64) != float64 || !takes(row, float64)) continue;
    std::vector<Variable> x;
    for (int i = 0; i < arity(row); ++i) {
      const auto [low, high] = smooth_range(row, i);
      x.push_back(in[static_cast<std::size_t>(i)] * ((high - low) / 2) + low);
    }
    const Variable first = row.condition_first ? gt(in[0], 1.0) : x[0];
    results.push_back(x.size() == 1 ? apply_elementwise(row, {first}) : x.size() == 2 ? apply_elementwise(row, {first, x[1]}) : apply_elementwise(row, {first, x[1], x[2]}));
  }
  return concatenate(results);
}

std::vector<GradientCase> cases_of_all_ops() {
  const Array v = some_points({5}), m = some_points({3, 4}), n = some_points({3, 4}, 20), t = some_points({2, 3, 2}), square = some_points({3, 3});
  const Array positions = some_positions({2, 0, 2, -1}, {4}), along = some_positions({2, 0, 1, 1, -1, 0, 0, 2}, {2, 4}), labels = some_positions({3, 0, 1}, {3});
  static const RawKernel doubler{{.name = "verified_doubler", .inputs = {"const double* x"}, .outputs = {"double* z"}, .scalars = {"int size"},
                                  .body = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < size) z[i] = x[i] * 2;",
                                  .gradient = [](auto g, auto, auto) { return g[0] * 2.0; }}};
  const auto state = [] { return RandomStream(constant({{uint64, {2}}, std::vector<std::byte>(16, std::byte{1})})); };
  return {
      {"rows", all_rows, {some_points({4}), some_points({4}, 7), some_points({4}, 11)}},
      {"broadcast", [](Operands x) { return x[0] * expand_dims(x[1], 0) + x[2]; }, {some_points({3, 5}), v, some_points({})}},
      {"specify_shape", [](Operands x) { return sqr(specify_shape(subtensor(x[0], gt(x[0], 0.0)), {12})); }, {m}},
      {"matrix_power", [](Operands x) { return matrix_power(subtensor(x[0], gt(sum(sqr(x[0]), 1), 0.0)), 2); }, {square}},  // of rows that a call counts
      {"bincount", [](Operands x) { return sqr(bincount(argsort(x[1]), x[0])); }, {v, some_points({5}, 9)}},
      {"arange", [](Operands x) { return sqr(arange(x[0], x[0] + 3.5 * x[1], x[1])); }, {some_points({}), some_points({}, 3)}},
      {"isclose", [](Operands x) { return where(isclose(x[0], 1.0, 0.3), sqr(x[0]), x[0]); }, {v}},
      {"where", [](Operands x) { return where(gt(x[0], 1.0), sqr(x[0]), x[1]); }, {v, some_points({5}, 9)}},
      {"sum", [](Operands x) { return sum(sqr(x[0]), 1); }, {m}},
      {"prod", [](Operands x) { return prod(x[0], 1); }, {m}},
      {"prod of zeros", [](Operands x) { return prod(x[0], 1); }, {Array::from({0.0, 2.0, 3.0, 1.5, 0.0, 0.0, 0.0, 0.0, 0.5}, {3, 3}, Device("cpu"))}},
      {"prod of zeros over several axes", [](Operands x) { return prod(x[0], {0, 2}); }, {Array::from({0.0, 2.0, 1.5, 3.0, 0.5, 1.2, 0.7, 0.0}, {2, 2, 2}, Device("cpu"))}},
      {"mean", [](Operands x) { return mean(exp(x[0]), 1, true); }, {m}},
      {"var", [](Operands x) { return var(x[0], 1, false, 1); }, {m}},
      {"stddev", [](Operands x) { return stddev(x[0], 1); }, {m}},
      {"norm", [](Operands x) { return norm(x[0], 1); }, {m}},
      {"logsumexp", [](Operands x) { return logsumexp(x[0], 1); }, {m}},
      {"max", [](Operands x) { return max(x[0], 1) * min(x[0], 1); }, {m}},
      {"max_and_argmax", [](Operands x) {
         const auto [values, positions] = max_and_argmax(sqr(x[0]), 0);
         return values * cast(positions + 1, float64);
       }, {m}},
      {"argmax", [](Operands x) { return sum(x[0], 1) * cast(argmax(x[0], 1), float64); }, {m}},
      {"softmax", [](Operands x) { return softmax(x[0]); }, {m}},
      {"log_softmax", [](Operands x) { return log_softmax(x[0]); }, {m}},
      {"cross_entropy", [](Operands x) { return cross_entropy(x[0], x[1]); }, {m, labels}},
      {"sigmoid_cross_entropy of rows that show at the call", [](Operands x) { return sigmoid_cross_entropy(subtensor(x[0], gt(x[0], 0.0)), 0.25); }, {m}},
      {"attention", [](Operands x) { return nn::attention(x[0], x[1], x[1] * x[2], {.causal = true}); }, {t, some_points({2, 3, 2}, 5), some_points({2, 3, 2}, 8)}},
      {"cumsum", [](Operands x) { return cumsum(sqr(x[0]), 1); }, {m}},
      {"cumprod", [](Operands x) { return cumprod(x[0], 1); }, {m}},
      {"cummax", [](Operands x) { return cummax(x[0], 1); }, {m}},
      {"logcumsumexp", [](Operands x) { return logcumsumexp(x[0], 1); }, {m}},
      {"dimshuffle", [](Operands x) { return sqr(dimshuffle(x[0], {1, kNewAxis, 0})); }, {m}},
      {"reshape", [](Operands x) { return sqr(reshape(x[0], {4, -1})); }, {m}},
      {"broadcast_to", [](Operands x) { return sqr(broadcast_to(x[0], {2, 5})); }, {v}},
      {"contiguous", [](Operands x) { return sqr(contiguous(transpose(x[0]))); }, {m}},
      {"concatenate", [](Operands x) { return sqr(concatenate({x[0], x[1], x[0]}, 1)); }, {m, some_points({3, 2})}},
      {"stack", [](Operands x) { return sqr(stack({x[0], x[1]}, 1)); }, {m, n}},
      {"split", [](Operands x) { return sqr(split(x[0], {1, 3}, 1)[1]); }, {m}},
      {"roll", [](Operands x) { return sqr(roll(x[0], 2, 1)); }, {m}},
      {"tile", [](Operands x) { return sqr(tile(x[0], {2, 2})); }, {m}},
      {"pad", [](Operands x) { return sqr(pad(x[0], {{1, 0}, {0, 2}}, x[1])); }, {m, some_points({})}},
      {"subtensor", [](Operands x) { return sqr(subtensor(x[0], {1, {std::nullopt, std::nullopt, -1}})); }, {m}},
      {"set_subtensor", [](Operands x) { return sqr(set_subtensor(x[0], {{1, 3}}, x[1])); }, {m, some_points({2, 4}, 3)}},
      {"inc_subtensor", [](Operands x) { return sqr(inc_subtensor(x[0], {{1, 3}}, x[1])); }, {m, some_points({4}, 3)}},
      {"take", [](Operands x) { return sqr(take(x[0], x[1], 1)); }, {some_points({2, 3}), positions}},
      {"put", [](Operands x) { return sqr(put(x[0], x[2], x[1])) + sqr(ravel(x[0])); }, {some_points({4}), some_points({4}, 3), positions}},
      {"subtensor of tensors", [](Operands x) { return sqr(subtensor(x[0], {x[1], {}, x[1]})); }, {t, some_positions({1, 0, 1}, {3})}},
      {"set_subtensor of tensors", [](Operands x) { return sqr(set_subtensor(x[1], {x[2], {1, 3}}, x[0])); }, {some_points({4, 2}, 3), m, positions}},
      {"inc_subtensor of tensors", [](Operands x) { return sqr(inc_subtensor(x[0], {x[2], x[2]}, x[1])); }, {m, some_points({4}, 3), positions}},
      {"take_along_axis", [](Operands x) { return sqr(take_along_axis(x[0], x[1], 0)); }, {m, along}},
      {"put_along_axis", [](Operands x) { return sqr(put_along_axis(x[0], x[1], x[2], 0)) * put_along_axis(x[0], cast(index_along(x[0], 1), int64), sum(x[2]), 1); }, {m, along, some_points({4}, 3)}},
      {"masked", [](Operands x) {
         const Variable each = gt(x[0], 1.0);
         const Variable rows = lt(sum(x[0], 1), 100.0);
         return 0.1 * sqr(inc_subtensor(x[0], each, 2.0)) * mean(sqr(subtensor(x[0], each))) + mean(sqr(flatten(subtensor(x[0], rows)))) * set_subtensor(x[0], rows, x[1]) + mean(cast(nonzero(each)[1], float64));
       }, {m, n}},
      {"dot", [](Operands x) { return dot(x[0], x[1]); }, {m, some_points({4, 2}, 5)}},
      {"matmul", [](Operands x) { return matmul(x[0], x[1]); }, {t, some_points({2, 2, 3}, 5)}},
      {"tensordot", [](Operands x) { return tensordot(x[0], x[1], 1); }, {t, some_points({2, 3}, 5)}},
      {"outer", [](Operands x) { return outer(x[0], x[1]) * vdot(x[0], x[0]); }, {v, some_points({2}, 5)}},
      {"einsum", [](Operands x) { return einsum("ii,ij->i", {x[0], x[1]}); }, {square, some_points({3, 2}, 5)}},
      {"conv1d", [](Operands x) { return conv1d(x[0], x[1], {.stride = 2, .padding = 1}); }, {some_points({1, 2, 5}), some_points({2, 2, 3}, 5)}},
      {"pool", [](Operands x) { return max_pool1d(x[0], 2) * avg_pool1d(x[0], 2); }, {some_points({1, 2, 4})}},
      {"scan", [](Operands x) { return Variable(scan({.sequences = {x[0]}, .initial = {x[1]}}, [](const Variable& row, const Variable& h) { return tanh(row + h); })); }, {m, some_points({4}, 3)}},
      {"ifelse", [](Operands x) { return ifelse(gt(sum(x[0]), 0.0), sqr(x[0]), x[0]); }, {v}},
      {"sort", [](Operands x) { return sqr(sort(x[0])) * topk(x[0], 4).values; }, {some_points({3, 4})}},
      {"searchsorted", [](Operands x) { return cast(searchsorted(sort(x[0]), x[1]), float64) * x[1]; }, {v, some_points({5}, 30)}},
      {"normal", [state](Operands x) { return state().normal({5}, x[0], x[1], float64); }, {v, some_points({5}, 3)}},
      {"dropout", [state](Operands x) { return state().dropout(sqr(x[0]), 0.4); }, {v}},
      {"raw kernel", [](Operands x) { return sqr(doubler(x[0])); }, {v}},
      {"with_gradient", [](Operands x) { return sqr(with_gradient(sin(x[0]), {x[0]}, [](auto in, auto, auto g) { return Gradients(g[0] * cos(in[0])); })); }, {v}},
      {"recompute", [](Operands x) { return sqr(recompute(tanh(dot(x[0], x[1])), {x[0]})); }, {m, some_points({4, 2}, 5)}},
      {"observe", [](Operands x) { return sqr(observe(x[0], [](const Array&) {})); }, {v}},
      {"grad_clip", [](Operands x) { return grad_clip(x[0], -1e9, 1e9) + sqr(x[0]); }, {v}},
      {"consider_constant", [](Operands x) { return x[0] + consider_constant(gt(x[0], 1.0)) + disconnected_grad(floor(x[0])); }, {v}},
  };
}

/// The same for the gradient of each case by its first point: the ops that gradients are made of have theirs.
std::vector<GradientCase> gradients_of(const std::vector<GradientCase>& cases) {
  std::vector<GradientCase> gradients;
  for (const GradientCase& one : cases) {
    gradients.push_back({"the gradient of " + one.name, [graph = one.graph](Operands x) {
      const Variable y = graph(x);
      return lop(y, cos(y), x[0], Disconnected::kZero);
    }, one.points});
  }
  return gradients;
}

void collect(const Variable& variable, std::set<std::size_t>& seen, std::set<std::string>& classes) {
  if (!variable.has_owner() || !seen.insert(variable.owner().output().id()).second) return;
  const Op& op = variable.owner().op();
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(typeid(op).name(), nullptr, nullptr, &status), std::free);
  const std::string whole = name.get();
  classes.insert(whole.substr(whole.rfind(':') + 1));
  for (const Variable& input : variable.owner().inputs()) collect(input, seen, classes);
}

/// Classes under src that override Op::gradient and are no bases of others.
std::set<std::string> classes_with_gradients() {
  std::set<std::string> classes;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(DAMO_SOURCE_DIR "/src")) {
    const std::string extension = entry.path().extension();
    if (extension != ".cpp" && extension != ".hpp") continue;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    const std::string source = text.str(), head = "\nclass ";
    for (std::size_t at = 0; (at = source.find("\n  Gradients gradient(const Apply", at)) != std::string::npos; ++at) {
      const std::size_t begin = source.rfind(head, at) + head.size();
      classes.insert(source.substr(begin, source.find(' ', begin) - begin));
    }
  }
  classes.erase("DecompositionOp");  // needs a library: tests/linalg/decompositions_test.cpp holds each kind against differences
  classes.erase("ExpmOp");       // likewise: tests/linalg/matrix_functions_test.cpp
  classes.erase("FourierOp");    // likewise on a GPU: tests/fourier/fft_test.cpp
  classes.erase("StretchesOp");  // stands in scan_checkpoints alone: tests/loop/checkpoints_test.cpp holds its gradient against scan's
  classes.erase("ReshapingOp");  // abstract: each of those that derive from it makes its reshape
  classes.erase("LookOp");       // likewise
  classes.erase("CheckedShapesOp");  // abstract: stands where extents are not known, which those of a case are; tests/function/shape_test.cpp
  return classes;
}

TEST(VerifyGrad, IsRunForEachClassThatOverridesGradient) {
  std::set<std::string> verified;
  std::vector<GradientCase> cases = cases_of_all_ops();
  const std::vector<GradientCase> second = gradients_of(cases);
  cases.insert(cases.end(), second.begin(), second.end());
  for (const GradientCase& one : cases) {
    std::vector<Variable> inputs;
    for (const Array& point : one.points) inputs.push_back(input({point.dtype(), point.shape()}));
    std::set<std::size_t> seen;
    collect(one.graph(inputs), seen, verified);
  }
  for (const std::string& name : classes_with_gradients()) EXPECT_TRUE(verified.contains(name)) << name << " has a gradient: give it a case in cases_of_all_ops()";
}

TEST_P(VerifyGradOnEachDevice, OfEachOpIsItsCentralDifference) {
  if (!DAMO_HAS_CPU) GTEST_SKIP() << "needs the CPU back end";
  verify_grad(cases_of_all_ops(), {.device = device()});
}

TEST_P(VerifyGradOnEachDevice, OfEachGradientIsItsCentralDifference) {
  if (!DAMO_HAS_CPU) GTEST_SKIP() << "needs the CPU back end";
  verify_grad(gradients_of(cases_of_all_ops()), {.tolerance = 1e-5, .device = device()});
}

TEST_P(VerifyGradOnEachDevice, NamesTheWorstElementThatDiffers) {
  const auto wrong = [](Operands x) {
    return with_gradient(x[1] * sqr(x[0]), {x[0], x[1]}, [](auto in, auto, auto g) { return std::vector<Variable>{g[0] * 2.0 * in[0] * in[1], g[0] * sqr(in[0]) * where(gt(in[0], 2.5), 1.5, 1.0)}; });
  };
  const Array x = Array::from(std::vector<float>{1, 2, 3, 1}, {2, 2}, device());
  const std::string text = error_of([&] { verify_grad(wrong, {x, x}, {.device = device()}); });
  EXPECT_THAT(text, HasSubstr("verify_grad: the gradient by input 1 at (1, 0), where it is 3, is "));
  EXPECT_THAT(text, HasSubstr(", the central difference "));
  EXPECT_THAT(text, HasSubstr(" is allowed"));
  const GradientCase both[] = {{"good", [](Operands v) { return sqr(v[0]); }, {x}}, {"bad", wrong, {x, x}}};
  const std::string named = error_of([&] { verify_grad(both, {.device = device()}); });
  EXPECT_THAT(named, HasSubstr("verify_grad: bad: the gradient by input 1"));
  EXPECT_THAT(named, ::testing::Not(HasSubstr("good")));
}

TEST_P(VerifyGradOnEachDevice, RefusesWhatIsSaidToBeDisconnectedAndIsNot) {
  const Array x = Array::from(std::vector<double>{1, 2}, device());
  EXPECT_THAT(error_of([&] { verify_grad([](Operands v) { return disconnected_grad(sqr(v[0])); }, {x}, {.device = device()}); }), HasSubstr("where it is 2, is 0, the central difference "));
  EXPECT_THAT(error_of([&] { verify_grad([](Operands v) { return log(v[0] - 1.0); }, {x}, {.device = device()}); }), HasSubstr("the central difference nan")) << "a NaN is no number that is small enough";
  EXPECT_THAT(error_of([&] { verify_grad([](Operands v) { return argmax(v[0]); }, {x}, {.device = device()}); }), HasSubstr("which has no gradient"));
  EXPECT_THAT(error_of([&] { verify_grad([](Operands v) { return v[0]; }, {Array()}, {.device = device()}); }), HasSubstr("verify_grad: point 0 is an empty Array"));
}

DAMO_ON_EACH_DEVICE(VerifyGradOnEachDevice);

}  // namespace
}  // namespace damo
