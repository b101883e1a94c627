// The emulated GPU itself: what it makes of PTX, and that what runs on it is what the CUDA back end generates. What else runs there: tests/CMakeLists.txt.
#include <damo/damo.hpp>

#include <cmath>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "emulated_gpu/gpu/translate.hpp"
#include "support/scratch_directory.hpp"
#include "support/errors.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using ::testing::HasSubstr;

TEST(EmulatedPtx, IsCallsOfFunctions) {
  const auto call = [](const char* text) { return emulated_gpu::without_asm(text); };
  EXPECT_EQ(call("float z; asm(\"max.NaN.f32 %0, %1, %2;\" : \"=f\"(z) : \"f\"(x), \"f\"(y)); return z;"), "float z; ::ptx::max_nan(z, x, y); return z;");
  EXPECT_EQ(call("asm volatile(\"ld.global.L1::no_allocate.v4.b32 {%0, %1, %2, %3}, [%4];\"\n    : \"=r\"(w[0]), \"=r\"(w[1]), \"=r\"(w[2]), \"=r\"(w[3]) : \"l\"(p + (i)));"),
            "::ptx::load_words(w[0], w[1], w[2], w[3], p + (i));");
  EXPECT_EQ(call("asm volatile(\"cp.async.commit_group;\" ::: \"memory\");"), "::ptx::nothing();");
  EXPECT_EQ(call("asm(\"\" : \"+r\"(word));"), "((void)0);") << "it hides a value from a compiler";
  EXPECT_EQ(call("asm(\"brev.b32 %0, %1;\" : \"=r\"(y) : \"r\"(x));"), "::ptx::not_emulated(y, x);") << "which does not compile";
  EXPECT_EQ(call("int asmx = myasm(\"\");"), "int asmx = myasm(\"\");");
}

class EmulatedGpuOnCpu : public ::testing::Test {
 protected:
  const Device gpu_ = Device("cuda:0");
};

TEST_F(EmulatedGpuOnCpu, IsTheDevice) {
  EXPECT_EQ(gpu_.properties().description, "emulated") << "what tests say of an emulated GPU would be another one's";
  EXPECT_THAT(gpu_.properties().architecture, ::testing::AnyOf("sm_75", "sm_80", "sm_86", "sm_100"));
}

TEST_F(EmulatedGpuOnCpu, DrawsTheNumbersOfTheCpu) { EXPECT_EQ(RandomGenerator(7, gpu_).uniform({1003}).to_doubles(), RandomGenerator(7, cpu()).uniform({1003}).to_doubles()); }

TEST_F(EmulatedGpuOnCpu, RunsGeneratedKernelsAndUsersAndReplays) {
  const Variable x = matrix("x");
  const Function f = function({x}, {softmax(tanh(x) * 2), cumsum(x, 1), sum(x, {0})}, {.device = gpu_});
  const Function expected = function({x}, {softmax(tanh(x) * 2), cumsum(x, 1), sum(x, {0})}, {.device = cpu()});
  std::vector<float> values;
  for (int i = 0; i < 37 * 1003; ++i) values.push_back(3 * std::sin(static_cast<float>(i)));
  const Array given = Array::from(values, {37, 1003}, cpu());
  for (int call = 0; call < 3; ++call) {
    const auto found = f.call<3>(given.to(gpu_)), wanted = expected.call<3>(given);
    for (std::size_t i = 0; i < 3; ++i) {
      const std::vector<double> a = found[i].to_doubles(), b = wanted[i].to_doubles();
      for (std::size_t k = 0; k < a.size(); ++k) ASSERT_NEAR(a[k], b[k], 1e-4) << "output " << i << ", element " << k << ", call " << call;
    }
  }
  const Kernel twice = Module(gpu_, "template <class T> __global__ void twice(T* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] *= 2; }", {.kernels = {"twice<float>"}}).kernel("twice<float>");
  const Array y = Array::from(values, gpu_);
  twice({.grid = {(37 * 1003 + 255) / 256}, .block = {256}}, y, 37 * 1003);
  EXPECT_EQ(y.to_doubles()[5], 2.0 * values[5]);
}

/// Sums, maxima and places of small integers, which every order of joins gives with the same bits; and what rounds.
TEST_F(EmulatedGpuOnCpu, GivesShortRowsThatThreadsHaveWholeTheBitsOfRowsThatLanesShare) {
  const auto build = [this](DType dtype) {
    const Variable x = input({dtype, {kUnknown, kUnknown}}), wide = astype(x, float32), w = vector("w"), e = exp(wide - max(wide, 1, keepdims));
    return function({x, w}, {sum(x, 1), max(x, 1), argmax(x, 1), astype(e / sum(e, 1, keepdims), is_half(dtype) ? dtype : float32), (wide - mean(wide, 1, keepdims)) * w, var(wide, 1)}, {.device = gpu_});
  };
  const std::vector<std::pair<DType, std::vector<std::int64_t>>> all_lengths = {{float32, {3, 63}}, {bfloat16, {10}}, {float64, {2}}, {int8, {31}}};
  for (const auto& [dtype, lengths] : all_lengths) {
    for (const std::int64_t length : lengths) {
      const Shape shape = {389, length};
      std::vector<float> values, weights(static_cast<std::size_t>(length), 0.25f);
      for (std::int64_t i = 0; i < shape.size() + 1; ++i) values.push_back(static_cast<float>(i * 7919 % 61 % 23) - 9);
      const Array all = astype(Array::from(values, gpu_), dtype), w = Array::from(weights, gpu_);
      for (const std::int64_t begin : {0, 1}) {  // aligned, and not
        const Array x = all.slice({{begin, begin + shape.size()}}).reshape(shape);
        const Results found = build(dtype).call(std::vector<Array>{x, w});
        const testing::Environment lanes("DAMO_CUDA_ROWS", "0,0,0,8");
        const Results expected = build(dtype).call(std::vector<Array>{x, w});
        for (std::size_t output = 0; output < found.size(); ++output) {
          const std::vector<double> a = found[output].to_doubles(), b = expected[output].to_doubles();
          for (std::size_t k = 0; k < a.size(); ++k) {
            const std::string where = std::string(name(dtype)) + " rows of " + std::to_string(length) + " from " + std::to_string(begin) + ", output " + std::to_string(output) + ", element " + std::to_string(k);
            if (output < 3) ASSERT_EQ(a[k], b[k]) << where;
            else ASSERT_NEAR(a[k], b[k], (is_half(dtype) ? 8e-3 : 1e-5) * std::max(1.0, std::abs(b[k]))) << where;
          }
        }
      }
    }
  }
}

TEST_F(EmulatedGpuOnCpu, GivesEqualShortRowsEqualBitsWhereverTheyBegin) {
  const Variable x = matrix("x");
  const Function f = function({x}, {softmax(x), sum(x, 1)}, {.device = gpu_});
  for (const std::int64_t length : {3, 7, 10, 30}) {
    std::vector<float> values{0};
    for (std::int64_t i = 0; i < 400 * length; ++i) values.push_back(std::sin(static_cast<float>(i % length * 5 + 1)));
    const Array all = Array::from(values, gpu_);
    const Array moved = all.slice({{1, 1 + 400 * length}}).reshape({400, length});
    std::vector<std::vector<double>> of_one;
    for (const Array& given : {moved, moved.copy()}) {
      const auto found = f.call<2>(given);
      for (std::size_t output = 0; output < 2; ++output) {
        const std::vector<double> all_rows = found[output].to_doubles();
        const std::size_t each = all_rows.size() / 400;
        for (std::size_t row = 0; row < 400; ++row) {
          const std::vector<double> one(all_rows.begin() + static_cast<std::ptrdiff_t>(row * each), all_rows.begin() + static_cast<std::ptrdiff_t>((row + 1) * each));
          if (of_one.size() <= output) of_one.push_back(one);
          ASSERT_EQ(one, of_one[output]) << length << ", row " << row;
        }
      }
    }
  }
}

/// Rows, and tiles of columns, that the blocks of a cluster share, one cluster a row or some that stay.
TEST_F(EmulatedGpuOnCpu, RunsClusters) {
  if (gpu_.properties().architecture != "sm_100") GTEST_SKIP() << "has no clusters";
  const Variable x = matrix("x");
  const auto rows = [](const Variable& v) -> std::vector<Variable> { return {softmax(v), var(v, 1), argmax(v, 1)}; };
  struct Case {
    const char* name;
    std::vector<Variable> outputs;
    Shape shape;
    const char* layout;
  };
  const Case cases[] = {{"rows", rows(x), {3, 100003}, "in 8 blocks"},
                        {"rows that stay", {softmax(x), sum(x * x, 1)}, {26, 65536}, "blocks that stay"},
                        {"columns", {softmax(transpose(x))}, {50257, 2}, "beside each other in "},
                        {"columns with several results", rows(transpose(x)), {50257, 2}, "beside each other in "},
                        {"columns that stay", {softmax(transpose(x)), max(x, 0)}, {2100, 900}, "blocks that stay"}};
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    std::vector<float> values;
    for (std::int64_t i = 0; i < one.shape.size(); ++i) values.push_back(3 * std::sin(static_cast<float>(i) * 1.37f));
    const Array given = Array::from(values, one.shape, cpu());
    const Function f = function({x}, one.outputs, {.device = gpu_}), expected = function({x}, one.outputs, {.device = cpu()});
    const Results found = f.call(std::vector<Array>{given.to(gpu_)}), wanted = expected.call(std::vector<Array>{given});
    EXPECT_THAT(f.explain(), HasSubstr(one.layout));
    for (std::size_t output = 0; output < found.size(); ++output) {
      const std::vector<double> a = found[output].to_doubles(), b = wanted[output].to_doubles();
      for (std::size_t k = 0; k < a.size(); ++k) ASSERT_NEAR(a[k], b[k], 1e-5 * std::abs(b[k])) << "output " << output << ", element " << k;
    }
  }
}

TEST_F(EmulatedGpuOnCpu, RefusesWhatTheArchitectureDoes) {
  const Kernel kernel = Module(gpu_, "extern \"C\" __global__ void k(float* y) { extern __shared__ float s[]; s[threadIdx.x] = 1; y[threadIdx.x] = s[threadIdx.x]; }").kernel("k");
  const Array y = Array::zeros({32}, float32, gpu_);
  const std::size_t most = gpu_.properties().max_shared_bytes;
  kernel({.block = {32}, .shared_bytes = most}, y);
  EXPECT_THAT(error_of([&] { kernel({.block = {32}, .shared_bytes = most + 4}, y); }), HasSubstr("shared"));
  EXPECT_THAT(error_of([&] { kernel({.block = {2048}}, y); }), HasSubstr("2048"));
}

}  // namespace
}  // namespace damo
