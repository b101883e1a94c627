// Calls whose shapes repeat allocate nothing, on the host or on the device, where the caller has dropped the results of the call before. Counted are the operator new's of the
// calling thread: what a library asks malloc for (OpenBLAS for a product on threads) is its own, and oneTBB's workers are warm.
#include <atomic>
#include <barrier>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <damo/array_math.hpp>
#include <damo/array_reduce.hpp>
#include <damo/array_shape.hpp>
#include <damo/damo.hpp>
#include <damo/raw_kernel.hpp>

#include <gtest/gtest.h>

#include "faults/injection.hpp"
#include "runtime/backend.hpp"
#include "support/devices.hpp"

namespace damo {
namespace {

constexpr std::int64_t kExtent = 32;

class SteadyStateOnEachDevice : public damo::testing::OnEachDevice {
 protected:
  void SetUp() override {
    OnEachDevice::SetUp();
    if (!IsSkipped() && device().kind() == DeviceKind::kCuda && std::getenv("EMULATED_GPU")) GTEST_SKIP() << "an emulated GPU's own allocations would count";
  }
  /// operator new's of the thread in 10 calls, when the first ones are over. The device's allocations must be none.
  long allocations(const std::function<void()>& call) const {
    for (int i = 0; i < 40; ++i) call();
    const MemoryStatistics before = device().memory();
    faults::Injection::begin(static_cast<unsigned>(faults::Kind::kAllocation), 0, faults::Extent::kOnce);
    {
      const faults::Armed armed;
      for (int i = 0; i < 10; ++i) call();
    }
    const long count = faults::Injection::points();
    faults::Injection::end();
    EXPECT_EQ(device().memory().device_allocations, before.device_allocations);
    return count;
  }
  long allocations(const Function& f, const std::vector<Array>& inputs) const {
    return allocations([&] { f.call(inputs); });
  }
  void expect_none(const std::string& name, std::initializer_list<Variable> inputs, std::vector<Variable> outputs, const std::vector<Array>& values, const Options& options = {}) const {
    SCOPED_TRACE(name);
    Options all = options;
    all.device = device();
    EXPECT_EQ(allocations(function(inputs, outputs, all), values), 0);
  }
  /// Positive definite, not symmetric beyond the lower triangle.
  Array definite() const {
    std::vector<float> values(static_cast<std::size_t>(kExtent * kExtent));
    for (std::int64_t i = 0; i < kExtent; ++i) {
      for (std::int64_t j = 0; j < kExtent; ++j) values[static_cast<std::size_t>(i * kExtent + j)] = i == j ? static_cast<float>(kExtent) : 1.0f / static_cast<float>(1 + i + j);
    }
    return array(values, {kExtent, kExtent});
  }

  const Variable x = matrix("x"), y = matrix("y"), v = vector("v"), at = vector("at", int64);
  Array square() const { return range({kExtent, kExtent}, 1); }
  Array line() const { return range({kExtent}, 1); }
  Array positions() const { return Array::from<std::int64_t>({1, 3, 1}, device()); }
};

TEST_P(SteadyStateOnEachDevice, AChainOfKernelsAllocatesNothing) {
  Variable z = v;
  for (int i = 0; i < 6; ++i) z = tanh(z * 0.5);
  expect_none("chain", {v}, {z, z * 2.0}, {line()}, {.fuse = false});
  expect_none("elementwise", {x, y}, {tanh(x) * y, x - y}, {square(), square()});
}

TEST_P(SteadyStateOnEachDevice, ResultsAndTemporariesAskThePoolForNothing) {
  const Variable turned = softmax(transpose(x) * 2.0, 1);
  const Function f = function({x}, {turned, sum(turned, 0)}, {.fuse = false, .device = device()});
  const Array a = square();
  for (int call = 0; call < 10; ++call) f(a);
  const MemoryStatistics before = device().memory();
  for (int call = 0; call < 10; ++call) f(a);
  EXPECT_EQ(device().memory().allocations, before.allocations);
}

TEST_P(SteadyStateOnEachDevice, ViewsAndReductionsAllocateNothing) {
  const Variable turned = softmax(transpose(x) * 2.0, 1);
  expect_none("transposed", {x}, {turned, sum(turned, 0)}, {square()});
  expect_none("sum", {x}, {sum(x)}, {square()});
  expect_none("a sum of many", {x}, {sum(x), sum(x, 0)}, {range({2000, 500})});
  expect_none("mean", {x}, {mean(x, 1)}, {square()});
  expect_none("argmax", {x}, {argmax(x, 1)}, {square()});
  expect_none("cumsum", {x}, {cumsum(x, 1)}, {square()});
  expect_none("concatenate", {x, y}, {concatenate({x, y}, 0)}, {square(), square()});
}

TEST_P(SteadyStateOnEachDevice, GradientsOfNormalizedRowsAllocateNothing) {
  const Variable less = x - mean(x, 1, true), normal = less / sqrt(mean(sqr(less), 1, true) + 1e-5) * v + v;
  expect_none("layer norm", {x, v}, grad(sum(normal * normal * normal), {x, v}), {square(), line()});
  const Variable cost = mean(cross_entropy(x, at));
  expect_none("cross entropy", {x, at}, {cost, grad(cost, {x})[0]}, {square(), Array::ones({kExtent}, int64, device())});
}

TEST_P(SteadyStateOnEachDevice, ProductsAllocateNothing) {
  expect_none("float32", {x, y}, {dot(x, y), dot(transpose(x), y), dot(x, v)}, {square(), square()}, {.givens = {{v, constant(line())}}});
  const Variable h = matrix("h", float16), g = matrix("g", float16);
  expect_none("float16", {h, g}, {dot(h, g)}, {Array::ones({kExtent, kExtent}, float16, device()), Array::ones({kExtent, kExtent}, float16, device())});
}

TEST_P(SteadyStateOnEachDevice, ConvolutionsAndPoolingAllocateNothing) {
  const Variable image = tensor4("image"), filter = tensor4("filter");
  const Array images = range({2, 3, 12, 12}), filters = range({4, 3, 3, 3});
  const Variable made = conv2d(image, filter);
  expect_none("convolution", {image, filter}, {made}, {images, filters});
  expect_none("its gradients", {image, filter}, grad(sum(sqr(made)), {image, filter}), {images, filters});
  const Variable pooled = max_pool2d(image, 2);
  expect_none("pooling", {image}, {pooled, avg_pool2d(image, 2)}, {images});
  expect_none("its gradient", {image}, grad(sum(sqr(pooled)), {image}), {images});
}

TEST_P(SteadyStateOnEachDevice, SortsAllocateNothing) {
  expect_none("sort", {x}, {sort(x, 1)}, {square()});
  expect_none("argsort", {x}, {argsort(x, 1)}, {square()});
  const auto [greatest, places] = topk(x, 3, 1);
  expect_none("topk", {x}, {greatest, places}, {square()});
  expect_none("a long sort", {v}, {sort(v, 0)}, {range({50000})});
}

TEST_P(SteadyStateOnEachDevice, PositionsAllocateNothing) {
  const Variable taken = take(x, at, 0);
  expect_none("take", {x, at}, {taken}, {square(), positions()});
  expect_none("its gradient", {x, at}, grad(sum(sqr(taken)), {x}), {square(), positions()});
  expect_none("inc_subtensor", {x}, {inc_subtensor(x, {Slice{0, 3}}, 1.0)}, {square()});
  expect_none("inc_subtensor at positions", {x, at}, {inc_subtensor(x, {at}, 1.0)}, {square(), positions()});
  expect_none("a mask", {x}, {subtensor(x, {x > 10.0})}, {square()});
}

TEST_P(SteadyStateOnEachDevice, FactorsAndTransformsAllocateNothingOnTheCpu) {
  if (device().kind() != DeviceKind::kCpu) GTEST_SKIP() << "cuSOLVER's and cuFFT's calls were not counted";
  expect_none("cholesky", {x}, {cholesky(x)}, {definite()});
  expect_none("solve", {x, y}, {solve(x, y)}, {definite(), square()});
  expect_none("det", {x}, {det(x)}, {definite()});
  expect_none("rfft", {x}, {rfft(x)}, {square()});
  expect_none("rfft of a large prime", {x}, {rfft(x), rfft(x, 0)}, {range({37, 46})});
  const SingularValues parts = svd(x);
  EXPECT_LE(allocations(function({x}, {parts.u, parts.values, parts.vt}, {.device = device()}), {definite()}), 20) << "LAPACK's work arrays";
}

TEST_P(SteadyStateOnEachDevice, GraphsWithinGraphsAllocateNothing) {
  const Variable is_large = sum(x) > 0.0;
  expect_none("ifelse", {x}, {ifelse(is_large, x + 1.0, x * 2.0)}, {square()});
  expect_none("ifelse of other shapes", {x}, {ifelse(is_large, concatenate({x, x}, 0), dot(x, x))}, {square()});
  const Variable states = scan({.sequences = {x}, .initial = {v}}, [](const Variable& row, const Variable& state) { return tanh(row + state); })[0];
  expect_none("scan in one kernel", {x, v}, {states}, {square(), line()});
  const Variable steps = scan({.sequences = {x}, .initial = {v}}, [&](const Variable& row, const Variable& state) { return tanh(row + dot(y, state)); })[0];
  expect_none("scan step by step", {x, v, y}, {steps}, {square(), line(), square()});
  expect_none("its gradient", {x, v, y}, grad(sum(steps), {y}), {square(), line(), square()});
}

TEST_P(SteadyStateOnEachDevice, UpdatesAllocateNothing) {
  const Shared w = shared("w", line());
  expect_none("in place", {v}, {}, {line()}, {.updates = {{w, w * 0.9 + v}}});
  expect_none("beside a result", {v}, {sum(w)}, {line()}, {.updates = {{w, w * 0.9 + v}}});
  RandomStream random(7, device());
  expect_none("a draw", {x}, {x + random.normal(x)}, {square()});
  std::vector<Shared> parameters;
  Variable cost = sum(v);
  for (int i = 0; i < 30; ++i) {
    parameters.push_back(shared("p" + std::to_string(i), line()));
    cost = cost + sum(sqr(parameters.back() * v));
  }
  expect_none("AdamW of 30 tensors", {v}, {cost}, {line()}, {.updates = optim::adamw(cost, parameters, 1e-3)});
}

TEST_P(SteadyStateOnEachDevice, AUsersKernelAllocatesNothing) {
  const RawKernel shifted{{.name = "shifted", .inputs = {"const float* x"}, .outputs = {"float* y"}, .scalars = {"int n"}, .body = R"(
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[(i + 1) % n] * 2;)"}};
  expect_none("RawKernel", {v}, {shifted(v) + 1.0}, {line()});
}

TEST_P(SteadyStateOnEachDevice, EachWayToCallAllocatesNothing) {
  const Array a = square(), b = range({5, 7});
  const Function one = function({x}, {tanh(x)}, {.device = device()}), two = function({x}, {tanh(x), exp(x)}, {.device = device()});
  EXPECT_EQ(allocations([&] { const Array z = one(a); }), 0);
  EXPECT_EQ(allocations([&] { const auto [z, w] = two.call<2>(a); }), 0);
  EXPECT_EQ(allocations([&] { one.call_named({{"x", a}}); }), 0);
  EXPECT_EQ(allocations([&] { one(a), one(b); }), 0) << "two shapes in turn";
  Array held[2];
  int turn = 0;
  EXPECT_EQ(allocations([&] { held[turn ^= 1] = one(a); }), 0) << "the last result is held while the next one is made";
  const Function guarded = function({x}, {tanh(x)}, {.device = device(), .nan_guard = true});
  EXPECT_EQ(allocations([&] { guarded(a); }), 0);
  std::vector<Array> kept;
  EXPECT_EQ(allocations([&] { kept = one(a); }), 10) << "a vector that the caller takes is the caller's";
}

TEST_P(SteadyStateOnEachDevice, ArithmeticOnArraysAllocatesNothing) {
  const Array a = square(), b = line();
  EXPECT_EQ(allocations([&] { const Array z = a + b; }), 0);
  EXPECT_EQ(allocations([&] { const Array z = tanh(a * 2.0 + a); }), 0);
  EXPECT_EQ(allocations([&] { const Array z = sum(a, 1); }), 0);
  EXPECT_EQ(allocations([&] { const Array z = where(a > 3.0, a, 0.0); }), 0);
  EXPECT_EQ(allocations([&] { const Array z = a.transpose().copy(); }), 0);
}

TEST_P(SteadyStateOnEachDevice, TwoThreadsAllocateNothing) {
  std::barrier both(2);
  std::atomic<bool> is_warm = false;
  const Variable seen = observe(x * 2.0, [&](const Array&) {
    if (!is_warm) both.arrive_and_wait();  // so that each of them has a Context
  });
  const Function f = function({x}, {tanh(seen) * 3.0}, {.device = device()});
  const Array a = square();
  const auto work = [&] {
    for (int i = 0; i < 40; ++i) f(a);
    both.arrive_and_wait();
    is_warm = true;
    {
      const faults::Armed armed;
      for (int i = 0; i < 10; ++i) f(a);
    }
    both.arrive_and_wait();
  };
  faults::Injection::begin(static_cast<unsigned>(faults::Kind::kAllocation), 0, faults::Extent::kOnce);
  std::thread other(work);
  work();
  other.join();
  EXPECT_EQ(faults::Injection::points(), 0);
  faults::Injection::end();
}

DAMO_ON_EACH_DEVICE(SteadyStateOnEachDevice);

}  // namespace
}  // namespace damo
