// Which kernels are compiled, and which of them together, when a call's layouts are new: on a driver of the tests' own (driver/fake_driver.cpp), so that no GPU is needed.
#include <damo/damo.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "ops/elementwise_op.hpp"
#include "ops/kernel_thunk.hpp"
#include "ops/lower.hpp"
#include "runtime/backend.hpp"
#include "runtime/cuda/cuda_backend.hpp"
#include "runtime/kernel/cache.hpp"
#include "runtime/kernel/dialect.hpp"
#include "runtime/kernel/layout.hpp"
#include "support/errors.hpp"
#include "support/test_ops.hpp"

namespace damo {
namespace {

using damo::testing::CallbackOp;
using damo::testing::error_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Names = std::vector<std::string>;

class FirstCallNvrtc : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
    device_ = Device("cuda:0");
    ASSERT_EQ(device_->properties().description, "fake");
    level_ = log_level();
    set_log_level(LogLevel::kDebug);
    set_log_sink([this](LogLevel, std::string_view line) { lines_.emplace_back(line); });
  }
  void TearDown() override {
    set_log_sink({});
    set_log_level(level_);
  }
  Device device() const { return *device_; }
  Array zeros(const Shape& shape, DType dtype = float32) const { return Array::zeros(shape, dtype, device()); }

  /// Of kernels that were compiled together for a call since the last time, a line a call: "damo_add, damo_mean".
  Names together() { return take("compiling for the layouts of a call: "); }
  /// The same for function().
  Names guessed() { return take("compiling for expected layouts: "); }
  /// Of kernels that thunks had to compile by themselves.
  Names alone() { return take("for a new layout"); }
  /// Of kernels that function() may compile beside those.
  Names beside() { return take("and as far as threads are left, for other layouts: "); }
  /// Kernels that were asked of the cache, whether or not it had them.
  std::uint64_t requests() const {
    device().backend().cache().settle();
    const CacheStatistics statistics = device().backend().cache().statistics();
    return statistics.compiles + statistics.disk_hits + statistics.memory_hits;
  }

 private:
  Names take(const std::string& what) {
    Names found;
    std::erase_if(lines_, [&](const std::string& line) {
      const auto at = line.find(what);
      if (at == std::string::npos) return false;
      found.push_back(line.substr(at + what.size()));
      return true;
    });
    return found;
  }
  std::optional<Device> device_;
  LogLevel level_ = LogLevel::kInfo;
  Names lines_;
};

TEST_F(FirstCallNvrtc, KernelsWhoseLayoutWasGuessedWrongAreCompiledTogether) {
  const Variable x = vector("x"), y = vector("y");
  const Function f = function({x, y}, {mean(x), sum(exp(y))}, {.device = device()});
  EXPECT_THAT(together(), IsEmpty());
  const Array few = zeros({64}), many = zeros({1024});
  f(few, few);
  EXPECT_THAT(together(), ElementsAre(AllOf(HasSubstr("damo_mean"), HasSubstr("damo_exp_sum"))));
  EXPECT_THAT(alone(), IsEmpty());
  const std::uint64_t before = requests();
  for (const Array& rows : {few, many, few, many}) f(rows, rows);
  EXPECT_EQ(requests(), before) << "what was guessed is there, and a layout that comes again compiles nothing";
}

TEST_F(FirstCallNvrtc, KernelsForLesserExtentsAreCompiledBesideTheOthers) {
  const Variable x = vector("x"), y = vector("y");
  const Function f = function({x, y}, {mean(x) + 0.75, sum(exp(y)) + 0.75}, {.device = device()});
  const Names names = beside();
  ASSERT_THAT(names, SizeIs(1));
  EXPECT_THAT(names[0], AllOf(HasSubstr("damo_mean"), HasSubstr("damo_exp_sum")));
}

TEST_F(FirstCallNvrtc, AGuessThatFitsLeavesNothingToCompile) {
  const Variable x = matrix("x"), known = input({float32, {64}}, "known");
  const Function f = function({x, known}, {exp(x), mean(known)}, {.device = device()});
  const std::uint64_t before = requests();
  f(zeros({64, 3}), zeros({64}));
  EXPECT_EQ(requests(), before);
}

TEST_F(FirstCallNvrtc, KernelsInTheOnesPlaceAreCompiledTogether) {
  const Variable x = matrix("x");
  const Function f = function({x}, {softmax(x)}, {.device = device()});
  f(zeros({2, 1 << 20}));  // few long rows: a kernel a pass
  const Names names = together();
  ASSERT_THAT(names, SizeIs(1));
  EXPECT_GE(std::count(names[0].begin(), names[0].end(), ','), 1) << names[0];
  EXPECT_THAT(alone(), IsEmpty());
  const Variable known = input({float32, {2, 1 << 20}}, "known");
  const Function g = function({known}, {softmax(known)}, {.device = device()});
  g(zeros({2, 1 << 20}));
  EXPECT_THAT(together(), IsEmpty()) << "they are known before the first call";
  EXPECT_THAT(alone(), IsEmpty());
}

TEST_F(FirstCallNvrtc, ACopyInCOrderIsCompiledForInputsThatNeedIt) {
  const Variable x = matrix("x");
  const std::uint64_t before = requests();
  const Function f = function({x}, {2.0 * contiguous(x)}, {.fuse = false, .rewrite = false, .device = device()});
  EXPECT_EQ(requests(), before + 1) << "the product alone";
  const Array dense = zeros({30, 50});
  f(dense);
  EXPECT_THAT(together(), IsEmpty());
  f(zeros({50, 30}).transpose());
  EXPECT_THAT(together(), ElementsAre("damo_identity"));
  f(dense);
  f(zeros({50, 30}).transpose());
  EXPECT_THAT(together(), IsEmpty());
  EXPECT_THAT(alone(), IsEmpty());
}

TEST_F(FirstCallNvrtc, GraphsWithinAGraphAreCompiledWithIt) {
  const Variable x = vector("x"), y = vector("y"), condition = scalar("condition", bool_);
  const ScanOutputs states = scan({.initial = {x}, .steps = 3}, [](const Variable& a) { return a * mean(a); });
  const Variable chosen = ifelse(condition, sum(tanh(y)), sum(exp(y)));
  const Function f = function({x, y, condition}, {states[0], chosen, max(y)}, {.device = device()});
  const Names names = guessed();
  ASSERT_THAT(names, SizeIs(1));
  EXPECT_THAT(names[0], AllOf(HasSubstr("damo_tanh_sum"), HasSubstr("damo_exp_sum"), HasSubstr("damo_max"), HasSubstr("mean")));
}

TEST_F(FirstCallNvrtc, StepsOfALoopAreCompiledTogetherAtTheFirstOfThem) {
  const Variable x = vector("x"), y = vector("y");
  const ScanOutputs states = scan({.initial = {x, y}, .steps = 3}, [](const Variable& a, const Variable& b) { return std::vector<Variable>{a * mean(a), b - max(exp(b))}; });
  const Function f = function({x, y}, {states[0], states[1]}, {.device = device()});
  const Array few = zeros({64});
  f(few, few);
  EXPECT_THAT(together(), SizeIs(1));
  EXPECT_THAT(alone(), IsEmpty());
}

TEST_F(FirstCallNvrtc, ALoopThatIsOneKernelIsCompiledWithTheOthers) {
  const Variable x = matrix("x"), y = vector("y");
  const ScanOutputs states = scan({.sequences = {x}, .initial = {y}}, [](const Variable& row, const Variable& state) { return tanh(row + state); });
  const Function f = function({x, y}, {states[0], mean(exp(x))}, {.device = device()});
  ASSERT_THAT(f.explain(), HasSubstr("one_kernel"));
  f(zeros({80, 7}).transpose(), zeros({80}));
  const Names names = together();
  ASSERT_THAT(names, SizeIs(1));
  EXPECT_EQ(std::count(names[0].begin(), names[0].end(), ','), 1) << names[0];
  EXPECT_THAT(alone(), IsEmpty());
}

TEST_F(FirstCallNvrtc, MembersOfOneLaunchThatAreNotDenseAreCompiledWithTheOthers) {
  std::vector<Variable> inputs, outputs;
  std::vector<Array> arrays;
  for (std::int64_t i = 0; i < 6; ++i) {
    outputs.push_back(tanh(inputs.emplace_back(vector("x"))) - static_cast<double>(i + 1));
    arrays.push_back(i % 2 == 0 ? zeros({1000 + i}) : zeros({2000 + 2 * i}).slice({{0, 2000 + 2 * i, 2}}));
  }
  outputs.push_back(mean(inputs.emplace_back(vector("y"))));
  arrays.push_back(zeros({64}));
  const Function f = function(inputs, outputs, {.device = device()});
  ASSERT_THAT(f.explain(), HasSubstr("joined{members=6}"));
  f.call(arrays);
  const Names names = together();
  ASSERT_THAT(names, SizeIs(1));
  EXPECT_THAT(names[0], AllOf(HasSubstr("damo_tanh_sub"), HasSubstr("damo_mean")));
  EXPECT_THAT(alone(), IsEmpty());
}

TEST_F(FirstCallNvrtc, WindowsThatLieOtherwiseAreCompiledWithTheOthers) {
  const Variable x = matrix("x"), y = matrix("y"), z = matrix("z");
  const Function f = function({x, y, z}, {set_subtensor(x, {{0, 2}}, exp(y)), concatenate({z, z}, 1)}, {.fuse = false, .device = device()});
  f(zeros({30, 40}), zeros({40, 2}).transpose(), zeros({40, 30}).transpose());
  EXPECT_THAT(together(), SizeIs(1));
  EXPECT_THAT(alone(), IsEmpty());
}

/// x plus a number of its own, which stands in its text: on no disk is a kernel of it.
struct NewOp final : KernelOp {
  std::string name() const override { return "new"; }
  Props props() const override { return {{"number", number_}}; }
  void lower(KernelBuilder& k) const override { k.output(k.step("x0 + T(" + std::to_string(number_) + ")", {k.input(0)})); }
  std::int64_t number_ = std::chrono::system_clock::now().time_since_epoch().count();
};

TEST_F(FirstCallNvrtc, ACallFindsCompiledWhatAThreadWasLeftFor) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one thread compiles what function() waits for, the other what it does not";
  const auto compiles = [this] {
    requests();  // waits for what is compiled beside
    return device().backend().cache().statistics().compiles;
  };
  bool was_left = false;
  for (int attempt = 0; attempt < 20 && !was_left; ++attempt) {  // a busy machine may start the other thread when the first has ended
    const Variable x = vector("x");
    const std::uint64_t at_first = compiles();
    const Function f = function({x}, {mean(make_op<NewOp>()(x))}, {.device = device()});
    const std::uint64_t before = compiles();
    was_left = before - at_first > 1;
    f(zeros({64}));
    EXPECT_EQ(compiles(), before + (was_left ? 0 : 1));
  }
  EXPECT_TRUE(was_left) << "of twenty functions none had a thread that compiled beside it";
}

TEST_F(FirstCallNvrtc, WhatAProductNeedsIsCompiledBesideTheKernels) {
  const Variable x = matrix("x", int32), w = input({int32, {7, 8}}, "w");  // whose products are Damo's own
  const Function f = function({x, w}, {dot(x, w), exp(mean(x))}, {.device = device()});
  const Names names = beside();
  ASSERT_THAT(names, SizeIs(1));
  EXPECT_THAT(names[0], HasSubstr("matrix_product"));
}

TEST_F(FirstCallNvrtc, WhereAllIsKnownNothingIsCompiledBeside) {
  const Variable x = input({float32, {64, 30}}, "x");
  const Function f = function({x}, {mean(x), sum(exp(x), {0})}, {.device = device()});
  EXPECT_THAT(guessed(), SizeIs(1));
  EXPECT_THAT(beside(), IsEmpty());
}

TEST_F(FirstCallNvrtc, ProductsArePreparedBeforeTheFirstNodeRuns) {
  std::uint64_t at_first_node = 0;
  const auto watch = make_op<CallbackOp>("watch", [&](Cell&, Cell&) { at_first_node = requests(); });
  const Variable x = matrix("x", int32), w = matrix("w", int32);  // whose products are Damo's own
  const Function f = function({x, w}, {dot(watch(x), w)}, {.device = device()});
  const std::uint64_t before = requests();
  f(zeros({4, 5}, int32), zeros({5, 6}, int32));
  EXPECT_GT(at_first_node, before);
  EXPECT_EQ(requests(), at_first_node);
}

/// exp, whose text for arrays that are not dense is wrong.
class DenseExpOp final : public Op {
 public:
  std::string name() const override { return "dense_exp"; }
  Apply make_node(Inputs in) const override { return {*this, {in.at(0)}, {in.at(0).type()}}; }
  Shapes infer_shape(const Apply&, std::span<const Shape> in) const override { return {{in[0]}}; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    const KernelSpec plain = lower(static_cast<const ElementwiseOp&>(*elementwise_op(*find_elementwise("exp"))), node);
    const Dialect& dialect = context.device().backend().dialect();
    KernelSpec spec = plain;
    spec.overrides.push_back({std::string(dialect.name()), [plain, &dialect](const damo::Layout& layout) { return layout.is_flat() ? dialect.emit(plain, layout) : "this is no program"; }});
    return kernel_thunk(std::move(spec), node, context);
  }
};

TEST_F(FirstCallNvrtc, AKernelThatDoesNotCompileForALayoutIsItsNodesError) {
  const auto op = make_op<DenseExpOp>();
  const Variable x = matrix("x");
  const Function f = function({x}, {mean(x), op(x)}, {.device = device()});
  f(zeros({40, 30}));
  const std::string text = error_of<CompileError>([&] { f(zeros({40, 30}).transpose()); });
  EXPECT_THAT(text, AllOf(HasSubstr("this is no program"), HasSubstr("dense_exp built at "), HasSubstr("first_call_test.cpp:"), HasSubstr("x float32 (30, 40)")));
  f(zeros({40, 30}));
}

/// The library of matrix products is opened beside function() and what comes after it: the process waits for it, however soon it ends.
TEST(FirstCallDeathNvrtc, ProcessesMayEndWhileTheLibraryOfProductsIsOpened) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // in a process of its own, which has opened nothing
  for (int milliseconds : {0, 5, 10, 20, 40}) {
    const auto build_and_end = [milliseconds] {
      const Variable x = matrix("x"), w = matrix("w");
      const Function f = function({x, w}, {dot(x, w)}, {.device = Device("cuda:0")});
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
      std::exit(0);
    };
    EXPECT_EXIT(build_and_end(), ::testing::ExitedWithCode(0), "") << "after " << milliseconds << " ms";
  }
}

}  // namespace
}  // namespace damo
