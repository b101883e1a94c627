// Replayed calls of Functions: the bits of direct calls, whatever moves between them.
#include <damo/damo.hpp>

#include <random>
#include <thread>

#include <gmock/gmock.h>

#include "support/replays.hpp"
#include "support/test_ops.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using damo::testing::ReplayOnEachDevice;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_P(ReplayOnEachDevice, ReplaysWhatComesAgainAndSetsNothingWhereNothingMoved) {
  const Variable x = vector("x");
  const Function f = function({x}, {exp(x) * 2.0 + x}, unfused());
  const Array a = range({1000});
  const std::vector<float> expected = values(f(a));
  f(a);
  const std::uint64_t before = replays(), set_before = set();
  for (int call = 0; call < 5; ++call) EXPECT_EQ(values(f(a)), expected);
  EXPECT_EQ(replays() - before, 5u);
  EXPECT_EQ(set() - set_before, 0u);
}

// Branches that share memory with each other only through what they read, updates of what others read, products with workspaces, and a kernel
// of the user's in between: the CPU's replays change the order wherever the waits allow it, a GPU's run side by side.
TEST_P(ReplayOnEachDevice, BranchesGiveWhatTheyGiveInOrder) {
  std::mt19937 random(11);
  std::normal_distribution<float> draw;
  const auto drawn = [&](Shape shape) {
    std::vector<float> values(static_cast<std::size_t>(shape.size()));
    for (float& value : values) value = draw(random);
    return Array::from(values, std::move(shape), device());
  };
  static const RawKernel doubled{{.name = "doubled_by_the_user",
                                  .inputs = {"const float* x"},
                                  .outputs = {"float* y"},
                                  .scalars = {"int size"},
                                  .body = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < size) y[i] = 2 * x[i];"}};
  const auto run = [&](bool replay) {
    random.seed(5);
    const Variable x = matrix("x");
    std::vector<Shared> weights;
    for (int i = 0; i < 3; ++i) weights.push_back(shared("w" + std::to_string(i), drawn({24, 24}) * 0.2f));
    Variable hidden = x;
    for (const Shared& w : weights) hidden = tanh(dot(hidden, w) + sum(w, 0) * 0.1);
    const Variable cost = mean(sqr(hidden)), own = doubled(hidden);
    const std::vector<Variable> slopes = grad(cost, {weights[0], weights[1], weights[2]});
    std::vector<Assignment> updates;
    for (std::size_t i = 0; i < weights.size(); ++i) updates.push_back({weights[i], weights[i] - 0.3 * slopes[i]});
    const Function f = function({x}, {cost, sum(own), max(hidden, 0)}, {.fuse = false, .device = device(), .replay = replay, .updates = updates});
    std::vector<std::vector<float>> results;
    for (int call = 0; call < 9; ++call) {
      const Results given = f(drawn({16, 24}));
      for (const Array& result : given) results.push_back(values(result));
    }
    for (const Shared& w : weights) results.push_back(values(w.array()));
    return results;
  };
  const std::uint64_t before = replays();
  const auto replayed = run(true);
  EXPECT_GE(replays() - before, 5u);
  EXPECT_EQ(replayed, run(false));
}

// What follows from all readers of a temporary may have its memory, and nothing runs later for it.
TEST_P(ReplayOnEachDevice, AChainNeedsTwoBuffersAndBranchesHaveTheirOwn) {
  const Variable x = input({float32, {1000}}, "x");
  Variable chain = x;
  for (int i = 0; i < 20; ++i) chain = tanh(chain);
  const std::size_t bytes = 4096;  // of 1,000 elements, rounded
  EXPECT_LE(function({x}, {chain}, unfused()).plan({{1000}}).temporaries, 2 * bytes);
  std::vector<Variable> branches;
  for (int i = 0; i < 4; ++i) branches.push_back(sum(exp(tanh(x * (i + 1.0)))));
  const Function wide = function({x}, branches, unfused()), narrow = function({x}, branches, unfused(false));
  EXPECT_GE(wide.plan({{1000}}).temporaries, 8 * bytes) << "two of each branch";
  const Array a = range({1000});
  for (int call = 0; call < 5; ++call) {
    const Results got = wide(a), want = narrow(a);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(values(got[i]), values(want[i]));
  }
}

TEST_P(ReplayOnEachDevice, SetsTheKernelsWhoseArraysMoved) {
  const Variable x = vector("x"), y = vector("y");
  const Function f = function({x, y}, {(x + 1.0) * 3.0 + y}, unfused());  // x is read by the first of three kernels, the result written by the last
  const Array y_values = range({4}, 10), a = array({1, 2, 3, 4}), b = array({5, 6, 7, 8});
  for (int call = 0; call < 4; ++call) EXPECT_THAT(values(f(a, y_values)), ElementsAre(16, 20, 24, 28));
  const std::uint64_t before = replays(), set_before = set();
  EXPECT_THAT(values(f(b, y_values)), ElementsAre(28, 32, 36, 40));
  EXPECT_EQ(replays() - before, 1u);
  EXPECT_EQ(set() - set_before, 1u);
  const Array held = f(b, y_values);  // the buffer of the result that was dropped
  EXPECT_EQ(set() - set_before, 1u);
  const Array next = f(b, y_values);
  EXPECT_EQ(set() - set_before, 2u);
  EXPECT_THAT(values(held), ElementsAre(28, 32, 36, 40));
  EXPECT_THAT(values(next), ElementsAre(28, 32, 36, 40));
}

TEST_P(ReplayOnEachDevice, SetsProductsAndCopiesWhoseArraysMoved) {
  const Variable x = matrix("x");
  const Array w = range({8, 8}, -20);
  Variable y = set_subtensor(x, {{0, 2}}, 1.0) + dot(x, constant(w));
  for (int i = 0; i < 10; ++i) y = (y + 1.0) * (i % 2 == 0 ? 0.5 : 2.0);
  const Function f = function({x}, {y, dot(transpose(x), x)}, unfused()), direct = function({x}, {y, dot(transpose(x), x)}, unfused(false));
  std::vector<Array> arrays;
  for (int i = 0; i < 9; ++i) arrays.push_back(range({8, 8}, static_cast<float>(7 * i)));
  for (int call = 0; call < 5; ++call) f.call<2>(arrays[static_cast<std::size_t>(call / 3)]);
  const std::uint64_t before = replays();
  std::vector<Array> held;
  for (std::size_t i = 2; i < 9; ++i) {
    const auto found = f.call<2>(arrays[i]), expected = direct.call<2>(arrays[i]);
    for (std::size_t k = 0; k < 2; ++k) EXPECT_EQ(values(found[k]), values(expected[k])) << i << ", result " << k;
    if (i % 3 == 0) held.push_back(found[1]);  // the product that writes it moves too
    arrays[i - 2] = Array();                   // and what earlier calls read is gone
  }
  EXPECT_GE(replays() - before, 6u);
}

TEST_P(ReplayOnEachDevice, WhereMostOfACallMovesItIsLaunchedPieceByPiece) {
  const Variable x = matrix("x"), y = matrix("y");
  const Function f = function({x, y}, {set_subtensor(x, {{0, 2}}, 1.0), set_subtensor(y, {{2, 4}}, 2.0)}, unfused());
  for (int call = 0; call < 12; ++call) {
    const Array a = range({8, 8}, static_cast<float>(call)), b = range({8, 8}, static_cast<float>(2 * call));
    const auto found = f.call<2>(a, b);
    EXPECT_EQ(values(found[0])[20], static_cast<float>(call + 20));
    EXPECT_EQ(values(found[1])[40], static_cast<float>(2 * call + 40));
    EXPECT_EQ(values(found[1])[20], 2);
  }
}

TEST_P(ReplayOnEachDevice, WhatAlternatesIsTwoGraphs) {
  const Variable x = vector("x");
  const Function f = function({x}, {sqrt(x + 1.0) * 2.0}, unfused());
  const Array inputs[] = {array({0, 3}), array({8, 15})};
  for (int call = 0; call < 16; ++call) f(inputs[call % 2]);
  const std::uint64_t before = replays(), set_before = set();
  for (int call = 0; call < 6; ++call) EXPECT_THAT(values(f(inputs[call % 2])), call % 2 == 0 ? ElementsAre(2, 4) : ElementsAre(6, 8));
  EXPECT_EQ(replays() - before, 6u);
  EXPECT_EQ(set() - set_before, 0u);
}

TEST_P(ReplayOnEachDevice, OtherLayoutsHaveGraphsOfTheirOwn) {
  const Variable x = vector("x");
  const Function f = function({x}, {(x + 1.0) * 2.0 - x}, unfused());
  const Array whole = range({10});
  for (int call = 0; call < 6; ++call) {
    EXPECT_THAT(values(f(array({1, 2, 3}))), ElementsAre(3, 4, 5));
    EXPECT_THAT(values(f(whole.slice({{1, 8, 3}}))), ElementsAre(3, 6, 9));
    EXPECT_THAT(values(f(array({5}))), ElementsAre(7));
  }
  const std::uint64_t before = replays();
  f(array({4, 5, 6}));
  f(array({4}));
  EXPECT_EQ(replays() - before, 2u);
}

TEST_P(ReplayOnEachDevice, UpdatesInPlaceAndUpdatesThatAlternate) {
  const Shared w = shared("w", array({1, 2})), v = shared("v", array({1, 1}));
  const Variable x = vector("x");
  const Function f = function({x}, {w * 1.0}, {.fuse = false, .device = device(), .updates = {{w, (w + x) * 0.5}, {v, v + sin(w) * 0.0 + x}}});
  std::vector<float> expected = {1, 2}, sums = {1, 1};
  for (int call = 0; call < 12; ++call) {
    const Array x_now = array({static_cast<float>(call), 1});
    EXPECT_EQ(values(f(x_now)), expected) << call;
    expected = {(expected[0] + static_cast<float>(call)) * 0.5f, (expected[1] + 1) * 0.5f};
    sums = {sums[0] + static_cast<float>(call), sums[1] + 1};
    EXPECT_EQ(values(w.array()), expected) << call;
    EXPECT_EQ(values(v.array()), sums) << call;
  }
}

TEST_P(ReplayOnEachDevice, AThunkWithoutThePromiseRunsAmidTwoGraphs) {
  const Variable x = vector("x");
  const auto add_one = make_op<damo::testing::AddOneOp>();
  const Function f = function({x}, {(add_one((x + 1.0) * 2.0) - 1.0) * 3.0}, unfused());
  for (int call = 0; call < 3; ++call) f(array({1, 2}));
  const std::uint64_t before = replays();
  EXPECT_THAT(values(f(array({1, 2}))), ElementsAre(12, 18));
  EXPECT_EQ(replays() - before, 2u);
}

TEST_P(ReplayOnEachDevice, OneKernelIsLaunchedAsItIs) {
  const Variable x = vector("x");
  const Function f = function({x}, {x * 2.0}, {.device = device()});
  const std::uint64_t before = replays();
  for (int call = 0; call < 10; ++call) EXPECT_THAT(values(f(array({1, 2}))), ElementsAre(2, 4));
  EXPECT_EQ(replays(), before);
}

TEST_P(ReplayOnEachDevice, AnOptionSwitchesItOff) {
  const Variable x = vector("x");
  const Function f = function({x}, {(x + 1.0) * 2.0}, unfused(false));
  const std::uint64_t before = replays();
  for (int call = 0; call < 5; ++call) EXPECT_THAT(values(f(array({1, 2}))), ElementsAre(4, 6));
  EXPECT_EQ(replays(), before);
}

TEST_P(ReplayOnEachDevice, ThreadsHaveGraphsOfTheirOwn) {
  const Variable x = vector("x");
  const Function f = function({x}, {tanh(x + 1.0) * 2.0 + x}, unfused());
  std::vector<std::vector<float>> found(4), expected(4);
  const auto input = [&](int thread) { return range({5000}, static_cast<float>(thread)); };
  for (std::size_t t = 0; t < 4; ++t) expected[t] = values(f(input(static_cast<int>(t))));
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const Array mine = input(static_cast<int>(t));
      for (int call = 0; call < 20; ++call) wrong += values(f(mine)) != expected[t];
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(ReplayOnEachDevice, AnotherThreadMayWaitForTheDeviceWhileGraphsAreMade) {
  const Variable x = vector("x");
  std::atomic<bool> is_over = false;
  std::string error;
  std::thread waits([&] {
    try {
      while (!is_over) device().synchronize();
    } catch (const std::exception& thrown) {
      error = thrown.what();
    }
  });
  int wrong = 0;
  for (int round = 0; round < 20; ++round) {
    const Function f = function({x}, {(x + 1.0) * 2.0}, unfused());
    for (int call = 0; call < 5; ++call) wrong += values(f(array({1, 2}))) != std::vector<float>{4, 6};
  }
  is_over = true;
  waits.join();
  EXPECT_EQ(error, "");
  EXPECT_EQ(wrong, 0);
}

TEST_P(ReplayOnEachDevice, AnErrorAmidACallLeavesTheNextOneRight) {
  const Variable x = vector("x");
  bool fails = false;
  const auto op = make_op<damo::testing::CallbackOp>("fallible", [&](Cell& from, Cell& to) {
    if (fails) throw TypeError("no");
    to.array().copy_from(from.array());
  });
  const Variable y = op((x + 1.0) * 2.0);
  const Function f = function({x}, {(x + 1.0) * 2.0 - 1.0, y}, unfused());
  for (int call = 0; call < 4; ++call) f(array({1, 2}));
  fails = true;
  EXPECT_THAT(error_of([&] { f(array({1, 2})); }), HasSubstr("no"));
  fails = false;
  for (int call = 0; call < 4; ++call) EXPECT_THAT(values(f.call<2>(array({1, 2}))[0]), ElementsAre(3, 5));
}

TEST_P(ReplayOnEachDevice, ABufferThatIsGoneIsNotReplayed) {
  const Variable x = vector("x");
  const Function f = function({x}, {(x + 1.0) * 2.0 - x}, unfused());
  for (int round = 0; round < 3; ++round) {
    std::optional<Array> in = range({5000 + round}, 1);
    for (int call = 0; call < 5; ++call) f(*in);
    in.reset();
    device().free_cache();
    const Array other = range({3}), big = range({5000 + round}, 2);
    EXPECT_THAT(values(f(other)), ElementsAre(2, 3, 4));
    EXPECT_EQ(values(f(big))[4999], 5003);
    f.free_memory();
  }
}

TEST_P(ReplayOnEachDevice, OtherWorkOfTheThreadComesInItsOrder) {
  const Variable x = vector("x");
  const Function f = function({x}, {(x + 1.0) * 2.0}, unfused());
  Array in = array({1, 2});
  const Event done(device());
  for (int call = 0; call < 6; ++call) {
    in += 1;
    const Array y = f(in);
    in += 1;
    done.record(Stream::default_of(device()));
    done.synchronize();
    EXPECT_THAT(values(y), ElementsAre(6 + 4.0f * static_cast<float>(call), 8 + 4.0f * static_cast<float>(call)));
  }
}

TEST_P(ReplayOnEachDevice, ACallInACaptureIsPartOfTheUsersGraph) {
  const Shared w = shared("w", array({1, 2}));
  const Variable x = vector("x");
  Function f = function({x}, {(x + 1.0) * w, x * 1.0}, unfused());
  const Array in = array({1, 2});
  for (int call = 0; call < 5; ++call) f(in);
  const Stream stream(device());
  Array y;
  const CapturedGraph graph = capture(stream, [&] { y = f.call<2>(in)[0]; });
  f = function({x}, {x * 5.0}, unfused());  // the graph keeps what it needs
  w.set(array({0, 0}));
  in.copy_from(array({2, 4}));
  y.copy_from(array({0, 0}));
  device().synchronize();
  graph.launch(stream);
  stream.synchronize();
  EXPECT_THAT(values(y), ElementsAre(3, 10)) << "with what the variable held at the capture";
}

TEST_P(ReplayOnEachDevice, ACapturedCallChecksPositionsAtEachLaunch) {
  const Variable x = vector("x"), p = vector("p", int64);
  const Function f = function({x, p}, {take(x * 2.0, p, 0) + 1.0}, {.device = device()});
  const Array in = array({1, 2, 3}), at = Array::from({std::int64_t{2}, std::int64_t{0}}, device());
  const Stream stream(device());
  Array y;
  const CapturedGraph graph = capture(stream, [&] { y = f(in, at); });
  const auto launch = [&] {
    graph.launch(stream);
    device().synchronize();
  };
  launch();
  EXPECT_THAT(values(y), ElementsAre(7, 3));
  at.copy_from(Array::from({std::int64_t{1}, std::int64_t{3}}, device()));
  device().synchronize();
  EXPECT_THAT(error_of(launch), HasSubstr("take: position 3 is not on axis 0, whose extent is 3"));
  if (device().is_host()) {
    const CapturedGraph around = capture(stream, [&] { graph.launch(stream); });
    EXPECT_THAT(error_of([&] { around.launch(stream); }), HasSubstr("take: position 3"));
  }
  at.copy_from(Array::from({std::int64_t{-1}, std::int64_t{1}}, device()));
  device().synchronize();
  launch();
  EXPECT_THAT(values(y), ElementsAre(7, 5));
}

TEST_P(ReplayOnEachDevice, JoinedKernelsAreCaptured) {
  std::vector<Variable> inputs, outputs;
  std::vector<Array> arrays;
  for (int i = 0; i < 4; ++i) {
    inputs.push_back(vector("x"));
    outputs.push_back(inputs.back() * 2.0 + 1.0);
    arrays.push_back(range({10 + 7 * i}));
  }
  const Function f = function(inputs, outputs, {.device = device()});
  ASSERT_THAT(f.explain(), HasSubstr("joined"));
  const Stream stream(device());
  Results results;
  const CapturedGraph graph = capture(stream, [&] { results = f.call(arrays); });
  graph.launch(stream);
  stream.synchronize();
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(values(results[i])[9], 19);
}

// Such a kernel's table has addresses; a call whose thunks are left out reads the one that its graph was made with.
TEST_P(ReplayOnEachDevice, JoinedKernelsOfGuardedCallsReadTheTableOfTheirAddresses) {
  const auto run = [&](bool replay) {
    std::vector<Variable> inputs;
    std::vector<Shared> states;
    std::vector<Assignment> updates;
    std::vector<Array> given;
    for (int i = 0; i < 4; ++i) {
      const Shape shape{100 + 37 * i};
      inputs.push_back(input({float32, shape}, "x"));
      states.push_back(shared("s", range(shape, static_cast<float>(i))));
      updates.push_back({states.back(), states.back() * 0.5 + inputs.back()});
      given.push_back(range(shape, static_cast<float>(10 * i)));
    }
    const Function f = function(inputs, {sum(inputs[0]), max(inputs[1])}, {.device = device(), .replay = replay, .updates = updates, .nan_guard = true});
    EXPECT_THAT(f.explain(), HasSubstr("members=4"));
    Array original;
    std::vector<std::vector<float>> seen;
    for (int call = 0; call < 60; ++call) {
      if (call == 20 || call == 33) {  // other memory for some calls, which takes the tables, and then what was there
        original = states[1].array();
        states[1].set(range({137}, static_cast<float>(call)));
      }
      if (call == 22 || call == 37) states[1].set(std::move(original));
      if (call == 50) given[2] = range({174}, 3);
      for (const Array& result : f.call(given)) seen.push_back(values(result));
      for (const Shared& state : states) seen.push_back(values(state.array()));
    }
    return seen;
  };
  const std::uint64_t before = replays();
  const auto replayed = run(true);
  EXPECT_GE(replays() - before, 12u);
  EXPECT_EQ(replayed, run(false));
}

TEST_P(ReplayOnEachDevice, AFunctionThatUpdatesIsNotCaptured) {
  const Shared w = shared("w", array({1, 2}));
  const Function f = function({}, {}, {.device = device(), .updates = {{w, w * 2.0}}});
  const Stream stream(device());
  EXPECT_THAT(error_of([&] { capture(stream, [&] { f(); }); }), HasSubstr("updates shared variable w float32 (2,) cannot be captured"));
  f();
  EXPECT_THAT(values(w.array()), ElementsAre(2, 4));
}

/// A graph of ops whose kernels, copies, views, products and scratch memory are of all kinds, on 8 x 8 matrices.
std::vector<Variable> random_outputs(std::mt19937& random, const std::vector<Variable>& inputs) {
  std::vector<Variable> values = inputs;
  const auto any = [&] { return values[random() % values.size()]; };
  for (int i = 0; i < 9; ++i) {
    switch (random() % 8) {
      case 0: values.push_back(any() + any()); break;
      case 1: values.push_back(tanh(any())); break;
      case 2: values.push_back(transpose(any()) * 0.5); break;
      case 3: values.push_back(any() - sum(any(), 1, true)); break;
      case 4: values.push_back(tanh(dot(any(), any()))); break;
      case 5: values.push_back(subtensor(concatenate({any(), any()}, 0), {{4, 12}})); break;
      case 6: values.push_back(set_subtensor(any(), {{0, 2}}, 1.0)); break;
      case 7: values.push_back(softmax(any(), 1)); break;
    }
  }
  return {values.end() - 3, values.end()};
}

TEST_P(ReplayOnEachDevice, RandomGraphsGiveTheBitsOfDirectCalls) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    std::mt19937 random(seed);
    const std::vector<Variable> inputs = {matrix("x"), matrix("y")};
    const std::vector<Variable> outputs = random_outputs(random, inputs);
    const bool fuse = seed % 3 == 0;
    const auto options = [&](bool replay) { return Options{.fuse = fuse, .device = device(), .allow_unused_inputs = true, .replay = replay}; };
    const Function replayed = function(inputs, outputs, options(true)), direct = function(inputs, outputs, options(false));
    std::vector<Array> arrays;
    for (int i = 0; i < 4; ++i) arrays.push_back(range({8, 8}, static_cast<float>(i) - 30) * 0.03f);
    std::vector<std::pair<Results, std::vector<std::vector<float>>>> held;
    const std::uint64_t before = replays();
    for (int call = 0; call < 16; ++call) {
      const Array given[] = {arrays[call < 6 ? 0 : random() % 4], arrays[random() % 4]};
      const Results expected = direct.call(given), found = replayed.call(given);
      std::vector<std::vector<float>> bits;
      for (std::size_t i = 0; i < found.size(); ++i) {
        bits.push_back(values(expected[i]));
        ASSERT_EQ(values(found[i]), bits.back()) << "seed " << seed << ", call " << call << ", result " << i;
      }
      if (random() % 3 == 0) held.emplace_back(found, bits);
      if (random() % 4 == 0) held.clear();
      for (const auto& [results, then] : held) {
        for (std::size_t i = 0; i < results.size(); ++i) ASSERT_EQ(values(results[i]), then[i]) << "seed " << seed << ": a held result changed";
      }
    }
    if (!fuse) EXPECT_GT(replays(), before) << seed;
  }
}

DAMO_ON_EACH_DEVICE(ReplayOnEachDevice);

}  // namespace
}  // namespace damo
