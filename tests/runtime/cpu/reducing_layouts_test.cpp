// How kernels that reduce go over their arrays on a CPU, by what the dialect says of a spec and a shape.
#include <gtest/gtest.h>

#include "runtime/cpu/dialect.hpp"
#include "runtime/kernel/reducing_specs.hpp"

namespace damo {
namespace {

using namespace damo::testing;

TEST(CpuReducingLayouts, AKernelAPassWhereRowsAreFewOrColumnsLeaveTheCacheAndAreStored) {
  const auto is_split = [](const KernelSpec& spec, const Shape& shape, std::uint32_t mask) {
    const Shape made = mask == 1 ? Shape{1, shape[1]} : Shape{shape[0], 1};
    const bool stores = spec.stores[0] == 5;
    const Strides lies = contiguous_strides(shape), kept = contiguous_strides(made);
    const ArrayLayout arrays[] = {{&shape, &lies}, stores ? ArrayLayout{&shape, &lies} : ArrayLayout{&made, &kept}};
    return cpu_dialect().prefers_passes(spec, Geometry(shape, arrays, mask), {});
  };
  const KernelSpec soft = softmax_in_steps();
  ASSERT_EQ(soft.stores, std::vector<int>{5});
  EXPECT_TRUE(is_split(soft, {4096, 4096}, 1));
  EXPECT_FALSE(is_split(soft, {64, 262144}, 1)) << "a task's columns stay in the cache";
  EXPECT_FALSE(is_split(soft, {512, 512}, 1)) << "all of it does";
  EXPECT_FALSE(is_split(soft, {4096, 4096}, 2)) << "rows are held";
  EXPECT_TRUE(is_split(soft, {16, 1048576}, 2)) << "few rows leave threads idle";
  KernelSpec sums = soft;  // of e^(x - max), which nothing stores
  sums.steps.pop_back();
  sums.stores = {4};
  EXPECT_FALSE(is_split(sums, {4096, 4096}, 1));
}

}  // namespace
}  // namespace damo
