// What thunks may do in a replayed or captured call besides launching kernels on their cells: call Functions, work on
// Arrays at once, keep what they worked out.
#include <damo/damo.hpp>

#include <functional>
#include <numeric>

#include <gmock/gmock.h>

#include "support/replays.hpp"

namespace damo {
namespace {

using ::testing::Each;

using ReplayedThunks = testing::ReplayOnEachDevice;

/// y like x, by a thunk that promises to be recordable.
class RecordableOp final : public Op {
 public:
  using Run = std::function<void(const Array& x, const Array& y)>;
  explicit RecordableOp(Run run, bool is_contained = false) : run_(std::move(run)), is_contained_(is_contained) {}
  std::string name() const override { return "recordable"; }
  Apply make_node(Inputs in) const override { return {*this, {in.begin(), in.end()}, {in.at(0).type()}}; }
  Shapes infer_shape(const Apply&, std::span<const Shape> in) const override { return {{in[0]}}; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    context.promise_recordable();
    if (is_contained_) context.promise_contained();
    return [&x = context.storage(node.input(0)), &y = context.storage(node.output()), run = run_] {
      run(x.array(), y.array());
    };
  }
  bool equals(const Op& other) const override { return this == &other; }
  std::size_t hash() const override { return std::hash<const void*>()(this); }

 private:
  Run run_;
  bool is_contained_;
};

TEST_P(ReplayedThunks, AThunkMayCallAFunction) {
  const Variable u = vector("u");
  const Shared calls = shared("calls", array({0}));
  const Function inner =
      function({u}, {tanh(u + 1.0) * calls}, {.fuse = false, .device = device(), .updates = {{calls, calls + 1.0}}});
  const auto op = make_op<RecordableOp>([&](const Array& x, const Array& y) { y.copy_from(inner(x)); });
  const Variable x = vector("x");
  const Function f = function({x}, {op((x + 1.0) * 0.5) * 3.0}, unfused());
  for (int call = 0; call < 8; ++call) {
    const Array a = range({50}, 0.01f * static_cast<float>(call));
    EXPECT_EQ(values(f(a)), values(tanh((a + 1.0f) * 0.5f + 1.0f) * static_cast<float>(call) * 3.0f)) << call;
    EXPECT_EQ(values(calls.array()), std::vector<float>{static_cast<float>(call + 1)});
  }
}

// What the Function has between its kernels, and its results, lie where they lay for the other node.
TEST_P(ReplayedThunks, TwoThunksMayCallOneFunction) {
  const Variable u = vector("u");
  const Function inner = function({u}, {tanh(u + 1.0) * 2.0}, unfused());
  const auto op = make_op<RecordableOp>([&](const Array& x, const Array& y) { y.copy_from(inner(x)); }, true);
  const Variable x = vector("x"), y = vector("y");
  const Function f = function({x, y}, {op(x + 1.0) - op(y * 3.0)}, unfused());
  const Array a = range({50}, 0.5f), b = range({50}, -20);
  const std::vector<float> expected = values(tanh(a + 2.0f) * 2.0f - tanh(b * 3.0f + 1.0f) * 2.0f);
  for (int call = 0; call < 6; ++call) EXPECT_EQ(values(f(a, b)), expected) << call;
}

// Factors and Fourier transforms are given to a library, strided copies to the host's loops: behind what the log has.
TEST_P(ReplayedThunks, AThunkMayWorkOnArraysAtOnce) {
  const std::vector<std::function<Array(const Array&)>> all = {
      [](const Array& a) { return cholesky(a); }, [](const Array& a) { return irfft(rfft(a), a.shape()[1]); },
      [](const Array& a) { return swap_axes(a, 0, 1).copy() + a; },
      [](const Array& a) { return a * swap_axes(a, 0, 1).to_vector<float>()[1]; }};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto op = make_op<RecordableOp>([&](const Array& x, const Array& y) { y.copy_from(all[i](x)); });
    const Variable x = matrix("x");
    const Function f = function({x}, {op(x + 1.0) * 2.0}, unfused());
    for (int call = 0; call < 4; ++call) {
      const Array a = array({5 + static_cast<float>(call), 2, 1, 9}, {2, 2});
      EXPECT_EQ(values(f(a)), values(all[i](a + 1.0f) * 2.0f)) << "work " << i << ", call " << call;
    }
  }
}

Variable normalized(const Variable& x) {
  const Variable centered = x - mean(x, -1, true);
  return centered / sqrt(mean(sqr(centered), -1, true));
}

// Few long rows are reduced by several kernels, with values of rows between them.
TEST_P(ReplayedThunks, StepsOfALoopDoNotShareValuesBetweenKernels) {
  const Variable x = tensor3("x");
  const Variable y = map({x}, [](const Variable& rows) { return normalized(rows); })[0];
  const Function f = function({x}, {y}, {.device = device()}),
                 g = function({x}, {y}, {.device = device(), .replay = false});
  const Array a = range({3, 2, 1 << 19}) * 1e-6f;
  const std::vector<float> expected = values(g(a));
  for (int call = 0; call < 5; ++call) EXPECT_TRUE(values(f(a)) == expected) << call;
}

TEST_P(ReplayedThunks, AGraphHasNoMemoryThatItsThunksGaveUpForOtherLayouts) {
  const Variable x = matrix("x");
  const Function f = function({x}, {normalized(exp(x)), x * 2.0}, {.device = device()});
  const auto input = [&](int more) { return range({2, (1 << 19) + more}) * 1e-6f; };
  const Array a = input(0);
  for (int call = 0; call < 5; ++call) f.call<2>(a);
  const std::vector<float> expected = values(f.call<2>(a)[0]);
  std::vector<Array> held;
  for (int other = 1; other < 12; ++other) {  // more than there are bindings
    f.call<2>(input(8 * other));
    for (int i = 0; i < 16; ++i) held.push_back(Array::full({2}, 7, float32, device()));
    EXPECT_TRUE(values(f.call<2>(a)[0]) == expected) << other;
  }
  for (const Array& array : held) EXPECT_THAT(values(array), Each(7));
}

// Each step's arrays lie elsewhere, and a graph reads what a launch was given when it is launched.
TEST_P(ReplayedThunks, ACapturedLoopMayHaveJoinedKernelsAndStridedStates) {
  std::vector<Variable> inputs;
  std::vector<Sequence> sequences;
  std::vector<Array> arrays;
  for (int i = 0; i < 4; ++i) {
    inputs.push_back(matrix("x"));
    sequences.push_back(inputs.back());
    arrays.push_back(range({3, 10 + 7 * i}));
  }
  const ScanOutputs rows =
      map(sequences, [](const Variable& a, const Variable& b, const Variable& c, const Variable& d) {
        return std::vector<Variable>{a * 2.0 + 1.0, b * 2.0 + 1.0, c * 2.0 + 1.0, d * 2.0 + 1.0};
      });
  const Variable start = matrix("start");
  const ScanOutputs states =
      scan({.initial = {transpose(start)}, .steps = 2}, [](const Variable& state) { return cumsum(state, 0) + 1.0; });
  inputs.push_back(start);
  arrays.push_back(range({2, 3}));
  const Function f = function(inputs, {rows[0], rows[1], rows[2], rows[3], states[0]}, {.device = device()});
  const auto expect = [&](const Results& results, const char* when) {
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(values(results[i]), values(arrays[i] * 2.0f + 1.0f)) << when;
    const Array first = cumsum(swap_axes(arrays[4], 0, 1), 0) + 1.0f, second = cumsum(first, 0) + 1.0f;
    EXPECT_EQ(values(results[4]), values(concatenate({expand_dims(first, 0), expand_dims(second, 0)}, 0))) << when;
  };
  for (int call = 0; call < 4; ++call) expect(f.call(arrays), "called");
  const Stream stream(device());
  Results results;
  const CapturedGraph graph = capture(stream, [&] { results = f.call(arrays); });
  for (int launch = 0; launch < 2; ++launch) {
    for (const Array& array : arrays) array.copy_from(array + 1.0f);
    for (std::size_t i = 0; i < results.size(); ++i) results[i].copy_from(results[i] * 0.0f);
    device().synchronize();
    graph.launch(stream);
    stream.synchronize();
    expect(results, "captured");
  }
}

DAMO_ON_EACH_DEVICE(ReplayedThunks);

}  // namespace
}  // namespace damo
