// The text of kernels that reduce, for the CPU: what must not stand in its loops over elements.
#include <algorithm>

#include <gmock/gmock.h>

#include "runtime/cpu/dialect.hpp"
#include "runtime/kernel/dialect.hpp"
#include "runtime/kernel/reducing_specs.hpp"

namespace damo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// The text for arrays of these shapes, inputs and then outputs, in C order.
std::string text_of(const KernelSpec& spec, const Given& given, const std::vector<Shape>& shapes) {
  std::vector<Strides> strides;
  for (const Shape& shape : shapes) strides.push_back(contiguous_strides(shape));
  std::vector<ArrayLayout> arrays;
  for (std::size_t i = 0; i < shapes.size(); ++i) arrays.push_back({&shapes[i], &strides[i]});
  const Geometry geometry(given.shape, arrays, given.mask);
  const Layout layout = cpu_dialect().share_rows(spec, cpu_dialect().adapt(spec, classify_reducing(geometry)), geometry, {});
  return cpu_dialect().emit(spec, layout);
}

/// The sum of products with a second array.
KernelSpec weighted_sum() { return spec_of("weighted_sum", {map("x0 * x1", {0, 1}), sum_of(2)}, {3}, 2); }

TEST(ReducingText, ReadsWhatRepeatsAlongTheInnermostAxisWithoutAStride) {
  const std::string rows = text_of(weighted_sum(), {{64, 8, 4096}, 6}, {{64, 8, 4096}, {8, 1}, {64, 1, 1}});
  EXPECT_THAT(rows, HasSubstr("e1[(j + k) * 0]"));
  EXPECT_THAT(rows, Not(HasSubstr("* a.r1[1]]"))) << "each element would be read by itself";
  const std::string columns = text_of(weighted_sum(), {{4096, 512}, 1}, {{4096, 512}, {4096, 1}, {1, 512}});
  EXPECT_THAT(columns, HasSubstr("e1[(k) * 0]"));
  EXPECT_THAT(columns, Not(HasSubstr("* a.k1[0]]")));
}

TEST(ReducingText, PutsShortRowsInBlocksThatAreJoinedAcrossToo) {
  EXPECT_THAT(text_of(layer_norm_gradients(), {{4096, 64}, 2}, {{4096, 64}, {4096, 64}, {1, 64}, {4096, 64}, {1, 64}, {1, 64}}), HasSubstr("for (i64 block = from;"));
  EXPECT_THAT(text_of(sums_of_both(), {{4096, 64}, 2}, {{4096, 64}, {4096, 1}, {1, 64}}), Not(HasSubstr("for (i64 block = from;"))) << "a chain of sums stays in registers";
}

TEST(ReducingText, HoldsTheExponentialsOfRowsUpToTheSizeOfASecondLevelCache) {
  KernelSpec narrow = softmax();  // whose outputs cannot keep them
  narrow.inputs = narrow.outputs = {bfloat16};
  const auto text = [&](std::int64_t length) { return text_of(narrow, {{64, length}, 2}, {{64, length}, {64, length}}); };
  const auto exponentials = [](const std::string& all) {
    int count = 0;
    for (std::size_t at = all.find("= f0_map("); at != std::string::npos; at = all.find("= f0_map(", at + 1)) ++count;
    return count;
  };
  EXPECT_EQ(exponentials(text(131072)), 2) << "in lanes, and in those that are left over";
  EXPECT_GT(exponentials(text(131073)), 2) << "made again";
}

TEST(ReducingText, StoresColumnsThatAreJoinedPastTheCaches) {
  const KernelSpec doubled = spec_of("doubled", {map("x0 * T(2)", {0}), sum_of(1)}, {1, 2});
  EXPECT_THAT(text_of(doubled, {{4096, 512}, 1}, {{4096, 512}, {4096, 512}, {1, 512}}), AllOf(HasSubstr("stream_strip(e1 + j, strip0)"), HasSubstr("prefetch_strip(e0 + a.r0[0] + j)")));
  EXPECT_THAT(text_of(softmax(), {{4096, 512}, 1}, {{4096, 512}, {4096, 512}}), Not(HasSubstr("stream_strip"))) << "several passes compute longer than they wait for memory";
}

}  // namespace
}  // namespace damo
