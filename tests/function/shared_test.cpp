// Shared variables: what Functions see of them, when and where updates are written, and what threads may rely on.
#include <damo/damo.hpp>

#include <atomic>
#include <cmath>
#include <thread>

#include <gmock/gmock.h>

#include "runtime/backend.hpp"
#include "support/devices.hpp"
#include "support/test_ops.hpp"

namespace damo {
namespace {

using damo::testing::AddOneOp;
using damo::testing::CallbackOp;
using damo::testing::error_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class SharedOnEachDevice : public damo::testing::OnEachDevice {
 protected:
  Options with(std::vector<Assignment> updates) const { return {.device = device(), .updates = std::move(updates)}; }
  std::uint64_t allocations() const { return device().memory().allocations; }
  std::vector<float> values(const Shared& variable) const { return variable.array().to_vector<float>(); }
};

TEST_P(SharedOnEachDevice, AFunctionReadsWhatTheVariableHolds) {
  const Shared w = shared("w", array({1, 2, 3}));
  const Variable x = vector("x");
  const Function f = function({x}, {x * w}, with({}));
  EXPECT_THAT(Array(f(array({1, 1, 2}))).to_vector<float>(), ElementsAre(1, 2, 6));
  w.set(array({0, 5, 10}));
  EXPECT_THAT(Array(f(array({1, 1, 2}))).to_vector<float>(), ElementsAre(0, 5, 20));
}

TEST_P(SharedOnEachDevice, NobodyElseSharesTheElements) {
  Array first = array({1, 2});
  const Shared w = shared("w", first);
  first += 10;
  EXPECT_THAT(values(w), ElementsAre(1, 2));
  w.array() += 10;
  EXPECT_THAT(values(w), ElementsAre(1, 2));
  Array second = array({3, 4});
  w.set(second);
  second += 10;
  EXPECT_THAT(values(w), ElementsAre(3, 4));
  const Function f = function({}, {w, expand_dims(w, 0)}, {.device = device(), .share_results = true});
  for (const Array& result : f()) result += 10;
  EXPECT_THAT(values(w), ElementsAre(3, 4));
}

TEST_P(SharedOnEachDevice, UpdatesAfterTheResultsAreComputed) {
  const Shared w = shared("w", array({1, 2}));
  const Variable x = vector("x");
  const Function f = function({x}, {w, w * x}, with({{w, w + x}}));
  const auto [old, product] = f.call<2>(array({10, 20}));
  EXPECT_THAT(old.to_vector<float>(), ElementsAre(1, 2));
  EXPECT_THAT(product.to_vector<float>(), ElementsAre(10, 40));
  EXPECT_THAT(values(w), ElementsAre(11, 22));
}

TEST_P(SharedOnEachDevice, AFunctionMayHaveUpdatesAndNoResult) {
  const Shared w = shared("w", array({1, 2}));
  const Function f = function({}, {}, with({{w, w * 2.0}}));
  EXPECT_TRUE(f().empty());
  f();
  EXPECT_THAT(values(w), ElementsAre(4, 8));
}

TEST_P(SharedOnEachDevice, SeveralFunctionsSeeOneValue) {
  const Shared w = shared("w", array({1, 2}));
  const Variable x = vector("x");
  const Function add = function({x}, {}, with({{w, w + x}})), scale = function({x}, {}, with({{w, w * x}})), read = function({}, {w + 0.5}, with({}));
  add(array({1, 1}));
  scale(array({2, 3}));
  add(array({1, 1}));
  EXPECT_THAT(Array(read()).to_vector<float>(), ElementsAre(5.5f, 10.5f));
}

TEST_P(SharedOnEachDevice, VariablesSwapTheirValues) {
  const Shared a = shared("a", array({1, 2})), b = shared("b", array({3, 4})), c = shared("c", array({5, 6}));
  const Function rotate = function({}, {}, with({{a, b}, {b, c}, {c, a}}));
  rotate();
  EXPECT_THAT(values(a), ElementsAre(3, 4));
  EXPECT_THAT(values(b), ElementsAre(5, 6));
  EXPECT_THAT(values(c), ElementsAre(1, 2));
}

TEST_P(SharedOnEachDevice, AllNewValuesComeFromTheOldOnes) {
  for (const bool fuse : {true, false}) {
    const Shared a = shared("a", array({1, 2})), b = shared("b", array({10, 20}));
    Options options = with({{a, a + b}, {b, a * b}});
    options.fuse = fuse;
    const Function f = function({}, {}, options);
    f();
    EXPECT_THAT(values(a), ElementsAre(11, 22));
    EXPECT_THAT(values(b), ElementsAre(10, 40));
    f();
    EXPECT_THAT(values(a), ElementsAre(21, 62));
    EXPECT_THAT(values(b), ElementsAre(110, 880));
  }
}

TEST_P(SharedOnEachDevice, AnElementwiseUpdateIsWrittenWhereTheOldValueLies) {
  const Shared w = shared("w", range({300, 40})), v = shared("v", Array::zeros({300, 40}, float32, device()));
  const Variable g = matrix("g"), velocity = 0.5 * v - 0.25 * g;
  const Function step = function({g}, {}, with({{v, velocity}, {w, w + velocity}}));
  const Array gradient = Array::ones({300, 40}, float32, device());
  for (int i = 0; i < 2; ++i) step(gradient);
  const std::uint64_t before = allocations(), launches = device().backend().launches;
  for (int i = 0; i < 10; ++i) step(gradient);
  EXPECT_EQ(allocations(), before);
  EXPECT_EQ(device().backend().launches - launches, 10) << "one kernel computes both";
  EXPECT_THAT(step.explain(), AllOf(HasSubstr("updates v where it lies"), HasSubstr("updates w where it lies"), HasSubstr("2 shared variables"), HasSubstr("2 updates")));
  double want_v = 0, want_w = 0;
  for (int i = 0; i < 12; ++i) {
    want_v = 0.5 * want_v - 0.25;
    want_w += want_v;
  }
  EXPECT_THAT(v.array().to_doubles(), ::testing::Each(::testing::DoubleNear(want_v, 1e-6)));
  const std::vector<double> now = w.array().to_doubles();
  double worst = 0;
  for (std::size_t i = 0; i < now.size(); ++i) worst = std::max(worst, std::abs(now[i] - (static_cast<double>(i) + want_w)));
  EXPECT_LT(worst, 1e-2);
}

TEST_P(SharedOnEachDevice, AProductIsAddedToTheOldValueWhereItLies) {
  const Shared w = shared("w", range({3, 3}));
  const Variable x = input({float32, {3, 3}}, "x");
  const Function f = function({x}, {}, with({{w, w + dot(x, x)}}));
  EXPECT_THAT(f.explain(), AllOf(HasSubstr("updates w where it lies"), Not(HasSubstr("copies w first"))));
  f(Array::ones({3, 3}, float32, device()));
  EXPECT_THAT(values(w), ElementsAre(3, 4, 5, 6, 7, 8, 9, 10, 11));
}

TEST_P(SharedOnEachDevice, AnUpdateWaitsForOtherReadersOfTheOldValue) {
  const auto add_one = make_op<AddOneOp>();
  const Shared w = shared("w", range({3, 4}));
  const Function f = function({}, {add_one(w), transpose(w) + 1.0}, with({{w, w * 2.0}}));
  for (int i = 0; i < 3; ++i) {
    const std::vector<double> old = w.array().to_doubles();
    const auto [one, turned] = f.call<2>();
    const auto a = one.to_doubles(), b = turned.transpose().to_doubles(), now = w.array().to_doubles();
    for (std::size_t k = 0; k < old.size(); ++k) {
      ASSERT_EQ(a[k], old[k] + 1);
      ASSERT_EQ(b[k], old[k] + 1);
      ASSERT_EQ(now[k], old[k] * 2);
    }
  }
  EXPECT_THAT(f.explain(), HasSubstr("updates w where it lies"));
}

TEST_P(SharedOnEachDevice, AnUpdateThatMixesElementsGetsABufferOfItsOwn) {
  const Shared w = shared("w", range({3, 3})), s = shared("s", array({1, 2, 3}));
  const Function f = function({}, {}, with({{w, w + transpose(w)}, {s, s / sum(s)}}));
  for (int i = 0; i < 2; ++i) f();
  EXPECT_THAT(f.explain(), HasSubstr("updates w in a buffer of its own: add reads the old value through a view"));
  EXPECT_THAT(values(w), ElementsAre(0, 8, 16, 8, 16, 24, 16, 24, 32));
  const std::vector<float> shares = values(s);
  EXPECT_FLOAT_EQ(shares[0] * 6, 1);
  const std::size_t in_use = device().memory().in_use_bytes;
  for (int i = 0; i < 5; ++i) f();
  EXPECT_EQ(device().memory().in_use_bytes, in_use);
}

TEST_P(SharedOnEachDevice, AReductionOverNoAxesReadsTheOldValueAgain) {
  const Shared s = shared("s", array({-2, 0.5, 3}), {-1});
  const Variable place = argmin(s, std::vector<int>{}, keepdims), doubled = exp2(s), positive = lt(place, doubled - 1.0);
  const Function f = function({}, {positive}, with({{s, doubled}}));
  EXPECT_THAT(Array(f()).to_doubles(), ElementsAre(0, 1, 1));
  EXPECT_THAT(values(s), ElementsAre(0.25, std::sqrt(2.0F), 8));
}

TEST_P(SharedOnEachDevice, NewValuesMayBeInputsConstantsAndViews) {
  const Shared a = shared("a", array({0, 0})), b = shared("b", array({0, 0})), c = shared("c", range({2, 2})), d = shared("d", array({0, 0}));
  const Variable x = input({float32, {2}}, "x"), sum = x + 1.0;
  const Function f = function({x}, {sum}, with({{a, x}, {b, sum}, {c, transpose(c)}, {d, sum}}));
  Array in = array({1, 2});
  const Array result = f(in);
  result += 100;
  in += 100;
  EXPECT_THAT(values(a), ElementsAre(1, 2));
  EXPECT_THAT(values(b), ElementsAre(2, 3));
  EXPECT_THAT(values(c), ElementsAre(0, 2, 1, 3));
  EXPECT_THAT(values(d), ElementsAre(2, 3));
  EXPECT_THAT(f.explain(), AllOf(HasSubstr("updates a by a copy: it is input x"), HasSubstr("it is the new value of b too"), HasSubstr("result 0 is a copy: it is the new value of shared variable b")));
}

TEST_P(SharedOnEachDevice, AConstantThatIsANewValueIsThereAtTheNextCallToo) {
  const Shared count = shared("count", Array::scalar(Scalar(5.0f), device()));
  const Variable zero = constant(Scalar(0.0f));
  const Function f = function({}, {zero, count}, with({{count, zero}}));
  for (int call = 0; call < 3; ++call) {
    count.set(Array::scalar(Scalar(5.0f), device()));
    const Results results = f();
    EXPECT_THAT(results[0].to_vector<float>(), ElementsAre(0)) << "call " << call;
    EXPECT_THAT(results[1].to_vector<float>(), ElementsAre(5)) << "call " << call;
    EXPECT_THAT(values(count), ElementsAre(0)) << "call " << call;
  }
}

TEST_P(SharedOnEachDevice, AnOpThatOverwritesAViewOfTheVariableReadsItAsItLies) {
  static const RawKernel add{{.name = "shared_add_in_place",
                              .inputs = {"int* t", "const int* x"},
                              .outputs = {"int* t"},
                              .scalars = {"int size"},
                              .body = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < size) t[i] += x[i];",
                              .overwrites = {"t"}}};
  const Shared state = shared("state", Array::from(std::vector<int>{10, 20, 30}, device()));
  const Variable x = input({int32, {kUnknown}}, "x");
  const Function f = function({x}, {}, {.device = device(), .updates = {{state, add.outputs({flip(state), x})[0]}}});
  f(Array::from(std::vector<int>{1, 2, 3}, device()));
  EXPECT_EQ(state.array().to_vector<int>(), (std::vector<int>{31, 22, 13}));
  f(Array::from(std::vector<int>{1, 2, 3}, device()));
  EXPECT_EQ(state.array().to_vector<int>(), (std::vector<int>{14, 24, 34}));
}

TEST_P(SharedOnEachDevice, AnOpThatOverwritesWorksInTheVariablesOwnMemory) {
  const RawKernel count{{.name = "count_up",
                         .inputs = {"int* counts", "const int* x"},
                         .outputs = {"int* counts"},
                         .scalars = {"int x_size"},
                         .body = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < x_size) atomicAdd(&counts[x[i]], 1);",
                         .launch = [](const KernelShapes&) { return LaunchConfig{.grid = {1}, .block = {64}}; },
                         .overwrites = {"counts"}}};
  const Shared counts = shared("counts", Array::zeros({4}, int32, device()));
  const Variable x = vector("x", int32);
  const Function f = function({x}, {}, with({{counts, count(counts, x)}}));
  const Array in = Array::from(std::vector<int>{0, 1, 1, 3}, device());
  for (int i = 0; i < 2; ++i) f(in);
  const std::uint64_t before = allocations();
  f(in);
  EXPECT_EQ(allocations(), before);
  EXPECT_EQ(counts.array().to_vector<int>(), (std::vector<int>{3, 6, 0, 3}));
}

TEST_P(SharedOnEachDevice, GradientsAreTakenByThem) {
  const Shared w = shared("w", array({1, 2})), b = shared("b", Array::scalar(0.5f, device()));
  const Variable x = vector("x"), cost = sum(sqr(x * w + b));
  const std::vector<Variable> d = grad(cost, {w, b});
  const Function train = function({x}, {cost}, with({{w, w - 0.1 * d[0]}, {b, b - 0.1 * d[1]}}));
  EXPECT_FLOAT_EQ(Array(train(array({1, -1}))).item().as_double(), 1.5f * 1.5f + 1.5f * 1.5f);
  EXPECT_FLOAT_EQ(values(w)[0], 1 - 0.1f * 2 * 1.5f);
  EXPECT_FLOAT_EQ(values(w)[1], 2 - 0.1f * 2 * 1.5f);
  EXPECT_FLOAT_EQ(b.array().item().as_double(), 0.5f);
}

TEST_P(SharedOnEachDevice, GivensPutOtherValuesInAVariablesPlace) {
  const Shared data = shared("data", range({4})), w = shared("w", array({1, 1, 1, 1})), averaged = shared("averaged", array({2, 2, 2, 2}));
  const Variable x = vector("x"), i = scalar("i"), y = x * w;
  Options options = with({{w, w + x}});
  options.givens = {{x, data * i}};
  const Function f = function({i}, {y}, options);
  EXPECT_THAT(Array(f(Array::scalar(10.0f, device()))).to_vector<float>(), ElementsAre(0, 10, 20, 30));
  EXPECT_THAT(values(w), ElementsAre(1, 11, 21, 31));
  Options evaluate = with({});
  evaluate.givens = {{w, averaged}};
  EXPECT_THAT(Array(function({x}, {y}, evaluate)(range({4}))).to_vector<float>(), ElementsAre(0, 2, 4, 6)) << "shared variables may be replaced too";
}

TEST_P(SharedOnEachDevice, ExtentsChangeWhereTheVariableAllowsIt) {
  const Shared log = shared("log", array({1}), Shape{kUnknown});
  const Variable x = vector("x");
  const Function replace = function({x}, {}, with({{log, x * 2.0}})), total = function({}, {sum(log)}, with({}));
  for (const std::int64_t n : {3, 5, 3, 0, 4}) {
    replace(Array::ones({n}, float32, device()));
    EXPECT_EQ(log.array().shape(), Shape{n});
    EXPECT_EQ(Array(total()).item().as_double(), 2.0f * static_cast<float>(n));
  }
  log.set(array({7, 8}));
  EXPECT_EQ(Array(total()).item().as_double(), 15);
}

TEST_P(SharedOnEachDevice, TakesScalarsAndEmptyArrays) {
  const Shared n = shared("n", Array::scalar(0, device())), none = shared("none", Array::zeros({0, 3}, float32, device()));
  const Function f = function({}, {n * 10}, with({{n, n + 1}, {none, none * 2.0}}));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Array(f()).item().as_double(), 10 * i);
  EXPECT_EQ(none.array().shape(), (Shape{0, 3}));
}

TEST_P(SharedOnEachDevice, APrintShowsWhatIsSharedAndWhatBecomesOfIt) {
  const Shared w = shared("w", array({1, 2}));
  const Variable x = vector("x");
  const Function f = function({x}, {w * x}, {.fuse = false, .device = device(), .updates = {{w, w + x}}});
  EXPECT_EQ(debugprint(f.graph(), {.source_lines = false}),
            "mul [id A] float32 (2,)\n ├─ w [id B] float32 (2,) shared\n └─ x [id C] float32 (?,)\n"
            "new w = add [id D] float32 (2,)\n ├─ w [id B] float32 (2,) shared\n └─ x [id C] float32 (?,)\n");
  EXPECT_THAT(to_dot(f.graph()), HasSubstr("new w"));
  EXPECT_THAT(to_svg(f.graph()), HasSubstr("new w"));
}

TEST_P(SharedOnEachDevice, CallsThatUpdateRunOneAfterTheOther) {
  const Shared n = shared("n", Array::zeros({1000}, float32, device())), m = shared("m", Array::zeros({1000}, float32, device()));
  const Function count = function({}, {}, with({{n, n + 1.0}, {m, m + n}})), read = function({}, {n, m}, with({}));
  std::atomic<int> torn = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) count();
    });
  }
  threads.emplace_back([&] {
    for (int i = 0; i < 200; ++i) {
      const auto [a, b] = read.call<2>();
      const std::vector<float> now = a.to_vector<float>(), sums = b.to_vector<float>();
      for (std::size_t k = 0; k < now.size(); ++k) torn += now[k] != now[0] || sums[k] != now[0] * (now[0] - 1) / 2;
    }
  });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(torn, 0);
  EXPECT_THAT(values(n), ::testing::Each(600.0f));
}

TEST_P(SharedOnEachDevice, ACallKeepsTheValueThatItBeganWith) {
  const Shared w = shared("w", array({1, 2}));
  const auto meddle = make_op<CallbackOp>("meddle", [&](Cell& x, Cell& y) {
    std::thread([&] { w.set(array({100, 200})); }).join();
    y.array().copy_from(x.array());
  });
  const Variable x = vector("x");
  const Function f = function({x}, {meddle(x) + w}, with({}));
  EXPECT_THAT(Array(f(array({0, 0}))).to_vector<float>(), ElementsAre(1, 2));
  EXPECT_THAT(Array(f(array({0, 0}))).to_vector<float>(), ElementsAre(100, 200));
}

TEST_P(SharedOnEachDevice, ACallThatFailsLeavesTheOldValue) {
  bool fails = false;
  const auto risky = make_op<CallbackOp>("risky", [&](Cell& x, Cell& y) {
    if (fails) throw ShapeError("this call fails");
    y.array().copy_from(x.array());
  });
  const Shared w = shared("w", array({1, 2}));
  const Function f = function({}, {}, with({{w, risky(w) * 2.0}}));
  f();
  fails = true;
  EXPECT_THAT(error_of([&] { f(); }), HasSubstr("this call fails"));
  EXPECT_THAT(values(w), ElementsAre(2, 4));
  fails = false;
  f();
  EXPECT_THAT(values(w), ElementsAre(4, 8));
}

TEST_P(SharedOnEachDevice, ACallWhoseDataAreRefusedHasWrittenNothingInPlace) {
  const Shared steps = shared("steps", array({0})), w = shared("w", array({1, 2}));
  const Variable x = scalar("x");
  const Variable grown = while_loop({x}, [](const Variable& r) { return r < 10.0; }, [](const Variable& r) { return r * 2.0; }, 4);
  const Function f = function({x}, {grown}, with({{steps, steps + 1.0}, {w, w * 2.0}}));
  EXPECT_THAT(f.explain(), AllOf(HasSubstr("updates steps where it lies"), HasSubstr("updates w where it lies")));
  f(Array::scalar(4.0f, device()));
  EXPECT_THAT(error_of([&] { f(Array::scalar(0.1f, device())); }), HasSubstr("the condition still holds"));
  EXPECT_THAT(values(steps), ElementsAre(1));
  EXPECT_THAT(values(w), ElementsAre(2, 4));
  f(Array::scalar(4.0f, device()));
  EXPECT_THAT(values(steps), ElementsAre(2));
  EXPECT_THAT(values(w), ElementsAre(4, 8));
}

TEST_P(SharedOnEachDevice, ShapesThatDataShowAndThatDoNotFitLoseNoValue) {
  const Variable x = vector("x"), y = vector("y");
  const auto positive = [](const Variable& v) { return subtensor(v, gt(v, 0.0)); };
  const auto ended = [&] { return Variable(scan({.sequences = {x}}, [](const Variable& row) { return ScanStep({row}, row > 1.0); })); };
  const std::vector<std::pair<std::string, Variable>> refused = {
      {"a mask", sum(positive(x) + y)},
      {"a mask in a step", sum(Variable(map({expand_dims(x, 0)}, [&](const Variable& row) { return sum(positive(row) + y); })))},
      {"a branch", ifelse(sum(x) > 0.0, sum(subtensor(x, {Slice{0, 2}}) + y), sum(x))},
      {"a loop that ends by its data", sum(ended() + y)},
      {"an op that says its size alone", sum(damo::testing::make_positives()(x) + y)},
  };
  for (const auto& [name, value] : refused) {
    SCOPED_TRACE(name);
    const Shared steps = shared("steps", array({0})), w = shared("w", array({1, 2}));
    const Function f = function({x, y}, {value}, with({{steps, steps + 1.0}, {w, w + value}}));
    f(array({1, 2, -1}), array({1, 1}));
    EXPECT_THAT(values(w), ElementsAre(6, 7));
    EXPECT_THAT(error_of([&] { f(array({1, 2, -1}), array({1, 1, 1})); }), HasSubstr("cannot broadcast"));
    EXPECT_THAT(values(steps), ElementsAre(1));
    EXPECT_THAT(values(w), ElementsAre(6, 7));
    f(array({1, 2, -1}), array({1, 1}));
    EXPECT_THAT(values(steps), ElementsAre(2));
    EXPECT_THAT(values(w), ElementsAre(11, 12));
  }
}

TEST_P(SharedOnEachDevice, ANewValueFromWhichRefusedDataFollowIsKeptApart) {
  const Shared limit = shared("limit", Array::scalar(1.0f));
  const Variable x = scalar("x"), next = limit + x;
  const Variable grown = while_loop({next}, [](const Variable& r) { return r < 10.0; }, [](const Variable& r) { return r * 2.0; }, 4);
  const Function f = function({x}, {grown}, with({{limit, next}}));
  EXPECT_THAT(f.explain(), HasSubstr("may refuse its data: the old value is kept until then"));
  f(Array::scalar(1.0f, device()));
  EXPECT_THAT(values(limit), ElementsAre(2));
  EXPECT_THAT(error_of([&] { f(Array::scalar(-1.9f, device())); }), HasSubstr("the condition still holds"));
  EXPECT_THAT(values(limit), ElementsAre(2));
  f(Array::scalar(1.0f, device()));
  EXPECT_THAT(values(limit), ElementsAre(3));
}

TEST_P(SharedOnEachDevice, AVariableWhoseUpdateInPlaceFailedHasNoValueUntilItIsSet) {
  const RawKernel scale{{.name = "scale",
                         .inputs = {"float* w", "const float* x"},
                         .outputs = {"float* w"},
                         .scalars = {"int w_size"},
                         .body = "int i = threadIdx.x; if (i < w_size) w[i] *= x[i];",
                         .launch = [](const KernelShapes& s) { return LaunchConfig{.grid = {1}, .block = {s.inputs[1].size() > 2 ? 1 << 20 : 64}}; },
                         .overwrites = {"w"}}};
  const Shared w = shared("w", array({1, 2}));
  const Variable x = vector("x");
  const Function f = function({x}, {}, with({{w, scale(w, x)}})), read = function({}, {w + 1.0}, with({}));
  f(array({2, 2}));
  EXPECT_THAT(error_of([&] { f(array({2, 2, 2})); }), HasSubstr("block"));
  for (const std::string& text : {error_of([&] { w.array(); }), error_of([&] { read(); }), error_of([&] { f(array({2, 2})); })}) {
    EXPECT_THAT(text, AllOf(HasSubstr("shared variable w float32 (2,) has no value: the call that wrote it in place failed half way"), HasSubstr("give it one with set()")));
  }
  w.set(array({3, 4}));
  f(array({2, 2}));
  EXPECT_THAT(values(w), ElementsAre(6, 8));
}

TEST_P(SharedOnEachDevice, AnOpOfACallThatUpdatesCannotSetOrUpdateTheVariable) {
  const Shared w = shared("w", array({1, 2}));
  const Function other = function({}, {}, with({{w, w * 3.0}}));
  std::string set, update;
  const auto meddle = make_op<CallbackOp>("meddle", [&](Cell& x, Cell& y) {
    set = error_of([&] { w.set(array({100, 200})); });
    update = error_of([&] { other(); });
    y.array().copy_from(x.array());
  });
  function({}, {}, with({{w, meddle(w) + 1.0}}))();
  EXPECT_THAT(set, HasSubstr("shared variable w float32 (2,) cannot be set here: an op of a Function that updates it is running in this thread"));
  EXPECT_THAT(update, HasSubstr("cannot be updated here"));
  EXPECT_THAT(values(w), ElementsAre(2, 3));
}

TEST_P(SharedOnEachDevice, SetIsOrderedWithCallsThatUpdate) {
  const Shared w = shared("w", Array::zeros({64}, float32, device()));
  const Function f = function({}, {}, with({{w, w + 1.0}}));
  std::thread setter([&] {
    for (int i = 0; i < 100; ++i) w.set(Array::full({64}, 1000.0 * i, float32, device()));
  });
  for (int i = 0; i < 200; ++i) f();
  setter.join();
  const std::vector<float> now = values(w);
  EXPECT_THAT(now, ::testing::Each(now[0]));
  EXPECT_GE(now[0], 99000);
  EXPECT_LE(now[0], 99200);
}

TEST_P(SharedOnEachDevice, CompareStartsBothSidesFromTheSameValues) {
  const Shared w = shared("w", array({1, 2, 3}));
  const Variable x = vector("x");
  const Array in = array({1, 1, 1});
  const std::vector<Variable> inputs{x}, outputs{w * x};
  const Comparison comparison = compare(inputs, outputs, std::span(&in, 1), with({{w, w * 1.5 + x}}), 0.01);
  EXPECT_TRUE(comparison.is_within(2, 1e-6));
  EXPECT_THAT(values(w), ElementsAre(1, 2, 3)) << "and leaves the variable as it was";
}

DAMO_ON_EACH_DEVICE(SharedOnEachDevice);

}  // namespace
}  // namespace damo
