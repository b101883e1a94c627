// ElementwiseKernels of C snippets, against the host.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/array_math.hpp>
#include <damo/cache.hpp>
#include <damo/elementwise_kernel.hpp>
#include "ops/eager/reference.hpp"
#include "support/compiler_line.hpp"
#include "support/devices.hpp"

namespace damo {
namespace {

using testing::error_of;
using Values = std::vector<double>;

class EagerElementwiseKernel : public testing::OnEachDevice {};

const ElementwiseKernel& axpby() {
  static const ElementwiseKernel kernel("float a, const float* x, float b, const float* y, float* z",
                                        "z[i] = a*x[i] + b*y[i]", {.name = "axpby"});
  return kernel;
}

TEST_P(EagerElementwiseKernel, CombinesTwoArraysLinearly) {
  for (std::int64_t size : {0, 1, 255, 257, 100003}) {
    const Array x = range({size}), y = range({size}, 1), z = Array::zeros({size}, float32, device());
    axpby()(5, x, 6.0f, y, z);
    EXPECT_EQ(z.to_doubles(), (5 * x + 6 * y).to_doubles()) << size;
  }
}

TEST_P(EagerElementwiseKernel, WorksOnStridedAndBroadcastArrays) {
  const Array x = range({7, 9}), y = range({9, 7}).transpose(), row = range({9}),
              z = Array::zeros({7, 9}, float32, device());
  axpby()(2, x, 3, y, z);
  EXPECT_EQ(z.to_doubles(), (2 * x + 3 * y).to_doubles());
  axpby()(2, x, 3, row, z);
  EXPECT_EQ(z.to_doubles(), (2 * x + 3 * row).to_doubles());
  const Array wide = Array::zeros({7, 18}, float32, device());
  axpby()(1, x, 1, x.slice({{std::nullopt, std::nullopt, -1}}), wide.slice({{}, {1, std::nullopt, 2}}));
  const Values values = wide.to_doubles();
  for (std::size_t i = 0; i < 7; ++i) {
    for (std::size_t j = 0; j < 9; ++j) {
      EXPECT_EQ(values[18 * i + 2 * j], 0);
      EXPECT_EQ(values[18 * i + 2 * j + 1], static_cast<double>(9 * i + j + 9 * (6 - i) + j));
    }
  }
}

TEST_P(EagerElementwiseKernel, WritesSeveralOutputs) {
  const ElementwiseKernel kernel("const float* x, float* square, int* sign",
                                 "square[i] = x[i] * x[i]; sign[i] = x[i] < 0 ? -1 : 1");
  const auto results = kernel.results(array({-3, 2}));
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].to_doubles(), (Values{9, 4}));
  EXPECT_EQ(results[1].dtype(), int32);
  EXPECT_EQ(results[1].to_doubles(), (Values{-1, 1}));
}

TEST_P(EagerElementwiseKernel, KnowsIAndNAndReadsNeighbours) {
  const ElementwiseKernel reversed("const float* x, float* z", "z[i] = x[n - 1 - i] + 10 * i");
  EXPECT_EQ(reversed.results(array({1, 2, 3})).front().to_doubles(), (Values{3, 12, 21}));
  EXPECT_EQ(reversed.results(range({2, 2}).transpose()).front().to_doubles(), (Values{3, 11, 22, 30}));
  const ElementwiseKernel scatter("const float* x, float* z", "z[n - 1 - i] = x[i]");
  const Array target = Array::zeros({6}, float32, device());
  scatter(array({1, 2, 3}), target.slice({{std::nullopt, std::nullopt, 2}}));
  EXPECT_EQ(target.to_doubles(), (Values{3, 0, 2, 0, 1, 0}));
}

TEST_P(EagerElementwiseKernel, HasAPreambleFlagsAndEveryDType) {
  const ElementwiseKernel kernel(
      "const double* x, unsigned char* y, const half* h, bool* b", "y[i] = cut(x[i]); b[i] = (float)h[i] > LIMIT",
      {.name = "mixed",
       .preamble = "__device__ unsigned char cut(double x) { return x < 0 ? 0 : x > 255 ? 255 : (unsigned char)x; }",
       .flags = {"-DLIMIT=1.5f"}});
  const auto results = kernel.results(astype(array({-4, 17.9f, 1000}), float64), astype(array({1, 2, 3}), float16));
  EXPECT_EQ(results[0].to_doubles(), (Values{0, 17, 255}));
  EXPECT_EQ(results[1].to_vector<bool>(), (std::vector<bool>{false, true, true}));
}

TEST_P(EagerElementwiseKernel, WorksInPlaceAndCopiesWhatOverlaps) {
  const ElementwiseKernel add("const float* x, float* z", "z[i] += x[i]");
  const Array a = range({6});
  add(a, a);
  EXPECT_EQ(a.to_doubles(), (Values{0, 2, 4, 6, 8, 10}));
  add(a.slice({{0, 5}}), a.slice({{1, 6}}));
  EXPECT_EQ(a.to_doubles(), (Values{0, 2, 6, 10, 14, 18}));
}

TEST_P(EagerElementwiseKernel, ReadsOtherElementsOfWhatItWritesAsTheyWere) {
  const ElementwiseKernel mirror("const float* x, float* z", "z[i] = x[n - 1 - i]");
  const Array a = range({100000});  // more than run at once
  mirror(a, a);
  const std::vector<float> values = a.to_vector<float>();
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], static_cast<float>(values.size() - 1 - i)) << i;
}

TEST_P(EagerElementwiseKernel, CompilesOnceForAllShapesAndNumbers) {
  const ElementwiseKernel kernel("float a, const float* x, float* z", "z[i] = a - x[i]", {.name = "once"});
  kernel.results(1, range({10}));
  const CacheStatistics before = cache_statistics(device());
  for (int size = 1; size < 20; ++size) EXPECT_EQ(kernel.results(size, range({size})).front().to_doubles()[0], size);
  const CacheStatistics after = cache_statistics(device());
  EXPECT_EQ(after.compiles + after.disk_hits + after.memory_hits,
            before.compiles + before.disk_hits + before.memory_hits);
}

TEST_P(EagerElementwiseKernel, MayBeCalledAsAFunctionOrAWordOfCudaC) {
  for (const char* name : {"exp", "max", "float", "main"}) {
    const ElementwiseKernel twice("const float* x, float* z", "z[i] = 2 * x[i]", {.name = name});
    EXPECT_EQ(twice.results(range({3}))[0].to_doubles(), (std::vector<double>{0, 2, 4})) << name;
  }
}

TEST_P(EagerElementwiseKernel, SaysWhatIsWrong) {
  const Array x = range({4});
  EXPECT_THAT(error_of([&] { axpby()(1, x, 2, x); }),
              ::testing::HasSubstr("axpby: 4 arguments are given, it has 5 parameters"));
  EXPECT_THAT(error_of([&] { axpby()(x, x, 2, x, x); }), ::testing::HasSubstr("wants a number, it is given an Array"));
  EXPECT_THAT(error_of([&] { axpby()(1, astype(x, float64), 2, x, x); }),
              ::testing::HasSubstr("\"const float * x\" wants elements of float32, it is given float64 (4,)"));
  EXPECT_THAT(error_of([&] { axpby()(1, x, 2, x, range({1})); }),
              ::testing::HasSubstr("axpby: an output of shape (1,) beside arrays that broadcast to (4,)"));
  EXPECT_THAT(error_of([&] { axpby()(1, x, 2, range({3}), x); }), ::testing::HasSubstr("axpby: cannot broadcast"));
  const ElementwiseKernel counts("int k, float* z", "z[i] = k");
  EXPECT_THAT(error_of([&] { counts(1.5, x); }), ::testing::HasSubstr("the parameter \"int k\" cannot hold 1.5"));
  EXPECT_THAT(error_of([&] { counts(std::int64_t{1} << 40, x); }), ::testing::HasSubstr("cannot hold 1099511627776"));
  EXPECT_THAT(error_of([] { ElementwiseKernel("const float* x", "x[i]"); }),
              ::testing::HasSubstr("no parameter is an output"));
  EXPECT_THAT(error_of([] { ElementwiseKernel("flaot* x", "x[i] = 0"); }),
              ::testing::HasSubstr("cannot read the declaration \"flaot* x\""));
  EXPECT_THAT(error_of([] { ElementwiseKernel("float* x, int x", "x[i] = 0"); }),
              ::testing::HasSubstr("two parameters are called x"));
  EXPECT_THAT(error_of([] { ElementwiseKernel("float* class", "class[i] = 0"); }), ::testing::HasSubstr("a parameter is called class, which is a word of C++\n  in ElementwiseKernel elementwise at "));
  EXPECT_THAT(error_of([] { ElementwiseKernel("float* z, float NAN", "z[i] = 0"); }), ::testing::HasSubstr("a parameter is called NAN, which is a macro of CUDA C"));
  const int line = __LINE__ + 1;
  const ElementwiseKernel broken("float* z", "z[i] = wrong");
  EXPECT_THAT(error_of([&] { broken(x); }),
              damo::testing::names_line("elementwise_kernel_test.cpp", line));
}

DAMO_ON_EACH_DEVICE(EagerElementwiseKernel);

}  // namespace
}  // namespace damo
