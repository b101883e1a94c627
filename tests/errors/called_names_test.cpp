// Errors name the function that was called, not one that it is made of, with the operands and the line of the call; a bad axis is told in one wording everywhere.
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "support/devices.hpp"
#include "support/errors.hpp"

namespace damo {
namespace {

using testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using Sizes = std::vector<std::int64_t>;

struct Called {
  const char* name;
  std::function<void(const Variable& x, int axis)> on_variable;
  std::function<void(const Array& x, int axis)> on_array;
};

#define DAMO_CALLED(name, call) \
  Called { name, [](const Variable& x, int axis) { static_cast<void>(call); }, [](const Array& x, int axis) { static_cast<void>(call); } }

const Called kAlongAnAxis[] = {
    DAMO_CALLED("sum", sum(x, axis)), DAMO_CALLED("mean", mean(x, axis)), DAMO_CALLED("prod", prod(x, axis)), DAMO_CALLED("max", max(x, axis)), DAMO_CALLED("argmin", argmin(x, axis)),
    DAMO_CALLED("max_and_argmax", max_and_argmax(x, axis)), DAMO_CALLED("index_along", index_along(x, axis)),
    DAMO_CALLED("var", var(x, axis)), DAMO_CALLED("all", all(x, axis)), DAMO_CALLED("logsumexp", logsumexp(x, axis)), DAMO_CALLED("norm", norm(x, axis)), DAMO_CALLED("median", median(x, axis)),
    DAMO_CALLED("quantile", quantile(x, 0.5, axis)), DAMO_CALLED("sort", sort(x, axis)), DAMO_CALLED("argsort", argsort(x, axis)), DAMO_CALLED("topk", topk(x, 1, axis)),
    DAMO_CALLED("softmax", softmax(x, axis)), DAMO_CALLED("log_softmax", log_softmax(x, axis)), DAMO_CALLED("cumsum", cumsum(x, axis)), DAMO_CALLED("squeeze", squeeze(x, axis)),
    DAMO_CALLED("flip", flip(x, axis)), DAMO_CALLED("swap_axes", swap_axes(x, 0, axis)), DAMO_CALLED("roll", roll(x, 1, axis)), DAMO_CALLED("repeat", repeat(x, 2, axis)),
    DAMO_CALLED("flatten", flatten(x, 0, axis)), DAMO_CALLED("split", split(x, Sizes{1, 1}, axis)), DAMO_CALLED("rfft", rfft(x, axis)),
};

TEST(CalledNames, ABadAxisIsToldInOneWording) {
  const Variable x = matrix("x");
  const Array values = Array::zeros({2, 3});
  for (const Called& f : kAlongAnAxis) {
    const std::string begin = std::string(f.name) + ": axis 3 does not exist: x has 2 axes", remedy = "give an axis from -2 to 1";
    EXPECT_THAT(error_of<ShapeError>([&] { f.on_variable(x, 3); }), AllOf(StartsWith(begin), HasSubstr(remedy), HasSubstr("x float32 (?, ?)"), HasSubstr(std::string(f.name) + " built at"), HasSubstr("called_names_test.cpp:")));
    EXPECT_THAT(error_of<ShapeError>([&] { f.on_array(values, 3); }), AllOf(StartsWith(begin), HasSubstr(remedy)));
    EXPECT_THAT(error_of<ShapeError>([&] { f.on_array(values, -3); }), StartsWith(std::string(f.name) + ": axis -3 does not exist"));
  }
  EXPECT_THAT(error_of<ShapeError>([&] { stack({x, x}, 4); }), AllOf(StartsWith("stack: axis 4 does not exist: the result has 3 axes"), HasSubstr("stack built at")));
  EXPECT_THAT(error_of<ShapeError>([&] { stack({values, values}, 4); }), StartsWith("stack: axis 4 does not exist: the result has 3 axes"));
  EXPECT_THAT(error_of<ShapeError>([&] { concatenate({values, values}, 2); }), StartsWith("concatenate: axis 2 does not exist: each tensor has 2 axes"));
  EXPECT_THAT(error_of<ShapeError>([&] { fft(x, 1); }), StartsWith("fft: axis 1 does not exist: x beside its pairs has 1 axis\n"));
  EXPECT_THAT(error_of<ShapeError>([&] { sum(scalar("s"), 0); }), AllOf(StartsWith("sum: x has no axis"), HasSubstr("expand_dims(x, 0)")));
}

TEST(CalledNames, ArithmeticOnEightBitFloatsNamesWhatWasCalled) {
  const Variable x = input({float8_e4m3, {3, 4}}, "x");
  const auto refused = [&](const char* name, auto call) {
    EXPECT_THAT(error_of<TypeError>([&] { static_cast<void>(call()); }), AllOf(StartsWith(std::string(name) + " does not compute with float8_e4m3"), HasSubstr("x float8_e4m3 (3, 4)"), HasSubstr(std::string(name) + " built at"), HasSubstr("cast it to float32")));
  };
  refused("sum", [&] { return sum(x); });
  refused("var", [&] { return var(x); });
  refused("norm", [&] { return norm(x); });
  refused("logsumexp", [&] { return logsumexp(x); });
  refused("softmax", [&] { return softmax(x); });
  refused("median", [&] { return median(x); });
  refused("sort", [&] { return sort(x); });
  refused("topk", [&] { return topk(x, 2); });
  refused("searchsorted", [&] { return searchsorted(x, x); });
}

TEST(CalledNames, WhatIsMadeOfSeveralOpsNamesItself) {
  const Variable x = matrix("x"), v = vector("v");
  EXPECT_THAT(error_of<ShapeError>([&] { topk(x, -1); }), AllOf(StartsWith("topk: the count is -1"), HasSubstr("x float32 (?, ?)"), HasSubstr("topk built at"), Not(HasSubstr("argsort"))));
  EXPECT_THAT(error_of<ShapeError>([&] { searchsorted(x, v); }), AllOf(StartsWith("searchsorted: the sorted elements have 2 axes, not 1"), HasSubstr("searchsorted built at")));
  EXPECT_THAT(error_of<ShapeError>([&] { trace(v); }), AllOf(StartsWith("trace: x is no matrix: v float32 (?,)"), HasSubstr("trace built at"), Not(HasSubstr("diagonal"))));
  EXPECT_THAT(error_of<ShapeError>([] { trace(Array::zeros({3})); }), StartsWith("trace: x is no matrix"));
}

struct Composed {
  std::string begin;
  std::function<void()> on_variables, on_arrays;
  std::string remedy;
};

TEST(CalledNames, WhatAnOpRefusesIsToldOfTheFunctionThatIsMadeOfIt) {
  const Variable i = input({int64, {3}}, "i"), i4 = input({int64, {4}}, "i4"), k = input({float32, {3, 4}}, "k"), w = input({float32, {5}}, "w"), b = input({bool_, {3, 4}}, "b"), e = input({float8_e4m3, {2, 2}}, "e");
  const Array ai = Array::zeros({3}, int64), ai4 = Array::zeros({4}, int64), ak = Array::zeros({3, 4}), aw = Array::zeros({5}), ab = Array::zeros({3, 4}, bool_), ae = Array::zeros({2, 2}, float8_e4m3);
  const std::int64_t huge = std::int64_t{1} << 62;
  const Composed all[] = {
      {"choose: cannot broadcast (3,) with (5,)", [&] { choose(i, {w, w}); }, [&] { choose(ai, {aw, aw}); }, "reshape or transpose one of them"},
      {"ptp takes numbers, not bool", [&] { ptp(b); }, [&] { ptp(ab); }, "cast(x, int32)"},
      {"ptp: axis 4 does not exist: x has 2 axes", [&] { ptp(k, 4); }, [&] { ptp(ak, 4); }, "give an axis from -2 to 1"},
      {"ptp does not compute with float8_e4m3", [&] { ptp(e); }, [&] { ptp(ae); }, "cast it to float32"},
      {"unique does not compute with float8_e4m3", [&] { unique(e); }, [&] { unique(ae); }, "cast it to float32"},
      {"nonzero does not compute with float8_e4m3", [&] { nonzero(e); }, [&] { nonzero(ae); }, "cast it to float32"},
      {"flatnonzero does not compute with float8_e4m3", [&] { flatnonzero(e); }, [&] { flatnonzero(ae); }, "cast it to float32"},
      {"kron: float8_e4m3 and float32 have no common dtype", [&] { kron(e, k); }, [&] { kron(ae, ak); }, "cast it to float32"},
      {"lstsq: the matrix has 3 rows, the right side 5: (3, 4), (5,)", [&] { lstsq(k, w); }, [&] { lstsq(ak, aw); }, "give both as many rows"},
      {"split: the parts have more than 2^63 elements along axis 0", [&] { split(k, {huge, huge}); }, [&] { split(ak, {huge, huge}); }, "sizes add up to x's extent"},
      {"split: the parts have 2 elements along axis 0, x has 3", [&] { split(k, {1, 1}); }, [&] { split(ak, {1, 1}); }, "sizes add up to x's extent"},
      {"confusion_matrix: 3 actual labels, 4 predicted ones", [&] { confusion_matrix(i, i4); }, [&] { confusion_matrix(ai, ai4); }, "give each sample both"},
      {"bincount: weights of shape (5,) for x of shape (3,)", [&] { bincount(i, w); }, [&] { bincount(ai, aw); }, "give each element a weight"},
      {"repeat: shape (3, 4611686018427387904", [&] { repeat(k, huge, 0); }, [&] { repeat(ak, huge, 0); }, "give lesser extents"},
      {"tile: shape (4611686018427387904, 3", [&] { tile(k, {huge, 1}); }, [&] { tile(ak, {huge, 1}); }, "give lesser extents"},
      {"solve: the right side has no axes", [&] { solve(k, scalar("s")); }, [&] { solve(ak, Array::zeros({})); }, "give it as many rows as the matrix"},
      {"pad: axis 0 would have more than 2^63 elements", [&] { pad(k, {{huge, huge}, {0, 0}}); }, [&] { pad(ak, {{huge, huge}, {0, 0}}); }, "give lesser widths"},
      {"cholesky_solve: the matrix has 3 rows, the right side 5", [] { cholesky_solve(input({float32, {3, 3}}), input({float32, {5}})); }, [&] { cholesky_solve(Array::zeros({3, 3}), aw); }, "give both as many rows"},
      {"isclose: the tolerances are 0.1 and -1", [&] { isclose(k, k, 0.1, -1); }, [&] { isclose(ak, ak, 0.1, -1); }, "give numbers that are not negative"},
      {"allclose: cannot broadcast (3, 4)", [&] { allclose(k, w); }, [&] { allclose(ak, aw); }, "reshape or transpose one of them"},
      {"allclose does not compute with float8_e4m3", [&] { allclose(e, e); }, [&] { allclose(ae, ae); }, "cast it to float32"},
      {"put: positions are integers", [&] { put(k, w, 1); }, [&] { put(ak, aw, aw); }, "int64"},
      {"put: y of shape (5,) does not fit to the part of x, whose shape is (3,)", [&] { put(k, i, w); }, [&] { put(ak, ai, aw); }, "broadcast or reshape it"},
      {"specify_shape: (3, 4) is not the (?, 5) that was declared", [&] { specify_shape(k, {-1, 5}); }, [&] { specify_shape(ak, {-1, 5}); }, "declare kUnknown where other extents may come"},
      {"concatenate: (5,) has another number of axes than (3, 4)", [&] { concatenate({k, w}); }, [&] { concatenate({ak, aw}); }, "expand_dims or reshape gives it as many"},
      {"concatenate: there are no tensors", [] { concatenate(std::vector<Variable>()); }, [] { concatenate(std::vector<Array>()); }, "give at least one"},
      {"stack: (5,) is another shape than (3, 4)", [&] { stack({k, w}); }, [&] { stack({ak, aw}); }, "broadcast_to or reshape makes them equal"},
      {"flatten: axis 1 comes after axis 0", [&] { flatten(k, 1, 0); }, [&] { flatten(ak, 1, 0); }, "swap the two"},
      {"squeeze: axis 0 has 3 elements, not 1", [&] { squeeze(k, 0); }, [&] { squeeze(ak, 0); }, "subtensor takes one of them"},
      {"subtensor: 3 indices for 2 axes", [&] { subtensor(k, {0, 0, 0}); }, [&] { subtensor(ak, {0, 0, 0}); }, "give at most one for each axis"},
      {"subtensor: the step of axis 0 is 0", [&] { subtensor(k, {Index(0, 3, 0)}); }, [&] { subtensor(ak, {Index(0, 3, 0)}); }, "-1 goes backwards"},
      {"set_subtensor: position 3 is not on axis 0, whose extent is 3", [&] { set_subtensor(k, {3}, 1.0); }, [&] { set_subtensor(ak, {3}, 1.0); }, "give positions from -3 to 2"},
      {"set_subtensor: y of shape (5,) does not fit to x of shape (3, 4) behind the mask's axes", [&] { set_subtensor(k, input({bool_, {3}}), w); }, [&] { set_subtensor(ak, Array::zeros({3}, bool_), aw); }, "broadcast or reshape it"},
      {"take_along_axis: positions of shape (3,) do not fit to x of shape (3, 4)", [&] { take_along_axis(k, i, 0); }, [&] { take_along_axis(ak, ai, 0); }, "all axes but that one have the same extents"},
      {"put_along_axis: positions of shape (3,) do not fit to x of shape (3, 4)", [&] { put_along_axis(k, i, 1.0, 0); }, [&] { put_along_axis(ak, ai, 1.0, 0); }, "all axes but that one have the same extents"},
      {"put_along_axis: y of shape (5,) does not fit to the part of x, whose shape is (3, 4)", [&] { put_along_axis(k, cast(k, int64), w, 0); }, [&] { put_along_axis(ak, astype(ak, int64), aw, 0); }, "broadcast or reshape it"},
      {"put_along_axis: positions are integers", [&] { put_along_axis(k, k, 1.0, 0); }, [&] { put_along_axis(ak, ak, 1.0, 0); }, "int64"},
      {"cross_entropy: labels are integers, or probabilities with the axes of the logits, not ", [&] { cross_entropy(k, w); }, [&] { cross_entropy(ak, aw); }, "(labels, int32)"},
      {"cross_entropy: logits have 2 axes, so labels have 1, not 2", [&] { cross_entropy(k, cast(k, int64)); }, [&] { cross_entropy(ak, astype(ak, int64)); }, "give a label for each row of logits"},
      {"broadcast_to: (3, 4) cannot become (3, 5): axis 1 has 5 against 4", [&] { broadcast_to(k, {3, 5}); }, [&] { ak.broadcast_to({3, 5}); }, "only an extent of 1 stretches"},
      {"eye_like: x has 1 axis, not 2", [&] { eye_like(w); }, [&] { eye_like(aw); }, "give a matrix"},
      {"diag: x has 2 axes, not 1", [&] { diag(k); }, [&] { diag(ak); }, "diagonal takes it out of a matrix"},
      {"max_and_argmax does not compute with float8_e4m3", [&] { max_and_argmax(e); }, [&] { max_and_argmax(ae); }, "cast it to float32"},
      {"attention: heads of the query are a multiple of those of key and value, not 3 of 2 and 2",
       [] { nn::attention(input({float32, {3, 5, 4}}), input({float32, {2, 5, 4}}), input({float32, {2, 5, 4}})); },
       [] { nn::attention(Array::zeros({3, 5, 4}), Array::zeros({2, 5, 4}), Array::zeros({2, 5, 4})); }, "take as many heads of key and value"},
      {"expm: matrices of 0 x 2 are not square", [] { expm(input({float32, {0, 2}}, "x")); }, [] { expm(Array::zeros({0, 2})); }, "only square ones have powers"}};
  for (const Composed& f : all) {
    const std::string name = f.begin.substr(0, f.begin.find_first_of(": "));
    EXPECT_THAT(error_of<UserError>(f.on_variables), AllOf(StartsWith(f.begin), HasSubstr("\n  " + name + " built at "), HasSubstr("called_names_test.cpp:"), HasSubstr(f.remedy)));
    EXPECT_THAT(error_of<UserError>(f.on_arrays), AllOf(StartsWith(f.begin), HasSubstr(f.remedy)));
  }
  EXPECT_THAT(error_of<ShapeError>([&] { choose(i, {w, w}); }), HasSubstr("\n  i int64 (3,), w float32 (5,), w float32 (5,)\n")) << "the operands are those of the call";
  EXPECT_THAT(error_of<TypeError>([&] { ptp(ab); }), HasSubstr("bool (3, 4) on "));
}

TEST(CalledNames, AreThoseOfFunctionsOfVariablesThatAreMadeOfOthers) {
  const Variable k = input({float32, {3, 4}}, "k"), w = input({float32, {5}}, "w"), v = vector("v"), q = input({float32, {3, 3}}, "q");
  const std::int64_t huge = std::int64_t{1} << 40;
  const std::pair<std::string, std::function<void()>> mistakes[] = {
      {"cholesky_solve: x is no matrix", [&] { cholesky_solve(v, k); }}, {"cholesky_solve: the matrix has 3 rows, the right side 5", [&] { cholesky_solve(q, w); }}, {"solve_triangular: the right side has no axes", [&] { solve_triangular(q, 1.0); }},
      {"cross_entropy: cannot broadcast (3, 4) with (4, 1)", [&] { cross_entropy(k, input({int64, {4}})); }}, {"flatten: shape (1099511627776, 1099511627776) has more than 2^63 elements", [&] { flatten(broadcast_to(input({float32, {1, 1}}), {huge, huge})); }},
      {"reshape: ", [&] { reshape(broadcast_to(input({float32, {1, 1}}), {huge, huge}), {-1}); }}, {"diag: shape (1099511627776, 1099511627776) has more than 2^63 elements", [&] { diag(broadcast_to(input({float32, {1}}), {huge})); }},
      {"attention: query, key and value have the axes", [&] { nn::attention(k, k, k); }}, {"attention: heads of the query", [] { nn::attention(tensor4("q"), tensor4("k"), tensor4("v")); }},
      {"separable_conv2d: x has 2 channels, w is for 9", [] { separable_conv2d(input({float32, {1, 2, 5, 5}}), input({float32, {2, 1, 3, 3}}), input({float32, {4, 9, 1, 1}})); }}};
  for (const auto& [begin, mistake] : mistakes) {
    EXPECT_THAT(error_of<UserError>(mistake), AllOf(StartsWith(begin), HasSubstr("\n  " + begin.substr(0, begin.find(':')) + " built at "), HasSubstr("called_names_test.cpp:")));
  }
}

struct AtTheCall {
  std::string begin;
  std::function<Variable(const std::vector<Variable>&)> of_variables;
  std::function<void(const std::vector<Array>&)> of_arrays;
  std::vector<TensorType> operands;
};

#define DAMO_AT_THE_CALL(begin, call, ...) \
  AtTheCall { begin, [](const std::vector<Variable>& x) -> Variable { return call; }, [](const std::vector<Array>& x) { static_cast<void>(call); }, {__VA_ARGS__} }

TEST(CalledNames, AreThoseOfWhatIsMadeOfOthersWhereShapesShowAtTheCallAlone) {
  const TensorType k{float32, {3, 4}}, l{float32, {3, 5}}, i{int64, {3}}, none{float32, {0}}, lines{float32, {3, 0}}, pictures{float32, {2, 3, 4, 4}}, square{float32, {3, 3}};
  const AtTheCall all[] = {
      DAMO_AT_THE_CALL("stack: (3, 5) is another shape than (3, 4)", stack({x[0], x[1]}), k, l), DAMO_AT_THE_CALL("stack: (3, 5) is another shape than (3, 4)", stack({x[0], x[1]}, -1), k, l),
      DAMO_AT_THE_CALL("stack: (3, 5) is another shape than (3, 4)", tanh(stack({x[0], x[1]}, 1)), k, l), DAMO_AT_THE_CALL("concatenate: (3, 5) does not fit to (3, 4) along axis 0", concatenate({x[0], x[1]}), k, l),
      DAMO_AT_THE_CALL("split: the parts have 5 elements along axis 1, x has 4", split(x[0], Sizes{2, 3}, 1)[0], k), DAMO_AT_THE_CALL("einsum: ", einsum("ii->i", {x[0]}), k), DAMO_AT_THE_CALL("einsum: ", einsum("i,i->i", {x[0], x[1]}), i, none),
      DAMO_AT_THE_CALL("choose: cannot broadcast (3,", choose(x[0], {x[1], x[2]}), {int64, {3, 4}}, k, l), DAMO_AT_THE_CALL("allclose: cannot broadcast (3, 4)", allclose(x[0], x[1]), k, l),
      DAMO_AT_THE_CALL("cholesky_solve: the matrix has 3 rows, the right side 5: (3, 3), (5, 4)", cholesky_solve(x[0], x[1]), square, {float32, {5, 4}}), DAMO_AT_THE_CALL("solve: the matrix has 3 rows, the right side 0: (3, 3), (0,)", solve(x[0], x[1]), square, none),
      DAMO_AT_THE_CALL("lstsq: the matrix has 3 rows, the right side 0: (3, 4), (0,)", lstsq(x[0], x[1]).solution, k, none), DAMO_AT_THE_CALL("softmax: there is no element to choose", softmax(x[0]), lines), DAMO_AT_THE_CALL("log_softmax: there is no element to choose", log_softmax(x[0]), lines),
      DAMO_AT_THE_CALL("cross_entropy: ", cross_entropy(x[0], x[1]), k, l), DAMO_AT_THE_CALL("sigmoid_cross_entropy: cannot broadcast (3, 4) with (3, 5)", sigmoid_cross_entropy(x[0], x[1]), k, l), DAMO_AT_THE_CALL("ptp: there is no element to choose", ptp(x[0]), none),
      DAMO_AT_THE_CALL("norm: there is no element to choose", norm(x[0], {}, NormOptions{.ord = std::numeric_limits<double>::infinity()}), none), DAMO_AT_THE_CALL("max_and_argmax: there is no element to choose", max_and_argmax(x[0]).values, none),
      DAMO_AT_THE_CALL("convolve: an operand has no elements", convolve(x[0], x[1]), {float32, {3}}, none), DAMO_AT_THE_CALL("spatial_transformer: x of shape (2, 3, 4, 4) and theta of shape (2, 3, 3) do not fit", spatial_transformer(x[0], x[1], 4, 4), pictures, {float32, {2, 3, 3}}),
      DAMO_AT_THE_CALL("bincount: weights of shape (0,) for x of shape (3,)", bincount(x[0], x[1]), i, none), DAMO_AT_THE_CALL("confusion_matrix: 3 actual labels, 5 predicted ones", confusion_matrix(x[0], x[1]).matrix, i, {int64, {5}}),
      DAMO_AT_THE_CALL("matrix_power: matrices of ", matrix_power(x[0], 2), k), DAMO_AT_THE_CALL("tile: shape (1, 3, 4611686018427387904, 4) has more than 2^63 elements", tile(x[0], {1, std::int64_t{1} << 62}), k)};
  const Device null("null");
  for (const AtTheCall& f : all) {
    const std::string name = f.begin.substr(0, f.begin.find(':'));
    std::vector<Variable> inputs;
    std::vector<Array> arrays;
    for (const TensorType& type : f.operands) {
      inputs.push_back(input({type.dtype, Shape::filled(type.rank(), kUnknown)}, "x" + std::to_string(inputs.size())));
      arrays.push_back(Array::zeros(type.dims, type.dtype, null));
    }
    for (const bool fuse : {true, false}) {
      const Function call = function(inputs, {f.of_variables(inputs)}, {.fuse = fuse, .device = null});
      EXPECT_THAT(error_of<UserError>([&] { call.call(std::span<const Array>(arrays)); }), AllOf(StartsWith(f.begin), HasSubstr("\n  x0 " + to_string(f.operands[0])), HasSubstr(name + " built at "), HasSubstr("called_names_test.cpp:")));
    }
    EXPECT_THAT(error_of<UserError>([&] { f.of_arrays(arrays); }), AllOf(StartsWith(f.begin), HasSubstr("\n  " + to_string(f.operands[0])))) << name;
  }
}

TEST(CalledNames, OfTheStepOfALoopAreThoseOfTheFunctionThatTheStepCalls) {
  const Variable xs = matrix("xs"), v = vector("v");
  const Device null("null");
  const Function f = function({xs, v}, {scan({.sequences = {xs}}, [&](const Variable& x) { return stack({x, v}); })}, {.device = null});
  EXPECT_THAT(error_of<ShapeError>([&] { f(Array::zeros({2, 3}, float32, null), Array::zeros({4}, float32, null)); }), AllOf(StartsWith("stack: (4,) is another shape than (3,)"), HasSubstr("stack built at"), HasSubstr("called_names_test.cpp:")));
}

/// The name is the node's, not the op's.
TEST(CalledNames, DoNotKeepEqualNodesApart) {
  const Variable x = vector("x");
  const Function f = function({x}, {ptp(x), max(x)}, {.fuse = false, .device = Device("null")});
  int maxima = 0;
  for (NodeId node : f.graph().nodes()) maxima += f.graph().op(node).name() == "max" ? 1 : 0;
  EXPECT_EQ(maxima, 1);
}

class CalledNamesOnEachDevice : public testing::OnEachDevice {};
DAMO_ON_EACH_DEVICE(CalledNamesOnEachDevice);

TEST_P(CalledNamesOnEachDevice, AreThoseOfWhatLooksAtPositionsAtTheCallToo) {
  const Variable i = vector("i", int64), v = vector("v"), x = matrix("x");
  const auto array = [&](std::initializer_list<float> values) { return Array::from(std::vector<float>(values), device()); };
  const Array places = Array::from(std::vector<std::int64_t>{0, 7}, device()), none = Array::zeros({0, 3}, float32, device());
  const auto error = [&](std::vector<Variable> inputs, const Variable& output, const auto&... arrays) {
    const Function f = function(inputs, {output}, {.device = device()});
    return error_of<UserError>([&] {
      f(arrays...);
      device().synchronize();
    });
  };
  EXPECT_THAT(error({i, v}, choose(i, {v, v}), places, array({1, 2})), AllOf(StartsWith("choose: position 7 is not on axis 0, whose extent is 2"), HasSubstr("called_names_test.cpp:"), HasSubstr("give positions from -2 to 1")));
  EXPECT_THAT(error({x}, median(x, 0), none), AllOf(StartsWith("median: there is nothing to take from axis 0"), HasSubstr("called_names_test.cpp:")));
  EXPECT_THAT(error({x}, quantile(x, 0.5, 0), none), StartsWith("quantile: there is nothing to take from axis 0"));
  EXPECT_THAT(error({i, v}, bincount(i, v), places, array({1, 2, 3})), AllOf(StartsWith("bincount: "), HasSubstr("called_names_test.cpp:")));
  EXPECT_THAT(error({v, i}, take(v, i), array({1, 2}), places), StartsWith("take: position 7")) << "nothing is around it";
}

TEST(CalledNames, DrawsTellTheirOwnLineAndNotTheStreams) {
  const RandomStream random(1, Device("null"));
  const Variable k = input({float32, {3, 4}}, "k"), x = matrix("x");
  const int line = __LINE__ + 2;
  const std::pair<std::string, std::function<void()>> mistakes[] = {
      {"choice: there are 0 numbers", [&] { random.choice(0, {3}); }}, {"choice: the extent of axis 0 is -1", [&] { random.choice(3, {-1}); }}, {"choice: 4 of 3 numbers", [&] { random.choice(3, {4}, false); }},
      {"choice: how many numbers", [&] { random.choice(3, x, false); }}, {"choice: the probabilities sum to", [&] { random.choice(2, {1}, true, {0.5, 0.1}); }}, {"permutation: n is -1", [&] { random.permutation(-1); }}, {"permutation: x has no axis", [&] { random.permutation(scalar("s")); }},
      {"randint: low is 5, high is 5", [&] { random.randint({3}, 5, 5); }}, {"randint: float32 is no dtype", [&] { random.randint({3}, 0, 5, float32); }}, {"bits: float32 is not", [&] { random.bits({3}, float32); }}, {"bits: the extent of axis 0 is -3", [&] { random.bits(Shape{-3}); }},
      {"gumbel: int32 is no floating", [&] { random.gumbel({}, int32); }}, {"uniform: cannot broadcast", [&] { random.uniform({3}, k); }}, {"normal: cannot broadcast", [&] { random.normal({3}, 0, k); }}, {"poisson: cannot broadcast (3, 4) with (3,)", [&] { random.poisson({3}, k); }}};
  for (const auto& [begin, mistake] : mistakes) {
    const std::string text = error_of<UserError>(mistake), before = "\n  " + begin.substr(0, begin.find(':')) + " built at ";
    ASSERT_THAT(text, AllOf(StartsWith(begin), HasSubstr(before), HasSubstr("called_names_test.cpp:")));
    const int told = std::stoi(text.substr(text.find("called_names_test.cpp:") + std::string("called_names_test.cpp:").size()));
    EXPECT_GE(told, line) << text;
    EXPECT_LE(told, line + 3) << text;
  }
  const Function f = function({x}, {random.bits({3}), random.uniform(x) * x, random.choice(4, {2}), random.permutation(5)}, {.fuse = false, .device = Device("null")});
  const std::string here = "called_names_test.cpp:" + std::to_string(__LINE__ - 1);
  int draws = 0;
  for (NodeId node : f.graph().nodes()) {
    if (!f.graph().op(node).name().starts_with("random_")) continue;
    EXPECT_THAT(to_string(f.graph().where(node)), HasSubstr(here)) << f.graph().op(node).name();
    ++draws;
  }
  EXPECT_EQ(draws, 4);
  EXPECT_THAT(error_of<TypeError>([&] { RandomStream wrong(x); }), AllOf(StartsWith("RandomStream: x float32 (?, ?) must be uint64"), HasSubstr("called_names_test.cpp:")));
  RandomGenerator generator(1);
  EXPECT_THAT(error_of<UserError>([&] { generator.choice(3, {-1}); }), StartsWith("choice: the extent of axis 0 is -1"));
  EXPECT_THAT(error_of<UserError>([&] { generator.uniform({3}, Array::zeros({3, 4})); }), AllOf(StartsWith("uniform: cannot broadcast (3,) with (3, 4)"), HasSubstr("float32 (3, 4) on ")));
  EXPECT_THAT(error_of<GraphError>([&] { RandomStream(input({uint64, {2}})).split(); }), AllOf(StartsWith("split: "), HasSubstr("split built at"), HasSubstr("called_names_test.cpp:")));
}

}  // namespace
}  // namespace damo
