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

/// softmax() whose outputs cannot keep its exponentials.
KernelSpec narrow_softmax() {
  KernelSpec narrow = softmax();
  narrow.inputs = narrow.outputs = {bfloat16};
  return narrow;
}

int exponentials(const std::string& text) {
  int count = 0;
  for (std::size_t at = text.find("= f0_map("); at != std::string::npos; at = text.find("= f0_map(", at + 1)) ++count;
  return count;
}

TEST(ReducingText, HoldsTheExponentialsOfRowsUpToAShareOfTheLastCache) {
  const auto text = [&](std::int64_t length) { return text_of(narrow_softmax(), {{64, length}, 2}, {{64, length}, {64, length}}); };
  EXPECT_EQ(exponentials(text(1048576)), 2) << "in lanes, and in those that are left over";
  EXPECT_GT(exponentials(text(1048577)), 2) << "made again";
}

TEST(ReducingText, HoldsTheExponentialsOfColumnsToo) {
  const auto text = [&](std::int64_t length) { return text_of(narrow_softmax(), {{length, 512}, 1}, {{length, 512}, {length, 512}}); };
  EXPECT_EQ(exponentials(text(4096)), 1);
  EXPECT_GT(exponentials(text(4097)), 1) << "made again";
}

TEST(ReducingText, HasWhatATaskHoldsInItsThreadsMemory) {
  const auto bytes = [](const KernelSpec& spec, const Shape& shape, std::uint32_t mask) {
    const Strides strides = contiguous_strides(shape);
    const ArrayLayout arrays[] = {{&shape, &strides}, {&shape, &strides}};
    const Geometry geometry(shape, arrays, mask);
    const Layout layout = cpu_dialect().share_rows(spec, classify_reducing(geometry), geometry, {});
    return cpu_dialect().work(spec, layout, geometry, {}).launches[0].config.shared_bytes;
  };
  EXPECT_EQ(bytes(softmax(), {64, 100000}, 2), 400000u);
  EXPECT_EQ(bytes(softmax(), {64, 100001}, 2), 400064u) << "whole lines of the cache";
  EXPECT_EQ(bytes(softmax(), {64, 100}, 2), 8192u) << "a block of rows";
  EXPECT_EQ(bytes(softmax(), {64, 100000}, 1), 64u * 256 * 4) << "of columns a tile";
  EXPECT_EQ(bytes(softmax(), {4097, 4096}, 1), 0u) << "which would be too much";
  EXPECT_EQ(bytes(normed(), {64, 100000}, 2), 0u) << "nothing is dear";
}

TEST(ReducingText, StoresColumnsThatAreJoinedOrHeldPastTheCaches) {
  const KernelSpec doubled = spec_of("doubled", {map("x0 * T(2)", {0}), sum_of(1)}, {1, 2});
  EXPECT_THAT(text_of(doubled, {{4096, 512}, 1}, {{4096, 512}, {4096, 512}, {1, 512}}), AllOf(HasSubstr("stream_strip(e1 + j, strip0)"), HasSubstr("prefetch_strip(e0 + a.r0[0] + j)")));
  EXPECT_THAT(text_of(softmax(), {{4096, 512}, 1}, {{4096, 512}, {4096, 512}}), HasSubstr("stream_strip(e1 + j, strip0)"));
  EXPECT_THAT(text_of(softmax(), {{4097, 512}, 1}, {{4097, 512}, {4097, 512}}), Not(HasSubstr("stream_strip"))) << "what is kept where results will be is in the caches";
}

TEST(ReducingText, JoinsAcrossRowsAWindowOfColumnsAtATime) {
  EXPECT_THAT(text_of(sums_of_both(), {{4096, 8192}, 2}, {{4096, 8192}, {4096, 1}, {1, 8192}}), HasSubstr("for (i64 window = 0; window < a.length; window += 2048)"));
  EXPECT_THAT(text_of(layer_norm_gradients(), {{512, 8192}, 2}, {{512, 8192}, {512, 8192}, {1, 8192}, {512, 8192}, {1, 8192}, {1, 8192}}), Not(HasSubstr("window"))) << "later passes need all of a row";
}

}  // namespace
}  // namespace damo
