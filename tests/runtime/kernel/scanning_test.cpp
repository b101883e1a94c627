// Kernels of prefix joins, made from specs by hand and held against double precision on the host.
#include <gtest/gtest.h>

#include "runtime/kernel/scan_specs.hpp"
#include "runtime/kernel/spec_kernel.hpp"
#include "support/devices.hpp"
#include "support/sampling.hpp"
#include "support/scratch_directory.hpp"

namespace damo {
namespace {

class Scanning : public testing::OnEachDevice {
 protected:
  static void run(SpecKernel& kernel, const Given& given, const ScanArrays& arrays) {
    BoundKernel bound(kernel);
    bound.bind(given.shape, arrays.layouts, false, given.mask);
    for (std::size_t i = 0; i < arrays.all.size(); ++i) bound.set_pointer(static_cast<int>(i), arrays.all[i].data());
    bound.launch(nullptr);
  }
};

TEST_P(Scanning, GivesEachElementWhatStandsBeforeItInAnyLayout) {
  const std::vector<ScanCase> cases = scan_cases();
  const std::vector<Given> spaces = scan_spaces(false);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const ScanCase& one = cases[i];
    SpecKernel kernel(one.spec, device().backend());
    for (std::size_t k = 0; k < spaces.size(); ++k) {
      if (!testing::takes_pair(i, k)) continue;
      const Given& given = spaces[k];
      const ScanArrays arrays(one, given, device());
      run(kernel, given, arrays);
      ASSERT_EQ(arrays.difference(), "") << one.spec.name << " " << ::testing::PrintToString(given);
    }
  }
}

TEST_P(Scanning, TakesTilesAsLargeAsThoseOfLargeArrays) {
  if (GetParam() == "cpu") GTEST_SKIP() << "needs a GPU, whose tiles these are";
  const testing::Environment large("DAMO_CUDA_ROWS", "0,16,0,0");
  ScanCase dear = weighted_sums();  // not made twice, so not staged
  dear.spec.steps[0].cost = 30;
  for (const ScanCase& one : {weighted_sums(), sums_behind(), sums_and_greatest(), recurrence(true), dear}) {
    SpecKernel kernel(one.spec, device().backend());
    for (const Given& given : {Given{{3, 100003}, 2}, Given{{2, 131072}, 2}, Given{{2, 65537}, 2, false, true}, Given{{9000, 64}, 1}, Given{{5001, 66}, 1, false, true}}) {
      const ScanArrays arrays(one, given, device());
      run(kernel, given, arrays);
      ASSERT_EQ(arrays.difference(), "") << one.spec.name << " " << ::testing::PrintToString(given);
    }
  }
}

TEST_P(Scanning, GivesTheSameBitsAtEachCall) {
  for (const Given& given : {Given{{3, 200001}, 2}, Given{{30000, 12}, 1}}) {
    for (const ScanCase& one : {weighted_sums(), recurrence(true)}) {
      SpecKernel kernel(one.spec, device().backend());
      const ScanArrays first(one, given, device()), again(one, given, device());
      run(kernel, given, first);
      const std::size_t output = static_cast<std::size_t>(one.spec.input_count());
      const std::vector<double> expected = first.all[output].to_doubles();
      for (int i = 0; i < 5; ++i) {
        run(kernel, given, again);
        ASSERT_EQ(again.all[output].to_doubles(), expected) << one.spec.name << " " << ::testing::PrintToString(given);
      }
    }
  }
}

TEST_P(Scanning, DoesNothingToRowsWithoutElements) {
  const ScanCase one = sums_behind();
  SpecKernel kernel(one.spec, device().backend());
  for (const Given& given : {Given{{3, 0}, 2}, Given{{0, 3}, 2}}) run(kernel, given, ScanArrays(one, given, device()));
}

DAMO_ON_EACH_DEVICE(Scanning);

}  // namespace
}  // namespace damo
