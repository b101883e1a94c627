// What is refused before an op is built, and what Damo builds of several ops, tells the line of the user's call (src/graph/user_line.hpp).
#include <damo/damo.hpp>

#include <cmath>

#include <gmock/gmock.h>

#include "support/devices.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

TEST(UserLine, IsInErrorsOfFunctionsThatCheckBeforeTheyBuild) {
  const Variable x = matrix("x"), v = vector("v"), i = vector("i", int64), none;
  const RandomStream random(1, Device("null"));
  const Variable k = input({float32, {3, 4}}, "k");
  const std::pair<const char*, std::function<void()>> mistakes[] = {
      {"squeeze", [&] { squeeze(x, 0); }}, {"squeeze", [&] { squeeze(k, 0); }}, {"swap_axes", [&] { swap_axes(x, 0, 2); }}, {"flip", [&] { flip(x, 2); }},
      {"tile", [&] { tile(x, {-1}); }}, {"repeat", [&] { repeat(x, 2, 3); }}, {"repeat", [&] { repeat(x, -2, 0); }}, {"expand_dims", [&] { expand_dims(x, 5); }},
      {"flatten", [&] { flatten(x, 1, 0); }}, {"concatenate", [&] { concatenate({x, v}); }}, {"concatenate", [&] { concatenate({x, none}); }}, {"stack", [&] { stack({k, input({float32, {5, 4}})}); }},
      {"split", [&] { split(k, {1, 1}); }}, {"split", [&] { split(x, {-1, 1}); }}, {"roll", [&] { roll(x, 1, 2); }}, {"pad", [&] { pad(x, {{1, 1}}); }}, {"pad", [&] { pad(v, {{-1, 1}}); }},
      {"sort", [&] { sort(x, 3); }}, {"argsort", [&] { argsort(scalar("s")); }}, {"take", [&] { take(x, v); }}, {"take", [&] { take(x, i, 4); }}, {"take_along_axis", [&] { take_along_axis(x, i, 4); }}, {"put_along_axis", [&] { put_along_axis(x, i, 1.0, 4); }},
      {"one_hot", [&] { one_hot(v, 3); }}, {"one_hot", [&] { one_hot(i, -3); }}, {"nonzero", [&] { nonzero(scalar("s")); }}, {"subtensor", [&] { subtensor(x, v); }}, {"subtensor", [&] { subtensor(x, {0, 1, 2}); }}, {"subtensor", [&] { subtensor(x, {i, v}); }}, {"inc_subtensor", [&] { inc_subtensor(cast(x, int32), {i}, 0.5); }}, {"set_subtensor", [&] { set_subtensor(x, v, 0.0); }},
      {"print", [&] { print(x, "x", {"mode"}); }}, {"observe", [&] { observe(x, nullptr); }}, {"max_and_argmax", [&] { max_and_argmax(x, 2); }}, {"put", [&] { put(x, v, 1); }}, {"isclose", [&] { isclose(x, 1, -1); }}, {"allclose", [&] { allclose(x, x, -1); }}, {"grad_clip", [&] { grad_clip(x, 2, 1); }}, {"conv2d", [&] { conv2d(tensor4("a"), tensor4("b"), {.stride = 0}); }},
      {"max_pool2d", [&] { max_pool2d(tensor4("a"), 2, {.padding = 2}); }}, {"inv", [&] { inv(v); }}, {"tril", [&] { tril(v); }}, {"specify_shape", [&] { specify_shape(k, {3, 5}); }},
      {"uniform", [&] { random.uniform({3}, 2, 1); }}, {"normal", [&] { random.normal({3}, 0, 1, int32); }}, {"poisson", [&] { random.poisson({-1}, 2.0); }}, {"dropout", [&] { random.dropout(x, 2); }},
      {"sum", [&] { sum(x, {}, {.dtype = int32}); }}, {"norm", [&] { norm(x, {}, {.ord = NAN}); }},
      {"quantile", [&] { quantile(x, 2); }}, {"median", [&] { median(x, 3); }}, {"bincount", [&] { bincount(v); }}, {"confusion_matrix", [&] { confusion_matrix(v, v); }},
      {"choose", [&] { choose(v, {v}); }}, {"meshgrid", [&] { meshgrid({x}); }}, {"matrix_power", [&] { matrix_power(v, 2); }}, {"expm", [&] { expm(k); }}, {"lstsq", [&] { lstsq(v, v); }},
      {"convolve", [&] { convolve(x, v); }}, {"bilinear_upsampling", [&] { bilinear_upsampling(x, 2); }}, {"separable_conv2d", [&] { separable_conv2d(x, x, x); }},
      {"constant", [&] { constant(Array()); }}};
  for (const auto& [name, mistake] : mistakes) {
    EXPECT_THAT(error_of(mistake), AllOf(HasSubstr(name), HasSubstr(std::string(name) + " built at "), HasSubstr("errors/user_line_test.cpp:")));
  }
  EXPECT_THAT(error_of([&] { swap_axes(x, 0, 2); }), HasSubstr("x float32 (?, ?)"));
  EXPECT_THAT(error_of([&] { grad(cast(x, int32), x); }), HasSubstr("errors/user_line_test.cpp:"));
  EXPECT_THAT(error_of([&] { grad(sum(cast(x, int32)), x); }), HasSubstr("errors/user_line_test.cpp:"));
}

std::vector<std::string> files_of(const Function& f) {
  std::vector<std::string> files;
  for (NodeId node : f.graph().nodes()) {
    if (f.graph().where(node)) files.push_back(to_string(f.graph().where(node)));
  }
  return files;
}

TEST(UserLine, IsThatOfALayersCallInTheNodesOfTheLayerAndInItsErrors) {
  nn::Init init(1, float32, Device("null"));
  const nn::Embedding words(init, "words", 5, 4);
  const nn::LayerNorm norm(init, "norm", 4);
  const nn::LSTM lstm(init, "lstm", 4, 3);
  const nn::Linear linear(init, "linear", 3, 2);
  const nn::Conv2d conv(init, "conv", 2, 3, 3);
  const nn::Conv1d line(init, "line", 2, 3, 3);
  const Variable i = matrix("i", int64), x = tensor4("x");
  const Variable h = lstm(norm(words(i))).hidden, scores = linear(h);
  const Function f = function({i, x}, {sum(scores) + sum(conv(x)) + sum(line(subtensor(x, {0})))}, {.fuse = false, .device = Device("null")});
  EXPECT_GT(files_of(f).size(), 10u);
  EXPECT_THAT(files_of(f), Each(HasSubstr("errors/user_line_test.cpp:")));
  EXPECT_THAT(error_of([&] { words(vector("v")); }), HasSubstr("errors/user_line_test.cpp:"));
}

TEST(UserLine, IsThatOfTheCallOfWhatIsMadeOfSeveralOps) {
  const Variable x = matrix("x"), v = vector("v"), i = vector("i", int64), w = input({float32, {3}}, "w"), pictures = input({float32, {kUnknown, 2, kUnknown, kUnknown}}, "pictures");
  const std::vector<Variable> outputs = {ptp(x), median(x, 0), quantile(x, 0.3), bincount(i), bincount(i, v), unique(x).inverse, confusion_matrix(i, i).matrix, choose(i, {v, w}), meshgrid({v, w})[0],
                                         kron(x, v), matrix_power(x, 0), convolve(v, w, ConvolveMode::kSame), bilinear_upsampling(pictures, 2), allclose(x, x), put(x, i, v), ravel(x), max_and_argmax(x, 0).values};
  const Variable inputs[] = {x, v, i, w, pictures};
  const Function f = function(inputs, outputs, {.fuse = false, .device = Device("null")});
  EXPECT_GT(files_of(f).size(), 50u);
  EXPECT_THAT(files_of(f), Each(HasSubstr("errors/user_line_test.cpp:")));
}

TEST(UserLine, IsThatOfTheNodeInItsGradientAndInWhatItsOpWrapsItsInputsIn) {
  const Variable x = input({float32, {4, 4}}, "x"), q = input({float32, {kUnknown, 4, kUnknown, 8}}, "q"), pictures = tensor4("pictures"), state = input({uint64, {2}}, "state");
  const RandomStream random(state);
  const Variable inputs[] = {x, q, pictures, state};
  const Variable cost = sum(nn::attention(q, q, q)) + sum(pinv(x)) + sum(random.normal({4, 4}, x, x)) + sum(conv2d(pictures, pictures)) + sum(max_pool2d(pictures, 2)) + sum(rfft(x)) + sum(tril(x));
  const Function f = function(inputs, grad(cost, {x, q, pictures}), {.fuse = false, .rewrite = false, .device = Device("null")});
  EXPECT_GT(files_of(f).size(), 50u);
  EXPECT_THAT(files_of(f), Each(HasSubstr("errors/user_line_test.cpp:")));
  EXPECT_THAT(error_of([&] { lstsq(x, input({float32, {5}})); }), HasSubstr("errors/user_line_test.cpp:"));
}

TEST(UserLine, IsThatOfAnOptimizersCallInItsUpdatesAndItsErrors) {
  const Shared w = shared("w", Array::zeros({3}, float32, Device("null"))), other = shared("other", Array::zeros({3}, float32, Device("null")));
  const Variable cost = sum(sqr(w));
  const Function f = function({}, {cost}, {.fuse = false, .device = Device("null"), .updates = optim::adam(cost, {w}, 0.1)});
  EXPECT_THAT(files_of(f), Each(HasSubstr("errors/user_line_test.cpp:")));
  EXPECT_THAT(error_of([&] { optim::adam(cost, {w, other}, 0.1); }), AllOf(HasSubstr("other float32 (3,) is not part of the graph"), HasSubstr("in the gradient asked for at "), HasSubstr("errors/user_line_test.cpp:")));
}

}  // namespace
}  // namespace damo
