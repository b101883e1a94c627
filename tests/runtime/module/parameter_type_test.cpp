#include <damo/parameter_type.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace damo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = ParameterType::Kind;

TEST(ParameterType, ReadsPointersAsClangAndAsADemanglerPrintsThem) {
  for (const char* text : {"const float *", "float const*", "const float *__restrict", "float const* __restrict__"}) {
    const ParameterType type = ParameterType::parse(text);
    EXPECT_EQ(type.kind, Kind::kPointer) << text;
    EXPECT_EQ(type.element.dtype, float32) << text;
    EXPECT_TRUE(type.is_const) << text;
    EXPECT_EQ(type.bytes, sizeof(void*)) << text;
  }
  EXPECT_FALSE(ParameterType::parse("float *").is_const);
  EXPECT_FALSE(ParameterType::parse("float* const").is_const);
}

TEST(ParameterType, TakesReferencesForPointers) {
  for (const char* text : {"float &", "float&"}) {
    const ParameterType type = ParameterType::parse(text);
    EXPECT_EQ(type.kind, Kind::kPointer) << text;
    EXPECT_EQ(type.element.dtype, float32) << text;
    EXPECT_EQ(type.bytes, sizeof(void*)) << text;
    EXPECT_FALSE(type.is_const) << text;
  }
  EXPECT_TRUE(ParameterType::parse("Point const&").is_const);
}

TEST(ParameterType, ReadsNumbers) {
  EXPECT_EQ(ParameterType::parse("int").element.dtype, int32);
  EXPECT_EQ(ParameterType::parse("unsigned long long").element.dtype, uint64);
  EXPECT_EQ(ParameterType::parse("long").element.dtype, int64);
  EXPECT_EQ(ParameterType::parse("bool").element.dtype, bool_);
  EXPECT_EQ(ParameterType::parse("__half").element.dtype, float16);
  EXPECT_EQ(ParameterType::parse("const _Float16 *").element.dtype, float16);
  EXPECT_EQ(ParameterType::parse("damo::bfloat16").element.dtype, bfloat16);
  EXPECT_EQ(ParameterType::parse("double").bytes, 8u);
  EXPECT_EQ(ParameterType::parse("double").kind, Kind::kNumber);
}

TEST(ParameterType, KnowsThatBytesTakeAnything) {
  for (const char* text : {"void *", "const char*", "unsigned char *"}) {
    EXPECT_EQ(ParameterType::parse(text).element.kind, ElementType::Kind::kAny) << text;
  }
  EXPECT_EQ(ParameterType::parse("signed char *").element.dtype, int8);
}

TEST(ParameterType, ReadsVectorTypesByTheirElements) {
  const ParameterType type = ParameterType::parse("const float4 *");
  EXPECT_EQ(type.element.kind, ElementType::Kind::kNumber);
  EXPECT_EQ(type.element.dtype, float32);
  EXPECT_EQ(type.element.lanes, 4);
  EXPECT_EQ(ParameterType::parse("ulonglong2*").element.dtype, uint64);
  EXPECT_EQ(ParameterType::parse("__half2*").element.dtype, float16);
  EXPECT_EQ(ParameterType::parse("float5*").element.kind, ElementType::Kind::kOther);
}

TEST(ParameterType, ReadsStridedViews) {
  const ParameterType type = ParameterType::parse("damo::Strided<const float, 2>", 40);
  EXPECT_EQ(type.kind, Kind::kStrided);
  EXPECT_EQ(type.rank, 2);
  EXPECT_TRUE(type.is_const);
  EXPECT_EQ(type.element.dtype, float32);
  EXPECT_EQ(ParameterType::parse("damo::Strided<float const, 3>").bytes, 56u);
}

TEST(ParameterType, TakesTheRestForStructs) {
  const ParameterType type = ParameterType::parse("space::Shape<float, 3>", 24);
  EXPECT_EQ(type.kind, Kind::kOther);
  EXPECT_EQ(type.bytes, 24u);
  EXPECT_EQ(ParameterType::parse("float **").element.kind, ElementType::Kind::kOther);
  EXPECT_EQ(ParameterType::parse("Point*").element.kind, ElementType::Kind::kOther);
}

TEST(SplitParameters, LeavesCommasWithinBracketsAlone) {
  EXPECT_THAT(split_parameters("float*, Shape<int, 3>, void (*)(int, int), long"),
              ElementsAre("float*", "Shape<int, 3>", "void (*)(int, int)", "long"));
  EXPECT_THAT(split_parameters(""), IsEmpty());
  EXPECT_THAT(split_parameters("void"), IsEmpty());
}

TEST(ElementType, TakesItsOwnKindAndBytes) {
  constexpr ElementType floats = ElementType::of<float>(), ints = ElementType::of<int>(), bytes = ElementType::of<void>();
  struct Point { float x, y; };
  constexpr ElementType points = ElementType::of<Point>();
  EXPECT_TRUE(floats.takes(floats));
  EXPECT_FALSE(floats.takes(ints));
  EXPECT_TRUE(bytes.takes(floats));
  EXPECT_TRUE(floats.takes(bytes));
  EXPECT_FALSE(points.takes(floats));
  EXPECT_TRUE(points.takes(ElementType::of(uint8)));
  EXPECT_TRUE(points.takes(points));
  EXPECT_FALSE(floats.takes(points));
}

}  // namespace
}  // namespace damo
