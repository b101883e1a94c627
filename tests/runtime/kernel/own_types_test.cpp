#include "runtime/kernel/own_types.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace damo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(OwnTypes, FindsDefinitionsAsLong) {
  EXPECT_THAT(own_types("typedef unsigned long uint64_t;\n"), ElementsAre("uint64_t"));
  EXPECT_THAT(own_types("#define X\nusing int64_t = long;\nint64_t f();"), ElementsAre("int64_t"));
  EXPECT_THAT(own_types("typedef long int64_t; typedef unsigned long uintptr_t ;"), ElementsAre("int64_t", "uintptr_t"));
}

TEST(OwnTypes, LeavesAloneWhatAgreesWithThePrelude) {
  EXPECT_THAT(own_types("typedef unsigned long long uint64_t;"), IsEmpty());
  EXPECT_THAT(own_types("using int64_t = long long;"), IsEmpty());
}

TEST(OwnTypes, IsNotMisledByUses) {
  EXPECT_THAT(own_types("__global__ void k(uint64_t* x, long n) { uint64_t y = n; typedef long my_int64_t; }"), IsEmpty());
  EXPECT_THAT(own_types("typedef uint64_t word;"), IsEmpty());
  EXPECT_THAT(own_types(""), IsEmpty());
  EXPECT_THAT(own_types("int64_t"), IsEmpty());
}

}  // namespace
}  // namespace damo
