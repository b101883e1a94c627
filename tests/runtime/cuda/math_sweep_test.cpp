// Sweeps all 2^32 floats through the CUDA prelude's own functions on a GPU, against CUDA's double precision, and
// times the fused chain exp(-z z) + tanh(y c) for each form of tanh. Label: cuda. Without a GPU it is skipped; that
// the kernels compile is tested wherever NVRTC is.
#include <cuda_runtime.h>
#include <gtest/gtest.h>
#include <nvrtc.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

// One thread takes every 2^20th pattern. worst keeps the largest error, in 2^-16 ulp, above the pattern that has it.
const char* const kKernels = R"cuda(
__device__ double ulps(float got, double want) {
  if (want != want) return got != got ? 0.0 : 1e6;
  if (got != got) return 2e6;
  const double size = fabs(want);
  if (isinf(got)) return size >= 3.4028235677973366e38 && (got > 0) == (want > 0) ? 0.0 : 3e6;
  if (isinf(want)) return 4e6;
  if (want == 0.0 && got == 0.0f) return signbit(want) == signbit(got) ? 0.0 : 5e6;
  int e;
  frexp(size, &e);
  e = size == 0.0 ? -126 : e - 1;
  e = e < -126 ? -126 : (e > 127 ? 127 : e);
  return fabs(double(got) - want) * ldexp(1.0, 23 - e);
}
__device__ double sigmoid_of(double x) { return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)); }
__device__ double softplus_of(double x) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); }

#define SWEEP(name, mine, truth)                                                          \
  extern "C" __global__ void sweep_##name(unsigned long long* worst) {                    \
    const unsigned start = blockIdx.x * blockDim.x + threadIdx.x;                         \
    unsigned long long most = 0;                                                          \
    for (unsigned k = 0; k < 4096; ++k) {                                                 \
      const unsigned pattern = start + (k << 20);                                         \
      const float x = __uint_as_float(pattern);                                           \
      const double u = ulps(mine(x), truth(double(x)));                                   \
      const unsigned long long here = ((unsigned long long)(fmin(u, 60000.0) * 65536.0) << 32) | pattern; \
      most = here > most ? here : most;                                                   \
    }                                                                                     \
    atomicMax(worst, most);                                                               \
  }
SWEEP(cuda_tanh, ::tanh, ::tanh)
SWEEP(cuda_exp, ::exp, ::exp)
SWEEP(tanh, damo::tanh, ::tanh)
SWEEP(exp, damo::exp, ::exp)
SWEEP(sigmoid, damo::sigmoid, sigmoid_of)
SWEEP(softplus, damo::softplus, softplus_of)

// The two approximations everything rests on: relative error in 2^-24, over the arguments that tanh gives them.
extern "C" __global__ void sweep_units(unsigned long long* worst) {
  const unsigned start = blockIdx.x * blockDim.x + threadIdx.x;
  for (unsigned k = 0; k < 64; ++k) {
    const float t = __uint_as_float(0x3f800000u + start + (k << 20));  // from 1 up
    if (t > 64.0f) break;
    const double e = exp2(double(t)), r = 1.0 / double(t);
    atomicMax(worst, (unsigned long long)(fabs(damo::math::fast_exp2(t) / e - 1.0) * 16777216.0 * 65536.0));
    atomicMax(worst + 1, (unsigned long long)(fabs(damo::math::fast_reciprocal(t) / r - 1.0) * 16777216.0 * 65536.0));
  }
}

#define CHAIN(name, space)                                                                                    \
  extern "C" __global__ void chain_##name(const float4* x, const float4* y, float4* out) {                    \
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                                 \
    float4 a = x[i], b = y[i];                                                                                \
    float* z = &a.x;                                                                                          \
    float* w = &b.x;                                                                                          \
    _Pragma("unroll") for (int j = 0; j < 4; ++j) {                                                           \
      _Pragma("unroll") for (int k = 0; k < 20; ++k)                                                          \
          z[j] = k % 2 ? space exp(-z[j] * z[j]) + space tanh(w[j] * (0.1f * k)) : z[j] * w[j] + 0.01f * k;   \
    }                                                                                                         \
    out[i] = a;                                                                                               \
  }
CHAIN(cuda, ::)
CHAIN(damo, damo::)
)cuda";

std::string prelude() {
  std::ifstream file(DAMO_CUDA_PRELUDE_DIR "/math.h");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Cubin {
  bool ok = false;
  std::string log, code;
};
Cubin compile(const std::vector<const char*>& extra) {
  std::vector<const char*> options = {"-arch=sm_90", "-default-device", "-std=c++17", "-minimal"};
  options.insert(options.end(), extra.begin(), extra.end());
  const std::string source = prelude() + kKernels;
  nvrtcProgram program = nullptr;
  Cubin result;
  if (nvrtcCreateProgram(&program, source.c_str(), "math_sweep.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS) return result;
  result.ok = nvrtcCompileProgram(program, int(options.size()), options.data()) == NVRTC_SUCCESS;
  std::size_t size = 0;
  nvrtcGetProgramLogSize(program, &size);
  result.log.resize(size);
  nvrtcGetProgramLog(program, result.log.data());
  if (result.ok) {
    nvrtcGetCUBINSize(program, &size);
    result.code.resize(size);
    nvrtcGetCUBIN(program, result.code.data());
  }
  nvrtcDestroyProgram(&program);
  return result;
}

bool has_gpu() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

// A compiled prelude on the device; kernels by name.
class Kernels {
 public:
  explicit Kernels(const std::string& code) {
    EXPECT_EQ(cudaLibraryLoadData(&library_, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0), cudaSuccess);
  }
  ~Kernels() { cudaLibraryUnload(library_); }
  cudaKernel_t operator[](const char* name) const {
    cudaKernel_t kernel = nullptr;
    EXPECT_EQ(cudaLibraryGetKernel(&kernel, library_, name), cudaSuccess) << name;
    return kernel;
  }

 private:
  cudaLibrary_t library_ = nullptr;
};

struct Form {
  const char* name;
  std::vector<const char*> options;
};
const Form kForms[] = {{"tanh with two special function calls", {}},
                       {"tanh, longer near side", {"-DDAMO_TANH_LONG"}},
                       {"tanh with one", {"-DDAMO_TANH_ONE_SPECIAL"}}};

TEST(CudaMath, CompilesInEveryForm) {
  for (const Form& form : kForms) {
    const Cubin cubin = compile(form.options);
    EXPECT_TRUE(cubin.ok) << form.name << "\n" << cubin.log;
  }
}

TEST(CudaMath, StaysWithinTwoUlpOverAllFloats) {
  if (!has_gpu()) GTEST_SKIP() << "no CUDA device";
  // Bounds in ulp. sigmoid and softplus rest on CUDA's exp, whose own error they pass on.
  const std::map<std::string, double> bounds = {{"cuda_tanh", 2}, {"cuda_exp", 2}, {"tanh", 2}, {"exp", 2}, {"sigmoid", 2.5}, {"softplus", 2.5}};
  unsigned long long* worst = nullptr;
  ASSERT_EQ(cudaHostAlloc(&worst, 16, cudaHostAllocMapped), cudaSuccess);
  for (const Form& form : kForms) {
    const Cubin cubin = compile(form.options);
    ASSERT_TRUE(cubin.ok) << cubin.log;
    const Kernels kernels(cubin.code);
    void* arguments[] = {&worst};
    for (const auto& [name, bound] : bounds) {
      worst[0] = 0;
      ASSERT_EQ(cudaLaunchKernel(reinterpret_cast<void*>(kernels[("sweep_" + name).c_str()]), dim3(4096), dim3(256), arguments, 0, nullptr), cudaSuccess);
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      const double ulps = double(worst[0] >> 32) / 65536.0;
      const std::uint32_t pattern = std::uint32_t(worst[0]);
      float x;
      std::memcpy(&x, &pattern, 4);
      std::printf("%-38s %-10s %.3f ulp at %a (%.9g)\n", form.name, name.c_str(), ulps, double(x), double(x));
      EXPECT_LE(ulps, bound) << form.name << ": " << name << " at " << x;
    }
    worst[0] = worst[1] = 0;
    ASSERT_EQ(cudaLaunchKernel(reinterpret_cast<void*>(kernels["sweep_units"]), dim3(4096), dim3(256), arguments, 0, nullptr), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    std::printf("relative error in 2^-24: ex2.approx %.3f, rcp.approx %.3f\n", double(worst[0]) / 65536.0, double(worst[1]) / 65536.0);
  }
  cudaFreeHost(worst);
}

TEST(CudaMath, TimesTheFusedChain) {
  if (!has_gpu()) GTEST_SKIP() << "no CUDA device";
  constexpr std::size_t kElements = std::size_t(1) << 27;
  float *x = nullptr, *y = nullptr, *out = nullptr;
  for (float** p : {&x, &y, &out}) ASSERT_EQ(cudaMalloc(p, kElements * sizeof(float)), cudaSuccess);
  ASSERT_EQ(cudaMemset(x, 0x3e, kElements * sizeof(float)), cudaSuccess);  // 0.1857...
  ASSERT_EQ(cudaMemset(y, 0x3f, kElements * sizeof(float)), cudaSuccess);  // 0.7470...
  cudaEvent_t start, stop;
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  for (const Form& form : kForms) {
    const Cubin cubin = compile(form.options);
    ASSERT_TRUE(cubin.ok) << cubin.log;
    const Kernels kernels(cubin.code);
    void* arguments[] = {&x, &y, &out};
    for (const char* name : {"chain_cuda", "chain_damo"}) {
      float best = 1e9f;
      for (int run = 0; run < 20; ++run) {
        cudaEventRecord(start);
        ASSERT_EQ(cudaLaunchKernel(reinterpret_cast<void*>(kernels[name]), dim3(kElements / 4 / 256), dim3(256), arguments, 0, nullptr), cudaSuccess);
        cudaEventRecord(stop);
        ASSERT_EQ(cudaEventSynchronize(stop), cudaSuccess);
        float ms = 0;
        cudaEventElapsedTime(&ms, start, stop);
        best = ms < best ? ms : best;
      }
      std::printf("%-38s %-10s %.0f us for 2^27 elements\n", form.name, name, 1000.0 * best);
    }
  }
  for (float* p : {x, y, out}) cudaFree(p);
}

}  // namespace
