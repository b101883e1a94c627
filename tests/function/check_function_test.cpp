// check_function: passes, rules and ops that change values are named; what is right passes.
#include <damo/damo.hpp>

#include <gmock/gmock.h>

#include "support/devices.hpp"
#include "support/test_ops.hpp"

namespace damo {
namespace {

using damo::testing::CallbackOp;
using damo::testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

class CheckFunctionOnEachDevice : public damo::testing::OnEachDevice {};

TEST_P(CheckFunctionOnEachDevice, PassesWhatIsRight) {
  const auto x = matrix("x"), v = vector("v");
  const Shared w = shared("w", array({1, 2, 3, 4, 5, 6}, {3, 2}));
  const RandomStream random(3, device());
  const Variable h = softmax(dot(transpose(x), w) + v), noisy = h + random.normal(h);
  check_function({x, v}, {mean(log(h)), grad(mean(log(h)), w), subtensor(noisy, {{{}, {}, -1}}), sort(x), nonzero(gt(x, 2.0))[0]}, {range({3, 4}), array({1, -1})},
                 {.device = device(), .updates = {{w, w - 0.1 * grad(mean(log(h)), w)}}});
  EXPECT_EQ(w.array().to_vector<float>()[0], 1) << "nothing is updated";
}

TEST_P(CheckFunctionOnEachDevice, NamesThePassAndTheRule) {
  const auto x = vector("x");
  const Pass wrong{"subtract_instead", [](FunctionGraph graph) {
    for (NodeId node : graph.nodes()) {
      if (graph.op(node).name() != "add") continue;
      const std::vector<ValueId> inputs(graph.inputs(node).begin(), graph.inputs(node).end());
      graph.replace(graph.outputs(node)[0], graph.outputs(graph.add(op_of("sub"), inputs))[0]);
    }
    graph.prune();
    return graph;
  }};
  const auto check = [&](Pass pass) { return error_of([&] { check_function({x}, {exp(x + 1.0)}, {array({0, 1})}, {.device = device(), .passes = {std::move(pass)}}); }); };
  EXPECT_THAT(check(wrong), HasSubstr("pass subtract_instead changes values: result 0 is 0.36787"));
  const Rule harmless{.name = "harmless", .ops = {op_of("exp")}, .rewrite = [](Site&) { return Variable(); }};
  const Rule sine{.name = "exp_is_sine", .ops = {op_of("exp")}, .rewrite = [](Site& site) { return sin(site.operand(site.input(0))); }};
  EXPECT_THAT(check({.name = "mine", .rules = {harmless, sine}}), HasSubstr("pass mine, rule exp_is_sine, changes values"));
}

TEST_P(CheckFunctionOnEachDevice, NamesTheOpAndItsLine) {
  const auto x = vector("x");
  const auto check = [&](const Variable& y, const Array& value) { return error_of([&] { check_function({x}, {y * 2.0}, {value}, {.device = device()}); }); };
  const Array values = array({1, 2, 3});
  int turn = 0;
  const auto counts = make_op<CallbackOp>("counts", [&turn](Cell& in, Cell& out) { out.array().copy_from(in.array() * static_cast<float>(++turn)); }, false);
  EXPECT_THAT(check(counts(x), values), HasSubstr("a second call gives other values: result 0 is 4, not 2"));
  const auto greedy = make_op<CallbackOp>("greedy", [](Cell& in, Cell& out) {
    out.array().copy_from(in.array());
    in.array().copy_from(in.array() * 0.0f);
  }, false);
  EXPECT_THAT(check(greedy(x * 3.0), values), AllOf(HasSubstr("greedy changes an input: input 0 is 0, not 3, at element 0"), HasSubstr("greedy at ")));
}

TEST_P(CheckFunctionOnEachDevice, FindsReadsOfMemoryThatNobodyWrote) {
  const auto x = vector("x");
  const auto lazy = make_op<CallbackOp>("lazy", [](Cell& in, Cell& out) { out.array().slice({{0, 2}}).copy_from(in.array().slice({{0, 2}})); }, false);
  EXPECT_THAT(error_of([&] { check_function({x}, {lazy(x) + 1.0}, {array({1, 2, 3})}, {.device = device()}); }), HasSubstr("lazy gives other values by itself than in the graph: output 0 is nan"));
}

TEST_P(CheckFunctionOnEachDevice, FindsKernelsThatTakeStridesForGranted) {
  const auto x = vector("x");
  const RawKernel doubler{{.name = "checked_doubler", .inputs = {"strided const float* x"}, .outputs = {"float* z"}, .scalars = {"int size"},
                           .body = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < size) z[i] = x[i] * 2;"}};
  EXPECT_THAT(error_of([&] { check_function({x}, {doubler(x)}, {array({1, 2, 3})}, {.device = device()}); }), HasSubstr("inputs with other strides give other values: result 0 is "));
}

DAMO_ON_EACH_DEVICE(CheckFunctionOnEachDevice);

}  // namespace
}  // namespace damo
