// Calls whose shapes repeat allocate nothing, on the host or on the device, but the vector that a call returns its results in.
#include <damo/damo.hpp>

#include <gtest/gtest.h>

#include "faults/injection.hpp"
#include "runtime/backend.hpp"
#include "support/devices.hpp"

namespace damo {
namespace {

class SteadyStateOnEachDevice : public damo::testing::OnEachDevice {
 protected:
  /// operator new's of the thread in 10 calls, when the first ones are over. The device's allocations must be none.
  long allocations(const Function& f, const std::vector<Array>& inputs) const {
    for (int call = 0; call < 20; ++call) f.call(inputs);
    const MemoryStatistics before = device().memory();
    faults::Injection::begin(static_cast<unsigned>(faults::Kind::kAllocation), 0, faults::Extent::kOnce);
    {
      const faults::Armed armed;
      for (int call = 0; call < 10; ++call) f.call(inputs);
    }
    const long count = faults::Injection::points();
    faults::Injection::end();
    EXPECT_EQ(device().memory().allocations, before.allocations);
    EXPECT_EQ(device().memory().device_allocations, before.device_allocations);
    return count;
  }
};

TEST_P(SteadyStateOnEachDevice, AChainOfKernelsAllocatesItsResultsVectorAlone) {
  const Variable x = vector("x");
  Variable y = x;
  for (int i = 0; i < 6; ++i) y = tanh(y * 0.5);
  EXPECT_EQ(allocations(function({x}, {y, y * 2.0}, {.fuse = false, .device = device()}), {range({100})}), 10);
}

TEST_P(SteadyStateOnEachDevice, ViewsTransposesAndReductionsAllocateNothingEither) {
  const Variable x = matrix("x");
  const Variable y = softmax(transpose(x) * 2.0, 1);
  EXPECT_EQ(allocations(function({x}, {y, sum(y, 0)}, {.device = device()}), {range({32, 16})}), 10);
}

TEST_P(SteadyStateOnEachDevice, UpdatesInPlaceAllocateNothingOnTheDevice) {
  const Shared w = shared("w", range({100}));
  const Variable x = vector("x");
  const Function f = function({x}, {}, {.device = device(), .updates = {{w, w * 0.9 + x}}});
  EXPECT_LE(allocations(f, {range({100})}), 20) << "the lists of the variables' values, before and after";
}

DAMO_ON_EACH_DEVICE(SteadyStateOnEachDevice);

}  // namespace
}  // namespace damo
