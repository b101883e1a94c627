// What a call takes of the device's memory is what Function::plan says before it: results, temporaries, and the workspaces of kernels, libraries, loops and branches.
// Calls after the first ones ask the pool for nothing.
#include <damo/damo.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "support/devices.hpp"
#include "support/test_ops.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// A graph of x, and of indices where it takes any.
struct Graph {
  std::string name;
  std::function<std::vector<Variable>(const Variable& x, const Variable& index)> outputs;
  Shape x, index = {};
  DType dtype = float32;
  bool takes_index = false;
};

std::vector<Graph> graphs() {
  const auto one = [](auto make) { return [make](const Variable& x, const Variable&) { return std::vector<Variable>{make(x)}; }; };
  std::vector<Graph> all = {
      {"sum_of_one_long_row", one([](const Variable& x) { return sum(x * x); }), {1 << 20}},
      {"sum_over_the_first_axis", one([](const Variable& x) { return sum(exp(x), 0); }), {20000, 32}},
      {"cumsum_of_one_long_row", one([](const Variable& x) { return cumsum(x, 0); }), {1 << 20}},
      {"float16_product", one([](const Variable& x) { return dot(x, x); }), {500, 500}, {}, float16},
      {"bfloat16_product", one([](const Variable& x) { return dot(x, x); }), {500, 500}, {}, bfloat16},
      {"product_of_strided_views", one([](const Variable& x) {
         const Variable part = subtensor(x, {{{}, {}, 2}, {{}, {}, 2}});
         return dot(part, part);
       }), {600, 600}},
      {"inner_product", one([](const Variable& x) { return dot(x, x); }), {1 << 20}},
      {"sort", one([](const Variable& x) { return sort(x); }), {1 << 18}},
      {"argsort_of_rows", one([](const Variable& x) { return argsort(x); }), {300, 1000}},
      {"topk", one([](const Variable& x) { return topk(x, 10).positions; }), {8, 100000}},
      {"rfft", one([](const Variable& x) { return rfft(x); }), {64, 4096}},
      {"irfft", one([](const Variable& x) { return irfft(x); }), {64, 2049, 2}},
      {"cholesky", one([](const Variable& x) { return cholesky(dot(x, transpose(x)) + 300.0 * eye_like(x)); }), {300, 300}},
      {"solve", one([](const Variable& x) { return solve(x + 300.0 * eye_like(x), x); }), {300, 300}},
      {"inverse", one([](const Variable& x) { return inv(x + 300.0 * eye_like(x)); }), {300, 300}},
      {"determinant", one([](const Variable& x) { return det(x + 300.0 * eye_like(x)); }), {300, 300}},
      {"qr", one([](const Variable& x) { return qr(x).q; }), {400, 200}},
      {"svd", one([](const Variable& x) { return svd(x).values; }), {200, 100}},
      {"svd_of_a_wide_matrix", one([](const Variable& x) { return svd(x).u; }), {100, 200}},
      {"eigh", one([](const Variable& x) { return eigh(x + transpose(x)).vectors; }), {200, 200}},
  };
  all.push_back({"gradients_of_a_norm", [](const Variable& x, const Variable&) {
    const Variable scale = sum(x, 0), centered = x - mean(x, 1, true);
    return grad(sum(sqr(centered / sqrt(mean(sqr(centered), 1, true) + 1e-5) * scale)), {x, scale});
  }, {4000, 256}});
  all.push_back({"gradients_of_conv2d", [](const Variable& x, const Variable&) {
    const Variable w = subtensor(x, {{0, 1}, {}, {0, 3}, {0, 3}}) * 2.0;
    return grad(sum(sqr(conv2d(x, w, {.padding = 1}))), {x, w});
  }, {8, 4, 40, 40}});
  all.push_back({"take_and_its_gradient", [](const Variable& x, const Variable& index) { return grad(sum(sqr(take(x, index, 0))), {x}); }, {5000, 16}, {200000}, float32, true});
  all.push_back({"inc_subtensor_at_repeated_positions", [](const Variable& x, const Variable& index) { return std::vector<Variable>{inc_subtensor(x, {index}, 1.0)}; },
                 {5000, 16}, {100000}, float32, true});
  all.push_back({"set_subtensor_and_its_gradient", [](const Variable& x, const Variable& index) {
    const Variable y = take(x, index, 0) * 2.0;
    return grad(sum(sqr(set_subtensor(x, {index}, y))), {x});
  }, {5000, 16}, {50000}, float32, true});
  all.push_back({"scan_with_a_product", [](const Variable& x, const Variable&) {
    const Variable states = scan({.sequences = {x}, .initial = {subtensor(x, {0}) * 0.5}}, [](const Variable& row, const Variable& state) { return tanh(dot(state, transpose(row)) + sum(row, 0)); });
    return std::vector<Variable>{sum(states, 0)};
  }, {6, 200, 200}});
  all.push_back({"gradient_of_a_scan", [](const Variable& x, const Variable&) {
    const Variable w = subtensor(x, {0}) * 0.1;
    const Variable states = scan({.sequences = {x}, .initial = {subtensor(x, {0}) * 0.5}}, [&](const Variable& row, const Variable& state) { return tanh(dot(state, w) + row); });
    return grad(sum(states), {w});
  }, {6, 200, 200}});
  all.push_back({"ifelse", [](const Variable& x, const Variable&) {
    return std::vector<Variable>{ifelse(gt(sum(subtensor(x, {0})), -1e9), sum(dot(x, transpose(x)) * dot(x, x), 0), sum(x, 0))};
  }, {300, 300}});
  return all;
}

class CallPlanOnEachDevice : public damo::testing::OnEachDevice {
 protected:
  void TearDown() override {
    if (!IsSkipped()) device().set_memory_limit(0);
  }
  std::size_t handed_out_for(std::size_t bytes) const {
    const std::size_t before = device().memory().in_use_bytes;
    const DeviceMemory memory(device(), bytes);
    return device().memory().in_use_bytes - before;
  }
};

TEST_P(CallPlanOnEachDevice, IsWhatAFirstCallTakesAndLaterCallsTakeNothing) {
  for (const Graph& graph : graphs()) {
    SCOPED_TRACE(graph.name);
    const Variable x = input({graph.dtype, graph.x}, "x"), index = input({int64, graph.index}, "index");
    std::vector<Variable> inputs{x};
    std::vector<Shape> shapes{graph.x};
    std::vector<Array> values{astype(sin(arange(0, graph.x.size(), 1, float32, device())), graph.dtype).reshape(graph.x)};
    if (graph.takes_index) {
      inputs.push_back(index);
      shapes.push_back(graph.index);
      values.push_back(arange(0, graph.index.size(), 1, int64, device()) % graph.x[0]);
    }
    std::vector<Variable> outputs = graph.outputs(x, index);
    const Function f = function(inputs, outputs, {.device = device()});
    CallPlan plan;
    try {
      plan = f.plan(shapes);
      f.call(values);
    } catch (const DeviceError& error) {
      EXPECT_THAT(error.what(), HasSubstr("install")) << "a library that is not there";
      continue;
    }
    f.free_memory();
    device().free_cache();
    const std::size_t before = device().memory().in_use_bytes;
    device().reset_peak();
    f.call(values);
    const auto taken = static_cast<double>(device().memory().peak_bytes - before);
    const auto planned = static_cast<double>(handed_out_for(plan.temporaries) + handed_out_for(plan.results));  // rounded as the pool does
    EXPECT_LE(taken, 1.05 * planned + 2048) << plan.to_string();
    EXPECT_GE(taken, 0.95 * static_cast<double>(plan.asked_for())) << plan.to_string();
    for (int call = 0; call < 8; ++call) f.call(values);
    const std::uint64_t allocations = device().memory().allocations;
    for (int call = 0; call < 3; ++call) f.call(values);
    EXPECT_EQ(device().memory().allocations, allocations);
  }
}

TEST_P(CallPlanOnEachDevice, RefusesACallThatHasNoRoomForAWorkspaceAlone) {
  int runs = 0;
  const auto count = make_op<damo::testing::CallbackOp>("count", [&](Cell& from, Cell& to) {
    ++runs;
    to.array().copy_from(from.array());
  });
  const Variable x = vector("x");
  const Function f = function({x}, {count(argsort(x) * 1)}, {.device = device()});
  const Shape shape{1 << 20};
  const CallPlan plan = f.plan({shape});
  const std::size_t values = static_cast<std::size_t>(shape.size()) * sizeof(std::int64_t);
  EXPECT_EQ(plan.results, values);
  EXPECT_GE(plan.temporaries, 2 * values) << "what is sorted, and room to sort in";
  const Array in = range(shape);
  device().free_cache();
  device().set_memory_limit(device().memory().in_use_bytes + plan.asked_for() - values);
  const std::string text = error_of([&] { f(in); });
  EXPECT_THAT(text, AllOf(HasSubstr("memory limit: "), HasSubstr(" asked for by the call, "), HasSubstr("results 8.00 MiB, temporaries "), HasSubstr("most of it for node "), HasSubstr("argsort built at ")));
  EXPECT_EQ(runs, 0);
  device().set_memory_limit(0);
  EXPECT_EQ(Array(f(in)).to_vector<std::int64_t>()[5], 5);
}

// A node's workspace is its own while other nodes' values are alive, and theirs when it has run; on a device that runs nodes side by side small ones are not shared.
TEST_P(CallPlanOnEachDevice, WorkspacesShareMemoryWhereNodesRunOneByOne) {
  const Variable x = vector("x");
  const auto planned = [&](int count) {
    std::vector<Variable> outputs;
    for (int i = 0; i < count; ++i) outputs.push_back(argsort(x * (i + 1.0)));
    return function({x}, outputs, {.fuse = false, .device = device()}).plan({{100000}}).temporaries;
  };
  const std::size_t one = planned(1), four = planned(4);
  if (device().is_host()) EXPECT_LT(four, 2 * one);
  else EXPECT_GE(four, 3 * one);
}

TEST_P(CallPlanOnEachDevice, AskingForAPlanLeavesCallsAsTheyAre) {
  const Variable x = matrix("x");
  const Function f = function({x}, {sum(sort(x), 0), cumsum(x, 0)}, {.device = device()});
  const Array small = range({3, 4});
  const Results before = f(small);
  f.plan({{1000, 1000}});
  const Results after = f(small);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(after[i].to_vector<float>(), before[i].to_vector<float>());
  const std::uint64_t allocations = device().memory().allocations;
  f.plan({{1000, 1000}});
  EXPECT_EQ(device().memory().allocations, allocations);
}

/// Its thunk asks for memory and keeps it.
class KeepingOp final : public Op {
 public:
  std::string name() const override { return "keeping"; }
  Apply make_node(Inputs inputs) const override { return {*this, {inputs.at(0)}, {inputs.at(0).type()}}; }
  Shapes infer_shape(const Apply&, std::span<const Shape> inputs) const override { return {{inputs[0]}}; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    const Cell &from = context.storage(node.input(0)), &to = context.storage(node.output());
    context.foresee_memory([] { return ThunkMemory{.workspace = 1024}; });
    return [&from, &to, kept = std::make_shared<Array>()] {
      *kept = Array::empty({100}, float32, from.array().device());
      to.array().copy_from(from.array());
    };
  }
};

TEST_P(CallPlanOnEachDevice, AThunkThatKeepsItsWorkspaceIsRefused) {
  const Variable x = vector("x");
  const Function f = function({x}, {make_op<KeepingOp>()(x)}, {.device = device()});
  EXPECT_EQ(f.plan({{4}}).temporaries, 1024u);
  EXPECT_THAT(error_of([&] { f(range({4})); }), AllOf(HasSubstr("the thunk keeps memory of its workspace"), HasSubstr("keeping built at ")));
}

/// y = x + 10 by a Function that the thunk builds at its first call; and x becomes a shared variable's value.
struct BuildingOp final : Op {
  BuildingOp(Shared state, std::shared_ptr<std::optional<Function>> built) : state(std::move(state)), built(std::move(built)) {}
  std::string name() const override { return "building"; }
  Props props() const override { return {{"which", static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(built.get()))}}; }
  Apply make_node(Inputs inputs) const override { return {*this, {inputs.at(0)}, {inputs.at(0).type()}}; }
  Shapes infer_shape(const Apply&, std::span<const Shape> inputs) const override { return {{inputs[0]}}; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    Cell &from = context.storage(node.input(0)), &to = context.storage(node.output());
    context.foresee_memory([] { return ThunkMemory{.workspace = 1 << 20}; });
    return [&from, &to, state = state, built = built, device = context.device()] {
      if (!*built) {
        const Variable v = vector("v");
        const ScanOutputs states = scan({.initial = {v}, .steps = 1}, [&](const Variable& h) { return sort(h) + constant(Array::full({1}, 10, float32, device)); });
        *built = function({v}, {states[0]}, {.device = device});
      }
      to.array().copy_from(Array((**built)(from.array())).reshape(from.shape()));
      state.set(from.array());
    };
  }
  Shared state;
  std::shared_ptr<std::optional<Function>> built;
};

TEST_P(CallPlanOnEachDevice, WhatAThunkBuildsOutlivesItsWorkspace) {
  const Shared state = shared("state", Array::zeros({3}, float32, device()));
  const auto built = std::make_shared<std::optional<Function>>();
  const Variable x = vector("x");
  const Function f = function({x}, {make_op<BuildingOp>(state, built)(x) * 1.0}, {.device = device()});
  const Array given = Array::from(std::vector<float>{1, 2, 3}, {3}, device());
  for (int i = 0; i < 3; ++i) {
    if (i == 2) (*built)->free_memory();  // so that its next call, within the thunk, makes what a call needs anew
    EXPECT_EQ(Array(f(given)).to_doubles(), (std::vector<double>{11, 12, 13}));
  }
  f.free_memory();
  std::vector<Array> others;
  for (int i = 0; i < 200; ++i) others.push_back(Array::full({(1 << 17) + 64 * (i % 8)}, 7.0, float64, device()));
  EXPECT_EQ(Array((**built)(given)).to_doubles(), (std::vector<double>{11, 12, 13}));
  EXPECT_EQ(state.array().to_doubles(), (std::vector<double>{1, 2, 3}));
}

DAMO_ON_EACH_DEVICE(CallPlanOnEachDevice);

}  // namespace
}  // namespace damo
