#include "runtime/kernel/argument_block.hpp"

#include <cstring>
#include <random>
#include <set>

#include <gmock/gmock.h>

namespace damo {
namespace {

KernelSpec row_spec(std::vector<DType> inputs, std::vector<DType> outputs) {
  KernelSpec spec;
  spec.inputs = std::move(inputs);
  spec.outputs = std::move(outputs);
  return spec;
}

template <class T>
T at(ArgumentBlock& block, std::size_t offset) {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(block.data()) + offset, sizeof value);
  return value;
}

/// x: any strides in a space of two axes; y: dense.
struct TwoAxes {
  Shape space;
  Strides strides;
  ArgumentBlock block(DType dtype = float32, int vector = 4, bool wide = false) const {
    const Strides dense = contiguous_strides(space);
    const ArrayLayout arrays[] = {{&space, &strides}, {&space, &dense}};
    const Geometry geometry(space, arrays);
    Layout layout = classify(geometry, 1);
    layout.wide = wide;
    return ArgumentBlock(row_spec({dtype}, {dtype}), layout, geometry, vector);
  }
};

std::uint32_t divide(std::uint32_t n, std::uint32_t magic, std::uint32_t shift) {
  return (static_cast<std::uint32_t>((std::uint64_t{n} * magic) >> 32) + n) >> shift;  // as the CUDA kernels do
}

/// Of a space of one axis of that extent.
void expect_exact(std::uint32_t extent, const std::vector<std::uint32_t>& numbers) {
  ArgumentBlock block = TwoAxes{{1, extent}, {0, 2}}.block();
  ASSERT_EQ(at<std::uint32_t>(block, 20), extent) << "after two pointers and n";
  const std::uint32_t magic = at<std::uint32_t>(block, 24), shift = at<std::uint32_t>(block, 28);
  int wrong = 0;
  for (std::uint32_t n : numbers) wrong += divide(n, magic, shift) != n / extent;
  EXPECT_EQ(wrong, 0) << "divisor " << extent;
}

TEST(ArgumentBlock, DividesExactlyBelowTwoToThe31) {
  constexpr std::uint32_t kLast = (1u << 31) - 1;
  std::set<std::uint32_t> divisors;
  for (std::uint32_t d = 1; d <= 1025; ++d) divisors.insert(d);
  for (int bit = 1; bit < 30; ++bit) divisors.insert({(1u << bit) - 1, 1u << bit, (1u << bit) + 1});
  divisors.insert({(kLast >> 1) - 1, kLast >> 1, 641, 6700417, 65537, 999999937, 715827882, 715827883});
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) divisors.insert(2 + random() % (kLast / 2));
  divisors.erase(1);  // one element: no axis is strided
  for (const std::uint32_t d : divisors) {
    std::vector<std::uint32_t> numbers = {0, 1, d - 1, d, d + 1, kLast, kLast - 1};
    for (std::uint64_t q : {1u, 2u, kLast / d, kLast / d / 2}) {
      for (std::uint64_t n : {q * d, q * d + d - 1, q * d + d}) {
        if (n <= kLast) numbers.push_back(static_cast<std::uint32_t>(n));
      }
    }
    for (int i = 0; i < 1000; ++i) {
      const std::uint32_t n = random() & kLast;
      numbers.insert(numbers.end(), {n, n / d * d});
    }
    expect_exact(d, numbers);
  }
}

TEST(ArgumentBlock, IsFlatForDenseAndScalar) {
  const Shape shape{6}, one{};
  const Strides dense{1}, none{};
  const ArrayLayout arrays[] = {{&shape, &dense}, {&one, &none}, {&shape, &dense}};
  const Geometry geometry(shape, arrays);
  const Layout layout = classify(geometry, 2);
  const KernelSpec spec = row_spec({float32, float64}, {float16});
  ArgumentBlock block(spec, layout, geometry, 4);
  EXPECT_EQ(argument_struct(spec, layout),
            "struct Arguments {\n  const float* p0;\n  const double* p1;\n  half* p2;\n  u32 n;\n  u32 fast;\n};\n");
  EXPECT_EQ(block.size(), 32u);
  EXPECT_EQ(at<std::uint32_t>(block, 24), 6u);
}

TEST(ArgumentBlock, IsAsTheStructSays) {
  ArgumentBlock narrow = TwoAxes{{5, 7}, {1, 5}}.block(), wide = TwoAxes{{5, 7}, {1, 5}}.block(float32, 4, true);
  EXPECT_EQ(narrow.size(), 16u + 4 + 8 + 8 + 8 + 8 + 4);
  EXPECT_EQ(at<std::int32_t>(narrow, 44), 1);
  EXPECT_EQ(at<std::int32_t>(narrow, 48), 5);
  EXPECT_EQ(wide.size(), 16u + 8 + 16 + 16 + 8);
  EXPECT_EQ(at<std::int64_t>(wide, 16), 35);
  EXPECT_EQ(at<std::int64_t>(wide, 32), 7);
  EXPECT_EQ(at<std::int64_t>(wide, 48), 5);
}

TEST(ArgumentBlock, HasMagicNumbersOfSeveralKeptAndReducedAxes) {
  const Shape space{3, 5, 7, 11, 13}, each{1, 5, 1, 1, 1};
  const Strides dense{13, 429, 2145, 39, 1}, strides{0, 1, 0, 0, 0};  // no two axes are one
  const ArrayLayout arrays[] = {{&each, &strides}, {&space, &dense}};
  const Geometry geometry(space, arrays, 0b11000);
  Layout layout = classify_reducing(geometry);
  ASSERT_EQ(layout.rank, 3);
  ASSERT_EQ(layout.reduced_rank, 2);
  const KernelSpec spec = row_spec({float32}, {float32});
  EXPECT_THAT(argument_struct(spec, layout), ::testing::HasSubstr("  i64 kept[3];\n  u32 kept_magic[3];\n  u32 kept_shift[3];\n  i64 reduced[2];\n  u32 reduced_magic[2];\n  u32 reduced_shift[2];\n"));
  ArgumentBlock block(spec, layout, geometry, 4);
  constexpr std::size_t kKept = 3 * 8 + 5 * 8, kKeptMagic = kKept + 3 * 8, kReduced = kKeptMagic + 2 * 3 * 4, kReducedMagic = kReduced + 2 * 8;  // behind pointers, scratch and the counts
  const auto extent = [&](std::size_t extents, int axis) { return static_cast<std::uint32_t>(at<std::int64_t>(block, extents + 8 * static_cast<std::size_t>(axis))); };
  const auto quotient = [&](std::uint32_t n, std::size_t magic, int axis, int rank) {
    return divide(n, at<std::uint32_t>(block, magic + 4 * static_cast<std::size_t>(axis)), at<std::uint32_t>(block, magic + 4 * static_cast<std::size_t>(rank + axis)));
  };
  for (std::uint32_t n = 0; n < 1000; ++n) {
    for (int axis : {1, 2}) EXPECT_EQ(quotient(n, kKeptMagic, axis, 3), n / extent(kKept, axis));
    EXPECT_EQ(quotient(n, kReducedMagic, 1, 2), n / extent(kReduced, 1));
  }
  layout.wide = true;
  EXPECT_THAT(argument_struct(spec, layout), ::testing::Not(::testing::HasSubstr("magic")));
}

bool fast(ArgumentBlock& block, std::uintptr_t x, std::uintptr_t y) {
  block.set_pointer(0, reinterpret_cast<const void*>(x));
  block.set_pointer(1, reinterpret_cast<const void*>(y));
  block.set_fast();
  return at<std::uint32_t>(block, block.size() - 4) != 0;  // the last member
}

TEST(ArgumentBlock, IsFastOnlyWhereVectorsAreAligned) {
  const Shape shape{8};
  const Strides dense{1};
  const ArrayLayout arrays[] = {{&shape, &dense}, {&shape, &dense}};
  const Geometry geometry(shape, arrays);
  ArgumentBlock block(row_spec({float32}, {float32}), classify(geometry, 1), geometry, 4);
  ASSERT_EQ(block.size(), 24u) << "two pointers, n, fast";
  EXPECT_TRUE(fast(block, 256, 512));
  EXPECT_FALSE(fast(block, 260, 512));
  EXPECT_FALSE(fast(block, 256, 520));
  EXPECT_TRUE(fast(block, 272, 528)) << "16 bytes are enough";
}

TEST(ArgumentBlock, IsFastOnlyWhereRowsStayAligned) {
  ArgumentBlock aligned = TwoAxes{{5, 8}, {12, 1}}.block(), odd = TwoAxes{{5, 8}, {9, 1}}.block(), short_row = TwoAxes{{5, 6}, {8, 1}}.block();
  ASSERT_EQ(aligned.size(), 56u);
  const auto flag = [](ArgumentBlock& block) {
    block.set_pointer(0, nullptr);
    block.set_fast();
    return at<std::uint32_t>(block, 52);
  };
  EXPECT_EQ(flag(aligned), 1u);
  EXPECT_EQ(flag(odd), 0u);
  EXPECT_EQ(flag(short_row), 0u);
}

}  // namespace
}  // namespace damo
