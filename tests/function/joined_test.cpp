// Like kernels in one launch: the same bits as in launches of their own, whatever the sizes and strides, and where they are written.
#include <damo/damo.hpp>

#include <random>

#include <gmock/gmock.h>

#include "runtime/backend.hpp"
#include "support/devices.hpp"

namespace damo {
namespace {

using ::testing::HasSubstr;

class JoinedOnEachDevice : public damo::testing::OnEachDevice {
 protected:
  std::uint64_t launches() const { return device().backend().launches; }
  Array random(const Shape& shape, int seed) const {
    std::mt19937 generator(static_cast<unsigned>(seed));
    std::vector<float> values(static_cast<std::size_t>(shape.size()));
    for (float& value : values) value = static_cast<float>(generator() % 2000) / 1000.0f - 1;
    return Array::from(values, shape, device());
  }
};

TEST_P(JoinedOnEachDevice, GivesWhatKernelsOfTheirOwnGive) {
  std::vector<Variable> inputs, outputs;
  std::vector<Array> arrays;
  const Variable rate = scalar("rate");
  inputs.push_back(rate);
  arrays.push_back(Array::scalar(0.25f, device()));
  const std::int64_t sizes[] = {1, 3, 1000, 0, 513, 512, 100001, 7, 64, 20000, 2, 0};
  int seed = 0;
  for (const std::int64_t size : sizes) {
    const Variable x = vector("x"), y = vector("y");
    outputs.push_back(tanh(x * 1.5 + y) * rate - (0.5 + seed) * y);
    for (const Variable& v : {x, y}) inputs.push_back(v);
    arrays.push_back(random({size}, ++seed));
    const Array whole = random({2 * size + 3}, ++seed);
    arrays.push_back(seed % 4 == 0 ? whole.slice({{1, 2 * size + 1, 2}}) : whole.slice({{3, size + 3}}));  // strided, and misaligned
  }
  const Function joined = function(inputs, outputs, {.device = device()}), apart = function(inputs, outputs, {.fuse = false, .device = device()});
  EXPECT_THAT(joined.explain(), HasSubstr("joined{members=12}"));
  const Results expected = apart.call(arrays);
  joined.call(arrays);
  for (int round = 0; round < 2; ++round) {
    const Results found = joined.call(arrays);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto a = found[i].to_vector<float>(), b = expected[i].to_vector<float>();
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t k = 0; k < a.size(); ++k) ASSERT_NEAR(a[k], b[k], 1e-6 * std::max(1.0f, std::abs(b[k]))) << "result " << i << " element " << k;
    }
  }
}

TEST_P(JoinedOnEachDevice, AnOptimizerStepIsTwoLaunchesAndAllocatesNothing) {
  constexpr int kTensors = 300;
  const Variable scale = scalar("scale");
  std::vector<Assignment> updates;
  std::vector<Shared> weights, moments;
  std::vector<Variable> inputs{scale};
  std::vector<Array> arrays{Array::scalar(1.0f, device())};
  const Shared step = shared("step", Array::scalar(0.0f, device()));
  const Variable next = step + 1.0, correction = 1.0 - pow(0.9, next);
  updates.push_back({step, next});
  for (int i = 0; i < kTensors; ++i) {
    const Shape shape = i % 3 == 0 ? Shape{i + 2} : Shape{2, i + 5};
    weights.push_back(shared("w", Array::full(shape, 1.0, float32, device())));
    moments.push_back(shared("m", Array::zeros(shape, float32, device())));
    inputs.push_back(input({float32, Shape::filled(shape.rank(), kUnknown)}, "g"));
    arrays.push_back(Array::full(shape, 0.5 + i, float32, device()));
    const Variable m = 0.9 * moments.back() + 0.1 * (scale * inputs.back());
    updates.push_back({moments.back(), m});
    updates.push_back({weights.back(), weights.back() - 0.125 * (m / correction)});
  }
  const Function train = function(inputs, {}, {.device = device(), .updates = updates});
  for (int i = 0; i < 2; ++i) train.call(arrays);
  const std::uint64_t before = launches(), allocations = device().memory().allocations;
  for (int i = 0; i < 3; ++i) train.call(arrays);
  EXPECT_EQ(launches() - before, 3u * 2u) << "one for what all share, one for the tensors";
  EXPECT_EQ(device().memory().allocations, allocations);
  // A constant gradient: the corrected mean is the gradient itself.
  for (int i = 0; i < kTensors; ++i) {
    for (const double value : weights[static_cast<std::size_t>(i)].array().to_doubles()) ASSERT_NEAR(value, 1 - 5 * 0.125 * (0.5 + i), 1e-4 * (i + 1));
  }
}

TEST_P(JoinedOnEachDevice, NoMemberReadsWhatAnotherOneWrites) {
  std::vector<Shared> all;
  std::vector<Assignment> updates;
  for (int i = 0; i < 6; ++i) all.push_back(shared("s" + std::to_string(i), Array::full({3000}, i + 1.0, float32, device())));
  for (std::size_t i = 0; i < 6; ++i) updates.push_back({all[i], all[i] + all[(i + 1) % 6] * 10.0});
  const Function f = function({}, {}, {.device = device(), .updates = updates});
  std::vector<double> expected{1, 2, 3, 4, 5, 6};
  for (int round = 0; round < 3; ++round) {
    f();
    const std::vector<double> old = expected;
    for (std::size_t i = 0; i < 6; ++i) expected[i] = old[i] + 10 * old[(i + 1) % 6];
    for (std::size_t i = 0; i < 6; ++i) EXPECT_THAT(all[i].array().to_doubles(), ::testing::Each(expected[i])) << i;
  }
}

TEST_P(JoinedOnEachDevice, ADonatedInputThatSeveralMembersReadIsNotWrittenOver) {
  const Variable x = input({float32, {5}}, "x");
  std::vector<Variable> inputs{x}, outputs;
  std::vector<Array> tens;
  for (const Shape& shape : {Shape{5}, Shape{3, 5}, Shape{4, 5}, Shape{2, 5}}) {
    inputs.push_back(input({float32, shape}));
    outputs.push_back(inputs.back() + x);
    tens.push_back(Array::full(shape, 10, float32, device()));
  }
  const Function f = function(inputs, outputs, {.device = device(), .donate = {x}});
  ASSERT_EQ(f.graph().node_count(), 1);
  for (int call = 0; call < 4; ++call) {
    std::vector<Array> given = tens;
    given.insert(given.begin(), Array::full({5}, call, float32, device()));
    for (const Array& sum : f.call_with(given)) EXPECT_THAT(sum.to_doubles(), ::testing::Each(10 + call));
  }
}

TEST_P(JoinedOnEachDevice, ADonatedInputOfOneMemberIsWrittenOver) {
  std::vector<Variable> inputs, outputs;
  for (int i = 0; i < 4; ++i) {
    inputs.push_back(input({float32, {i + 2}}));
    outputs.push_back(inputs.back() * 2.0);
  }
  const Function f = function(inputs, outputs, {.device = device(), .donate = inputs});
  std::vector<Array> given;
  std::vector<const void*> memory;
  for (int i = 0; i < 4; ++i) given.push_back(Array::full({i + 2}, i, float32, device()));
  for (const Array& array : given) memory.push_back(array.data());
  const Results results = f.call_with(given);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(results[i].data(), memory[i]);
    EXPECT_THAT(results[i].to_doubles(), ::testing::Each(2.0 * static_cast<double>(i)));
  }
}

TEST_P(JoinedOnEachDevice, AMemberThatReadsAValueTwiceIsAnotherKernel) {
  std::vector<Variable> inputs, sums;
  std::vector<Array> given;
  for (int i = 0; i < 9; ++i) {
    inputs.push_back(input({float32, {4 + i / 2}}));
    given.push_back(Array::full({4 + i / 2}, i + 1, float32, device()));
  }
  for (std::size_t i = 0; i < 8; i += 2) sums.push_back(inputs[i] + inputs[i + 1]);
  const Variable twice = inputs[8] + inputs[8];
  for (const bool is_first : {true, false}) {
    std::vector<Variable> outputs = sums;
    outputs.insert(is_first ? outputs.begin() : outputs.end(), twice);
    const Results results = function(inputs, outputs, {.device = device()}).call(given);
    std::vector<double> expected{3, 7, 11, 15};
    expected.insert(is_first ? expected.begin() : expected.end(), 18);
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_THAT(results[i].to_doubles(), ::testing::Each(expected[i])) << i;
  }
}

TEST_P(JoinedOnEachDevice, AReductionOverNoAxesIsNoMember) {
  std::vector<Shared> all;
  std::vector<Assignment> updates;
  std::vector<Variable> outputs;
  for (int i = 0; i < 4; ++i) {
    const Shared s = all.emplace_back(shared("s", Array::full({i + 2}, -2, float32, device())));
    const Variable doubled = exp2(s);
    updates.push_back({s, doubled});
    outputs.push_back(lt(argmin(s, std::vector<int>{}, keepdims), doubled - 1.0));
  }
  const Function f = function({}, outputs, {.device = device(), .updates = updates});
  for (const Array& positive : f()) EXPECT_THAT(positive.to_doubles(), ::testing::Each(0));
  for (const Shared& s : all) EXPECT_THAT(s.array().to_doubles(), ::testing::Each(0.25));
}

TEST_P(JoinedOnEachDevice, ShapesMayChangeFromCallToCall) {
  std::vector<Variable> inputs, outputs;
  for (int i = 0; i < 4; ++i) {
    inputs.push_back(matrix("x"));
    outputs.push_back(exp(inputs.back()) + static_cast<double>(i));
  }
  const Function f = function(inputs, outputs, {.device = device()});
  for (const std::int64_t n : {5, 300, 5, 0, 77}) {
    std::vector<Array> arrays;
    for (int i = 0; i < 4; ++i) arrays.push_back(random({n + i, 3}, i));
    arrays[1] = random({3, n + 1}, 1).transpose();
    const Results found = f.call(arrays);
    for (std::size_t i = 0; i < 4; ++i) {
      const auto x = arrays[i].to_doubles(), y = found[i].to_doubles();
      for (std::size_t k = 0; k < x.size(); ++k) ASSERT_NEAR(y[k], std::exp(x[k]) + static_cast<double>(i), 1e-5);
    }
  }
}

DAMO_ON_EACH_DEVICE(JoinedOnEachDevice);

}  // namespace
}  // namespace damo
