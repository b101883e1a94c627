// The emulated GPU itself: what it makes of PTX, and that what runs on it is what the CUDA back end generates. What else runs there: tests/CMakeLists.txt.
#include <damo/damo.hpp>

#include <cmath>
#include <vector>

#include <gmock/gmock.h>

#include "emulated_gpu/gpu/translate.hpp"
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
  EXPECT_THAT(gpu_.properties().architecture, ::testing::AnyOf("sm_75", "sm_80", "sm_86"));
}

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
