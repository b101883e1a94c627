// Which arrays are taken for one piece of memory, and which addresses make one: runtime/kernel/interleaved.hpp.
#include "runtime/kernel/interleaved.hpp"

#include <string>

#include <gtest/gtest.h>

namespace damo {
namespace {

struct StridedArray {
  DType dtype;
  Strides strides;
};

struct Marked {
  KernelSpec spec;
  Geometry geometry;
  Layout layout;
};

Marked mark(const Shape& space, const std::vector<StridedArray>& inputs, const std::vector<StridedArray>& outputs) {
  KernelSpec spec;
  std::vector<ArrayLayout> arrays;
  for (const StridedArray& array : inputs) spec.inputs.push_back(array.dtype), arrays.push_back({&space, &array.strides});
  for (const StridedArray& array : outputs) spec.outputs.push_back(array.dtype), arrays.push_back({&space, &array.strides});
  const Geometry geometry(space, arrays);
  return {spec, geometry, mark_interleaved(spec, classify(geometry, spec.input_count()), geometry)};
}

std::string marked(const Shape& space, const std::vector<StridedArray>& inputs, const std::vector<StridedArray>& outputs) { return to_string(mark(space, inputs, outputs).layout); }

const StridedArray kDense{float32, {128, 1}}, kRow{float32, {0, 1}}, kPair{float32, {512, 2}}, kOfThree{uint8, {400, 3}};

TEST(Interleaved, AreAsManyArraysAsTheirStrideSays) {
  EXPECT_EQ(marked({64, 128}, {kPair, kRow, kPair, kRow}, {kPair, kPair}), "r2 interleaved row interleaved row interleaved interleaved");
  EXPECT_EQ(marked({64, 128}, {kPair, kPair}, {kDense}), "r2 interleaved interleaved dense");
  EXPECT_EQ(marked({64, 128}, {kDense}, {kPair, kPair}), "r2 dense interleaved interleaved");
  EXPECT_EQ(marked({64, 128}, {kOfThree, kOfThree, kOfThree}, {kDense}), "r2 interleaved interleaved interleaved dense");
  EXPECT_EQ(marked({64, 128}, {{float32, {256, 2}}, {float32, {256, 2}}}, {kDense}), "r1 interleaved interleaved dense") << "without gaps rows are no axis";
}

TEST(Interleaved, OthersStayStrided) {
  EXPECT_EQ(marked({64, 128}, {kPair}, {kDense}), "r2 strided dense") << "one of two";
  EXPECT_EQ(marked({64, 128}, {kPair, kPair, kPair, kPair}, {kDense}), "r2 strided strided strided strided dense") << "two pieces, which of which?";
  EXPECT_EQ(marked({64, 128}, {kPair, {float32, {1024, 2}}}, {kDense}), "r2 strided strided dense") << "rows lie otherwise";
  EXPECT_EQ(marked({64, 128}, {kPair, {float16, {512, 2}}}, {kDense}), "r2 strided strided dense");
  EXPECT_EQ(marked({64, 128}, {kPair, kDense}, {kPair}), "r2 strided dense strided") << "read and written are two pieces";
  EXPECT_EQ(marked({64, 128}, {{float32, {-512, -2}}, {float32, {-512, -2}}}, {kDense}), "r2 strided strided dense") << "backwards";
  EXPECT_EQ(marked({64, 128}, std::vector<StridedArray>(5, {float32, {1024, 5}}), {kDense}), "r2 strided strided strided strided strided dense");
}

TEST(Interleaved, VectorsHaveWholeAccessesToThePiece) {
  const auto vector = [](const StridedArray& array) {
    const Marked pieces = mark({64, 128}, std::vector<StridedArray>(static_cast<std::size_t>(array.strides[-1]), array), {kDense});
    const int vector = interleaved_vector(pieces.spec, pieces.layout);
    EXPECT_EQ(interleaved_of(pieces.spec, pieces.layout).at(0).access_bytes(vector), 16);
    return vector;
  };
  EXPECT_EQ(vector({float32, {512, 2}}), 2);
  EXPECT_EQ(vector({bfloat16, {512, 2}}), 8) << "two accesses";
  EXPECT_EQ(vector({uint8, {512, 4}}), 8);
  EXPECT_EQ(vector({float64, {512, 2}}), 1);
  EXPECT_EQ(vector({float32, {512, 3}}), 4) << "three accesses";
  const Marked none = mark({64, 128}, {kPair}, {kDense});
  EXPECT_EQ(interleaved_vector(none.spec, none.layout), 0);
}

TEST(Interleaved, RowsBeginWhereAccessesAreAligned) {
  const auto begins = [](const Shape& space, const Strides& strides, int vector) {
    const Marked pair = mark(space, {{float32, strides}, {float32, strides}}, {{float32, {space[1], 1}}});
    return begin_aligned(pair.spec, pair.layout, pair.geometry, vector);
  };
  EXPECT_TRUE(begins({64, 128}, {512, 2}, 2));
  EXPECT_FALSE(begins({64, 128}, {514, 2}, 2)) << "every second row begins within an access";
  EXPECT_TRUE(begins({64, 128}, {514, 2}, 1));
  EXPECT_FALSE(begins({64, 127}, {512, 2}, 2)) << "rows end within a vector";
}

TEST(Interleaved, AddressesShowWhetherArraysAreOnePiece) {
  const auto lie = [](std::vector<std::uintptr_t> addresses, int item_bytes, int access_bytes) { return lie_interleaved(addresses, item_bytes, access_bytes); };
  EXPECT_TRUE(lie({1024, 1028}, 4, 16));
  EXPECT_TRUE(lie({1028, 1024}, 4, 16)) << "in any order";
  EXPECT_TRUE(lie({1026, 1024, 1025}, 1, 16));
  EXPECT_FALSE(lie({1024, 1024}, 4, 16)) << "the same array twice";
  EXPECT_FALSE(lie({1024, 1032}, 4, 16)) << "apart";
  EXPECT_FALSE(lie({1024, 1026}, 4, 16)) << "between elements";
  EXPECT_FALSE(lie({1028, 1032}, 4, 16)) << "not aligned";
  EXPECT_FALSE(lie({1024, 1 << 20}, 4, 16));
}

}  // namespace
}  // namespace damo
