// Which rows a kernel holds that makes prefix joins of them too, and in which order it joins. Values: tests/function/row_scans_test.cpp.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/cuda/dialect.hpp"
#include "runtime/cuda/reducing_schedule.hpp"
#include "runtime/cuda/text_as_cuda_c.hpp"
#include "runtime/kernel/scan_specs.hpp"

namespace damo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr Processors kHoldingOn = {132, 8, 227 * 1024};

struct ScannedRows {
  KernelSpec spec = softmax_scan();
  Layout layout;
  bool is_one = false;  ///< kernel
};
ScannedRows rows_of(DType dtype, const Shape& shape, std::uint32_t reduced = 2) {
  ScannedRows rows;
  for (DType& each : rows.spec.inputs) each = dtype;
  for (DType& each : rows.spec.outputs) each = dtype;
  const Strides dense = contiguous_strides(shape);
  const std::vector<ArrayLayout> arrays(2, {&shape, &dense});
  const Geometry geometry(shape, arrays, reduced);
  rows.layout = cuda_layout(rows.spec, geometry, kHoldingOn);
  rows.is_one = cuda_dialect().scans_rows(rows.spec, geometry, kHoldingOn);
  return rows;
}

TEST(ReducingPrefixes, AreMadeOfRowsThatOneBlockHolds) {
  for (const std::int64_t length : {3, 40, 100, 1000, 8192, 16384}) {
    for (const DType dtype : {float32, bfloat16}) EXPECT_TRUE(rows_of(dtype, {(1 << 27) / length, length}).is_one) << length;
  }
  EXPECT_FALSE(rows_of(float32, {1024, 131072}).is_one) << "a cluster's";
  EXPECT_FALSE(rows_of(float32, {8, 1 << 24}).is_one) << "nobody's";
  EXPECT_FALSE(rows_of(float32, {16384, 8192}, 1).is_one) << "columns";
}

TEST(ReducingPrefixes, MeetOnceMoreThanTheRowsThatTheyAreMadeOf) {
  const ScannedRows rows = rows_of(float32, {16384, 8192});
  const std::string text = cuda_dialect().emit(rows.spec, rows.layout);
  std::size_t meetings = 0;
  for (std::size_t at = 0; (at = text.find("__syncthreads()", at)) != std::string::npos; ++at) ++meetings;
  EXPECT_EQ(meetings, 3u) << "maximum, sum and what warps have before them";
  EXPECT_THAT(text, HasSubstr("lane / 32 * " + std::to_string(rows.layout.items * 32) + " + lane % 32")) << "a warp's vectors follow each other";
}

TEST(ReducingPrefixes, OfAThreadsOwnRowsAskNoOtherThread) {
  const ScannedRows rows = rows_of(float32, {1 << 22, 9});
  ASSERT_GT(rows.layout.rows_each, 0);
  const std::string text = cuda_dialect().emit(rows.spec, rows.layout);
  EXPECT_THAT(text.substr(text.find("__global__")), Not(HasSubstr("of_lane")));
}

}  // namespace
}  // namespace damo
