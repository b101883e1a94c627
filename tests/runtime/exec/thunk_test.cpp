// The contract of thunks and cells, with a user's own ops: what Op::make_thunk gets and what it may rely on.
#include <damo/thunk.hpp>

#include <thread>

#include <gmock/gmock.h>

#include "runtime/exec/executor.hpp"
#include "runtime/memory/memory_pool.hpp"
#include "support/devices.hpp"
#include "support/test_ops.hpp"

namespace damo {
namespace {

using damo::testing::AddOneOp;
using damo::testing::CallbackOp;
using damo::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Floats = std::vector<float>;

/// x + y and x - y in one kernel.
class SumDifferenceOp final : public Op {
 public:
  std::string name() const override { return "sum_difference"; }
  Apply make_node(Inputs in) const override {
    in.require_count(2);
    for (const Variable& x : in) require_dtype(x, float32);
    return {*this, {in.at(0), in.at(1)}, {in.at(0).type(), in.at(0).type()}};
  }
  Shapes infer_shape(const Apply&, std::span<const Shape> in) const override {
    if (in[0] == in[1]) return {{in[0], in[0]}};
    throw ShapeError("sum_difference: " + to_string(in[0]) + " and " + to_string(in[1]) + " differ");
  }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    const Kernel kernel = context.compile(R"(
template <class T> __global__ void sum_difference(const T* x, const T* y, T* sum, T* difference, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  sum[i] = x[i] + y[i];
  difference[i] = x[i] - y[i];
})", "sum_difference<float>");
    Cell &x = context.storage(node.input(0)), &y = context.storage(node.input(1));
    Cell &sum = context.storage(node.output(0)), &difference = context.storage(node.output(1));
    return [=, &x, &y, &sum, &difference] {
      kernel.launch_1d(x.size(), x.array(), y.array(), sum.array(), difference.array(), static_cast<int>(x.size()));
    };
  }
};

class ThunkOnEachDevice : public damo::testing::OnEachDevice {
 protected:
  Executor executor(const std::vector<Variable>& inputs, const std::vector<Variable>& outputs) const { return {FunctionGraph(inputs, outputs), device(), false}; }
  std::vector<Floats> run(Executor& program, std::vector<Array> inputs) const {
    std::vector<Floats> results;
    for (const Array& result : program.call(inputs)) results.push_back(result.to_vector<float>());
    return results;
  }
  const Variable x_ = vector("x"), y_ = vector("y"), m_ = matrix("m");
};

TEST_P(ThunkOnEachDevice, RunsCudaCWithSeveralOutputs) {
  const auto op = make_op<SumDifferenceOp>();
  const auto y = op.outputs({x_, y_});
  Executor program = executor({x_, y_}, {y[1], y[0]});
  EXPECT_THAT(run(program, {array({1, 2}), array({10, 20})}), ElementsAre(Floats{-9, -18}, Floats{11, 22}));
  Executor one = executor({x_, y_}, {y[1]});
  EXPECT_THAT(run(one, {array({1, 2}), array({10, 20})}), ElementsAre(Floats{-9, -18})) << "an output that nobody reads has a buffer all the same";
}

TEST_P(ThunkOnEachDevice, GetsTheSameCellForTheSameValue) {
  const auto op = make_op<SumDifferenceOp>();
  Executor program = executor({x_}, op.outputs({x_, x_}));
  EXPECT_THAT(run(program, {array({1, 2})}), ElementsAre(Floats{2, 4}, Floats{0, 0}));
}

TEST_P(ThunkOnEachDevice, ReadsStridedInputsWithoutACopy) {
  const auto op = make_op<AddOneOp>();
  Executor program = executor({m_}, {op(m_)});
  const Array a = range({2, 3});
  const std::uint64_t before = device().memory().allocations;
  EXPECT_THAT(run(program, {a.transpose()}), ElementsAre(Floats{1, 4, 2, 5, 3, 6}));
  EXPECT_THAT(run(program, {a.slice({{}, {{}, {}, -1}})}), ElementsAre(Floats{3, 2, 1, 6, 5, 4}));
  EXPECT_LE(device().memory().allocations, before + 5) << "outputs and what to_vector needs, no copies of inputs";
}

TEST_P(ThunkOnEachDevice, CountsAVersionForEachNewLayout) {
  std::vector<std::uint32_t> versions;
  const auto watch = make_op<CallbackOp>("watch", [&](Cell& x, Cell& y) {
    versions.push_back(x.version());
    EXPECT_EQ(x.shape(), x.array().shape());
    EXPECT_EQ(x.strides(), x.array().strides());
    EXPECT_EQ(y.shape(), x.shape());
    y.array().copy_from(x.array());
  });
  Executor program = executor({m_}, {watch(m_)});
  const Array a = range({2, 3}), square = range({3, 3});
  for (const Array& input : {a, range({2, 3}), square, square.transpose(), square.transpose(), a}) run(program, {input});
  EXPECT_EQ(versions[0], versions[1]);
  EXPECT_NE(versions[1], versions[2]);
  EXPECT_NE(versions[2], versions[3]) << "strides count too";
  EXPECT_EQ(versions[3], versions[4]);
  EXPECT_NE(versions[4], versions[5]);
}

TEST_P(ThunkOnEachDevice, MayAssumeNothingOfItsOutput) {
  MemoryPool& pool = device().backend().pool();
  pool.set_poison(true);
  const auto op = make_op<AddOneOp>();
  Executor program = executor({x_}, {op(op(op(x_)))});
  for (int i = 0; i < 3; ++i) EXPECT_THAT(run(program, {array({1, 2})}), ElementsAre(Floats{4, 5}));
  EXPECT_THAT(run(program, {array({7})}), ElementsAre(Floats{10}));
  pool.set_poison(false);
}

TEST_P(ThunkOnEachDevice, IsMadeOnceForEachThreadThatRuns) {
  AddOneOp::Counts counts;
  const auto op = make_op<AddOneOp>(&counts);
  Executor program = executor({x_}, {op(x_)});
  EXPECT_EQ(counts.thunks, 1);
  for (int i = 0; i < 5; ++i) run(program, {array({1})});
  EXPECT_EQ(counts.thunks, 1);
  EXPECT_EQ(counts.runs, 5);
}

TEST_P(ThunkOnEachDevice, GivesItsCellsOnly) {
  class StrayOp final : public Op {
   public:
    explicit StrayOp(Variable other) : other_(std::move(other)) {}
    std::string name() const override { return "stray"; }
    Apply make_node(Inputs in) const override { return {*this, {in.at(0)}, {in.at(0).type()}}; }
    Thunk make_thunk(const Apply&, ThunkContext& context) const override {
      context.storage(other_);
      return [] {};
    }
   private:
    Variable other_;
  };
  const auto op = make_op<StrayOp>(y_);
  EXPECT_THAT(error_of([&] { executor({x_}, {op(x_)}); }), HasSubstr("storage(): y float32 (?,) is neither an input nor an output of the node"));
}

TEST_P(ThunkOnEachDevice, LaunchesNoKernelBeforeItIsCompiled) {
  class EarlyOp final : public Op {
   public:
    std::string name() const override { return "early"; }
    Apply make_node(Inputs in) const override { return {*this, {in.at(0)}, {in.at(0).type()}}; }
    Thunk make_thunk(const Apply&, ThunkContext& context) const override {
      context.compile("extern \"C\" __global__ void k() {}", "k").launch({});
      return [] {};
    }
  };
  const auto op = make_op<EarlyOp>();
  EXPECT_THAT(error_of([&] { executor({x_}, {op(x_)}); }), HasSubstr("launched before it is compiled"));
}

TEST_P(ThunkOnEachDevice, RecordsAProfile) {
  const auto op = make_op<AddOneOp>();
  const Variable inputs[] = {x_}, outputs[] = {op(op(x_))};
  Executor program(FunctionGraph(inputs, outputs), device(), true);
  const Array in = range({1000});
  for (int i = 0; i < 3; ++i) run(program, {in});
  const Profile profile = program.profile();
  EXPECT_EQ(profile.calls, 3u);
  EXPECT_EQ(profile.device, device().name());
  ASSERT_EQ(profile.rows.size(), 2u);
  for (const ProfileRow& row : profile.rows) {
    EXPECT_EQ(row.op, "add_one");
    EXPECT_EQ(row.calls, 3u);
    EXPECT_EQ(row.bytes, 3u * 2 * 4000);
    EXPECT_THAT(row.where, HasSubstr("thunk_test.cpp:"));
    EXPECT_GT(row.milliseconds, 0);
  }
}

TEST_P(ThunkOnEachDevice, CountsARepeatedElementOnceInAProfile) {
  const auto op = make_op<AddOneOp>();
  const Variable inputs[] = {m_}, outputs[] = {op(m_)};
  Executor program(FunctionGraph(inputs, outputs), device(), true);
  run(program, {range({1, 10}).broadcast_to({20, 10})});
  EXPECT_EQ(program.profile().rows[0].bytes, 10u * 4 + 200u * 4);
}

DAMO_ON_EACH_DEVICE(ThunkOnEachDevice);

}  // namespace
}  // namespace damo
