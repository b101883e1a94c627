#include "runtime/cuda/schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/errors.hpp"
#include "support/scratch_directory.hpp"

namespace damo {
namespace {

using damo::testing::Environment;
using damo::testing::error_of;

KernelSpec spec_of(std::vector<DType> inputs, std::vector<DType> outputs) {
  KernelSpec spec;
  spec.inputs = std::move(inputs);
  spec.outputs = std::move(outputs);
  return spec;
}

Layout transposed(std::size_t arrays) {
  return {.rank = 2, .tile_axis = 0, .access = std::vector<Access>(arrays, Access::kTransposed)};
}

TEST(CudaSchedule, MovesSixteenBytesOfTheWidestArray) {
  EXPECT_EQ(cuda_schedule(spec_of({float32, float32}, {float32})).vector, 4);
  EXPECT_EQ(cuda_schedule(spec_of({int8}, {float64})).vector, 2);
  EXPECT_EQ(cuda_schedule(spec_of({float32, float64}, {float32})).vector, 2);
  EXPECT_EQ(cuda_schedule(spec_of({float32, float64}, {float32}), Layout{.access = {Access::kDense, Access::kScalar, Access::kDense}}).vector, 4) << "one number for all elements";
  EXPECT_EQ(cuda_schedule(spec_of({int8, int8}, {int8})).vector, 16);
}

TEST(CudaSchedule, KeepsThirtyTwoBytesOfReadsInFlight) {
  EXPECT_EQ(cuda_schedule(spec_of({float32}, {float32})).unroll, 2);
  EXPECT_EQ(cuda_schedule(spec_of({float32, float32}, {float32})).unroll, 1);
}

TEST(CudaSchedule, HalvesTheVectorWhereThreeOutputsOutweighTheInputs) {
  EXPECT_EQ(cuda_schedule(spec_of({float32, float32}, {float32, float32, float32})).vector, 2);
  EXPECT_EQ(cuda_schedule(spec_of({float32, float32, float32, float32}, {float32, float32, float32})).vector, 4);
}

TEST(CudaSchedule, NeighboursInMemoryAreNeighbouringThreadsWhereOutputsAreStrided) {
  const auto of = [](DType dtype, Access written) { return cuda_schedule(spec_of({dtype, dtype}, {dtype, dtype}), {.rank = 2, .access = {Access::kRow, Access::kStrided, Access::kRow, written}}); };
  EXPECT_EQ(of(float32, Access::kRow).vector, 4);
  EXPECT_EQ(of(float32, Access::kStrided).vector, 1);
  EXPECT_EQ(of(float32, Access::kStrided).unroll, 4) << "as many elements";
  EXPECT_EQ(of(bfloat16, Access::kStrided).vector, 2);
  EXPECT_EQ(of(bfloat16, Access::kStrided).unroll, 4);
  EXPECT_EQ(of(float64, Access::kStrided).vector, 1);
}

/// x * n0 + n1 * x + ..., or something dearer for each number.
KernelSpec spec_of_numbers(int count, int cost) {
  KernelSpec spec = spec_of({float32}, {float32});
  for (int i = 0; i < count; ++i) {
    spec.numbers.emplace_back(static_cast<float>(i));
    Step step;
    step.inputs = {0};
    step.cost = cost;
    spec.steps.push_back(step);
  }
  spec.stores = {1};
  return spec;
}

TEST(CudaSchedule, TakesAllElementsOfAThreadAtOnceWhereNumbersAreMany) {
  const CudaSchedule many = cuda_schedule(spec_of_numbers(100, 2));
  EXPECT_GT(many.part, 0);
  EXPECT_EQ(many.vector * many.unroll, 8);
  EXPECT_EQ(cuda_schedule(spec_of_numbers(1000, 2)).vector * cuda_schedule(spec_of_numbers(1000, 2)).unroll, 4) << "the code stays in the caches of instructions";
  EXPECT_EQ(cuda_schedule(spec_of_numbers(300, 2)).vector * cuda_schedule(spec_of_numbers(300, 2)).unroll, 4) << "one vector: the compiler has half as much to do";
  EXPECT_EQ(cuda_schedule(spec_of_numbers(15, 2)).part, 0);
  const CudaSchedule dear = cuda_schedule(spec_of_numbers(100, 13));
  EXPECT_EQ(dear.part, 0) << "reading the numbers counts little";
  EXPECT_EQ(dear.vector, 1) << "compiled in half the time";
  EXPECT_EQ(cuda_schedule(spec_of_numbers(70, 13)).vector, 2);
}

TEST(CudaSchedule, RefusesASettingThatNoKernelCanHave) {
  const KernelSpec spec = spec_of({float32}, {float32});
  for (const char* text : {"100,4,1", "128,3,1", "128,4,0", "128,4", "2048,4,1"}) {
    const Environment set("DAMO_CUDA_SCHEDULE", text);
    EXPECT_THAT(error_of([&] { cuda_schedule(spec); }), ::testing::HasSubstr(std::string("DAMO_CUDA_SCHEDULE=") + text + " is no schedule"));
  }
}

TEST(CudaTile, ShrinksAndThenGivesUpWhenTilesDoNotFit) {
  EXPECT_EQ(cuda_tile(spec_of({float32}, {float32}), transposed(1)).inner, 64);
  EXPECT_EQ(cuda_tile(spec_of({float64}, {float64}), transposed(1)).inner, 32);
  Layout few = transposed(1);
  few.tile_inner = 4;
  EXPECT_EQ(cuda_tile(spec_of({float32}, {float32}), few), (CudaTile{.inner = 4, .other = 512, .threads = 256}));
  few.tile_inner = 0, few.tile_other = 16;
  EXPECT_EQ(cuda_tile(spec_of({float32}, {float32}), few), (CudaTile{.inner = 128, .other = 16, .threads = 256}));
  const CudaTile many = cuda_tile(spec_of(std::vector<DType>(6, float64), {float64}), transposed(6));
  EXPECT_FALSE(many.fits);
}

TEST(CudaTile, RefusesThreadsThatWouldLeaveElementsOut) {
  const Environment set("DAMO_CUDA_TILE", "48,32,1024,0");
  EXPECT_THAT(error_of([&] { cuda_tile(spec_of({float32}, {float32}), transposed(1)); }), ::testing::HasSubstr("threads a multiple of 32 up to 1024 that divides inner times other"));
}

}  // namespace
}  // namespace damo
