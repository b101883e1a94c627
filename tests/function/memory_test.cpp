// Who holds which buffer between and during calls.
#include <damo/damo.hpp>

#include <cmath>
#include <optional>

#include <gmock/gmock.h>

#include "support/devices.hpp"
#include "support/test_ops.hpp"

namespace damo {
namespace {

using damo::testing::AddOneOp;
using damo::testing::CallbackOp;
using damo::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class MemoryOnEachDevice : public damo::testing::OnEachDevice {
 protected:
  void TearDown() override {
    if (!IsSkipped()) device().set_memory_limit(0);
  }
  std::uint64_t allocations() const { return device().memory().allocations; }
  /// Of a graph with temporaries, a custom op between fused groups, a view of an output, several outputs.
  Function mixed_function() const {
    const auto x = matrix("x");
    const auto y = add_one_(tanh(x * 0.5) + 1.0);
    return function({x}, {y, transpose(y) * 2.0, add_one_(y * 3.0) - 1.0}, {.device = device()});
  }
  OpHandle<AddOneOp> add_one_ = make_op<AddOneOp>();
};

TEST_P(MemoryOnEachDevice, ReusesTheBufferOfADroppedResult) {
  const auto x = vector("x");
  const Function f = function({x}, {x * 2.0}, {.device = device()});
  const Array in = array({1, 2});
  std::optional<Array> result = f(in);
  const void* buffer = result->data();
  result.reset();
  result = f(in);
  EXPECT_EQ(result->data(), buffer);
  const Array held = *result;
  result = f(in);
  EXPECT_NE(result->data(), buffer);
}

TEST_P(MemoryOnEachDevice, AllocatesNothingOnceShapesRepeat) {
  const Function f = mixed_function();
  const Array in = range({8, 16});
  for (int i = 0; i < 2; ++i) f(in);
  const std::uint64_t before = allocations();
  for (int i = 0; i < 5; ++i) f(in);
  EXPECT_EQ(allocations(), before);
}

TEST_P(MemoryOnEachDevice, AllocatesOneBufferForEachHeldResult) {
  const Function f = mixed_function();
  const Array in = range({8, 16});
  Results held = f(in);
  const std::uint64_t before = allocations();
  held = f(in);
  EXPECT_EQ(allocations(), before + 3);
}

TEST_P(MemoryOnEachDevice, LetsGoOfTheInputs) {
  const auto x = matrix("x");
  const Function f = function({x}, {transpose(x) + 1.0, expand_dims(x, 0)}, {.device = device()});
  Array in = range({2, 3});
  f(in);
  EXPECT_TRUE(in.is_unique());
}

TEST_P(MemoryOnEachDevice, ReallocatesOutputsWhenAnInputShapeChanges) {
  const Function f = mixed_function();
  for (const Shape& shape : {Shape{2, 3}, Shape{5, 7}, Shape{1, 1}, Shape{2, 3}, Shape{0, 4}, Shape{300, 200}}) {
    const auto results = f.call<3>(range(shape));
    EXPECT_EQ(results[0].shape(), shape);
    EXPECT_EQ(results[1].shape(), (Shape{shape[1], shape[0]}));
    const auto y = results[0].to_doubles(), last = results[2].to_doubles();
    int wrong = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double want = std::tanh(static_cast<double>(i) * 0.5) + 2;
      wrong += std::abs(y[i] - want) > 1e-6 || std::abs(last[i] - want * 3) > 3e-6;
    }
    EXPECT_EQ(wrong, 0) << to_string(shape);
  }
}

TEST_P(MemoryOnEachDevice, BindsShapesThatComeInTurnOnce) {
  std::vector<std::uint32_t> versions;
  const auto watch = make_op<CallbackOp>("watch", [&](Cell& x, Cell& y) {
    versions.push_back(x.version());
    y.array().copy_from(x.array());
  });
  const auto x = matrix("x");
  const Function f = function({x}, {watch(x * 2.0) + 1.0}, {.device = device()});
  const Array shapes[] = {range({2, 3}), range({3, 3}), range({3, 3}).transpose(), range({0, 4})};
  for (int round = 0; round < 3; ++round) {
    for (const Array& in : shapes) EXPECT_EQ(Array(f(in)).to_vector<float>(), (in * 2 + 1).to_vector<float>());
  }
  EXPECT_THAT(std::vector(versions.begin() + 8, versions.end()), ::testing::ElementsAreArray(versions.begin() + 4, versions.begin() + 8));
  for (std::int64_t n = 1; n < 100; ++n) f(range({n, 2}));
  EXPECT_EQ(Array(f(shapes[1])).to_vector<float>(), (shapes[1] * 2 + 1).to_vector<float>()) << "a binding that was forgotten is made again";
}

TEST_P(MemoryOnEachDevice, GivesBackTheArenaOfAShapeThatIsGone) {
  const auto x = vector("x");
  const Function f = function({x}, {add_one_(add_one_(add_one_(x)))}, {.device = device()});
  f(Array::zeros({1 << 20}, float32, device()));
  const std::size_t large = device().memory().in_use_bytes;
  const Array small = array({1, 2});
  for (int i = 0; i < 200; ++i) f(small);
  EXPECT_LT(device().memory().in_use_bytes + (std::size_t{4} << 20), large);
}

TEST_P(MemoryOnEachDevice, ForgetsTemporariesWhenAsked) {
  Function f = mixed_function();
  const Array in = range({64, 64});
  f(in);
  const std::size_t with = device().memory().in_use_bytes;
  f.free_memory();
  EXPECT_LT(device().memory().in_use_bytes, with);
  EXPECT_EQ(f.call<3>(in)[0].shape(), in.shape());
}

TEST_P(MemoryOnEachDevice, PlacesTemporariesInOneArena) {
  // A chain of opaque nodes needs two buffers at a time, however long it is.
  const auto x = vector("x");
  Variable y = x;
  for (int i = 0; i < 20; ++i) y = add_one_(y);
  const Function f = function({x}, {y}, {.device = device()});
  const Array in = Array::zeros({1 << 16}, float32, device());
  const std::size_t before = device().memory().in_use_bytes;
  const Array result = f(in);
  EXPECT_EQ(result.to_vector<float>()[7], 20);
  EXPECT_LE(device().memory().in_use_bytes - before, std::size_t{4} * in.nbytes());
}

TEST_P(MemoryOnEachDevice, SaysWhatWasAskedAndByWhichNode) {
  const auto x = vector("x");
  const Function f = function({x}, {add_one_(x)}, {.device = device(), .name = "step"});
  const Array in = range({1 << 20});
  device().free_cache();
  device().set_memory_limit(device().memory().in_use_bytes + (1 << 20));
  const std::string text = error_of([&] { f(in); });
  EXPECT_THAT(text, HasSubstr("4.00 MiB asked for"));
  EXPECT_THAT(text, HasSubstr("in use by arrays"));
  EXPECT_THAT(text, HasSubstr("node 1 of 1, add_one built at "));
  EXPECT_THAT(text, HasSubstr("memory_test.cpp:"));
  EXPECT_THAT(text, HasSubstr("set_memory_limit"));
  EXPECT_THROW(f(in), OutOfMemoryError);
  EXPECT_EQ(in.to_vector<float>()[5], 5);
  EXPECT_THAT(Array(f(array({1, 2}))).to_vector<float>(), ElementsAre(2, 3)) << "small arrays still fit";
  device().set_memory_limit(0);
  EXPECT_EQ(Array(f(in)).to_vector<float>()[5], 6);
}

TEST_P(MemoryOnEachDevice, NamesTheLargestTemporary) {
  const auto x = vector("x");
  const Function f = function({x}, {add_one_(add_one_(x))}, {.device = device()});
  const Array in = range({1 << 20});
  device().free_cache();
  device().set_memory_limit(device().memory().in_use_bytes + (1 << 20));
  EXPECT_THAT(error_of([&] { f(in); }), HasSubstr("node 1 of 2, add_one built at "));
  device().set_memory_limit(0);
  EXPECT_EQ(Array(f(in)).to_vector<float>()[5], 7);
}

TEST_P(MemoryOnEachDevice, PlansWhatACallWillTake) {
  const auto x = matrix("x");
  const Shared w = shared("w", range({16}));
  const auto y = add_one_(add_one_(x) * 2.0);
  const Function f = function({x}, {y, x, sum(y)}, {.device = device(), .updates = {{w, w + add_one_(w)}}});
  const CallPlan plan = f.plan({{512, 16}});
  const std::size_t matrix_bytes = 512 * 16 * 4;
  EXPECT_EQ(plan.inputs, matrix_bytes);
  EXPECT_EQ(plan.results, 2 * matrix_bytes + 4) << "y, the copy of x, the sum";
  EXPECT_EQ(plan.shared, 64u);
  EXPECT_GE(plan.temporaries, matrix_bytes);
  EXPECT_LT(plan.temporaries, 3 * matrix_bytes);
  EXPECT_TRUE(plan.is_complete);
  EXPECT_EQ(plan.peak(), plan.inputs + plan.shared + plan.constants + plan.results + plan.updates + plan.temporaries);
  EXPECT_THAT(plan.to_string(), HasSubstr("inputs 32.00 KiB"));
  const Array in = range({512, 16});
  device().free_cache();
  const std::size_t before = device().memory().in_use_bytes;
  device().reset_peak();
  const Results results = f(in);
  const std::size_t taken = device().memory().peak_bytes - before;
  EXPECT_GE(taken, plan.asked_for());
  EXPECT_LE(taken, plan.asked_for() + plan.asked_for() / 8 + 8 * 512);
}

TEST_P(MemoryOnEachDevice, APlanSaysWhereItEnds) {
  const auto x = vector("x");
  const Function f = function({x}, {damo::testing::make_positives()(x) * 2.0}, {.device = device()});
  EXPECT_FALSE(f.plan({{100}}).is_complete);
  EXPECT_THAT(f.plan({{100}}).to_string(), HasSubstr("finds sizes in its data"));
}

TEST_P(MemoryOnEachDevice, APlanRefusesShapesAsTheCallWould) {
  const auto x = vector("x"), y = vector("y");
  const Function f = function({x, y}, {x + y}, {.device = device()});
  EXPECT_THAT(error_of([&] { f.plan({{2}}); }), HasSubstr("the function takes 2 inputs, 1 was given"));
  EXPECT_THAT(error_of([&] { f.plan({{2}, {3, 3}}); }), HasSubstr("input 1 (y) must be"));
  EXPECT_THROW(f.plan({{2}, {3}}), ShapeError);
}

TEST_P(MemoryOnEachDevice, TellsThatTheMemoryIsTooSmallBeforeAnythingRuns) {
  const auto x = vector("x");
  int runs = 0;
  const auto count = make_op<damo::testing::CallbackOp>("count", [&](Cell& from, Cell& to) {
    ++runs;
    to.array().copy_from(from.array());
  });
  const Function f = function({x}, {count(x), x * 2.0, x * 3.0}, {.device = device()});
  const Array in = range({1 << 20});
  device().free_cache();
  device().set_memory_limit(device().memory().in_use_bytes + (10 << 20));
  const std::string text = error_of([&] { f(in); });
  EXPECT_THAT(text, HasSubstr("12.00 MiB asked for by the call, 10.00 MiB are there"));
  EXPECT_THAT(text, HasSubstr("results 12.00 MiB"));
  EXPECT_EQ(runs, 0);
  device().set_memory_limit(0);
  EXPECT_EQ(f(in)[2].to_vector<float>()[5], 15);
}

TEST_P(MemoryOnEachDevice, ADonatedInputsMemoryBecomesAResults) {
  const auto x = vector("x"), y = vector("y");
  const Function f = function({x, y}, {tanh(x) * 0.0 + y, x + y}, {.device = device(), .donate = {x}});
  for (int call = 0; call < 4; ++call) {
    Array given = array({1, 2}), kept = array({10, 20});
    const void* const memory = given.data();
    const Results results = f(std::move(given), kept);
    EXPECT_EQ((results[0].data() == memory) + (results[1].data() == memory), 1);
    EXPECT_THAT(results[0].to_vector<float>(), ElementsAre(10, 20));
    EXPECT_THAT(results[1].to_vector<float>(), ElementsAre(11, 22));
    EXPECT_THAT(kept.to_vector<float>(), ElementsAre(10, 20));
  }
}

TEST_P(MemoryOnEachDevice, WhatSomebodyHoldsIsNotDonated) {
  const auto x = vector("x"), y = vector("y");
  const Function f = function({x, y}, {x * 2.0 + y}, {.device = device(), .donate = {x}});
  Array a = array({1, 2});
  const Array view = a.slice({{0, 1}});
  EXPECT_THAT(Array(f(std::move(a), array({0, 0}))).to_vector<float>(), ElementsAre(2, 4));
  EXPECT_THAT(view.to_vector<float>(), ElementsAre(1));
  Array b = array({1, 2});
  EXPECT_THAT(Array(f(b, b)).to_vector<float>(), ElementsAre(3, 6));
  EXPECT_THAT(b.to_vector<float>(), ElementsAre(1, 2));
  std::vector<float> own = {3, 4};
  if (device().is_host()) {
    f(Array::borrow(own.data(), float32, {2}, {1}, device()), array({0, 0}));
    EXPECT_THAT(own, ElementsAre(3, 4));
  }
}

TEST_P(MemoryOnEachDevice, AnInputThatIsReadLaterIsNotWrittenOver) {
  const auto x = vector("x");
  const Function f = function({x}, {add_one_(x), x * 3.0}, {.fuse = false, .device = device(), .donate = {x}});
  for (int call = 0; call < 3; ++call) {
    const Results results = f(array({1, 2}));
    EXPECT_THAT(results[0].to_vector<float>(), ElementsAre(2, 3));
    EXPECT_THAT(results[1].to_vector<float>(), ElementsAre(3, 6));
  }
}

TEST_P(MemoryOnEachDevice, DonatesInputsAlone) {
  const auto x = vector("x"), y = vector("y");
  EXPECT_THAT(error_of([&] { function({x}, {x * 2.0}, {.device = device(), .donate = {y}}); }),
              AllOf(HasSubstr("donate: y float32 (?,) is no input of the function"), HasSubstr("donate built at "), HasSubstr("memory_test.cpp:")));
}

TEST_P(MemoryOnEachDevice, WorksAfterAThunkThatThrows) {
  int runs = 0;
  const auto fails = make_op<CallbackOp>("fails", [&](Cell& x, Cell& y) {
    if (++runs == 2) throw std::runtime_error("the thunk's own");
    y.array().copy_from(x.array());
  });
  const auto x = vector("x");
  const Function f = function({x}, {fails(x * 2.0) + 1.0}, {.device = device()});
  const Array in = array({1, 2});
  EXPECT_THAT(Array(f(in)).to_vector<float>(), ElementsAre(3, 5));
  EXPECT_THROW(f(in), GraphError);
  EXPECT_THAT(in.to_vector<float>(), ElementsAre(1, 2));
  EXPECT_THAT(Array(f(in)).to_vector<float>(), ElementsAre(3, 5));
}

TEST_P(MemoryOnEachDevice, CompilesNothingForNewShapes) {
  const auto x = matrix("x"), y = matrix("y");
  const Function f = function({x, y}, {tanh(x) * y, x - y}, {.device = device()});
  const auto compiled = [&] {
    const CacheStatistics statistics = cache_statistics(device());
    return statistics.compiles + statistics.disk_hits + statistics.memory_hits;
  };
  const std::uint64_t before = compiled();
  for (const Shape& shape : {Shape{2, 3}, Shape{100, 1}, Shape{1, 1}, Shape{0, 5}, Shape{17, 33}, Shape{512, 512}}) f(range(shape), range(shape));
  EXPECT_EQ(compiled(), before);
}

DAMO_ON_EACH_DEVICE(MemoryOnEachDevice);

}  // namespace
}  // namespace damo
