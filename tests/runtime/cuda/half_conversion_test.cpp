// The prelude's types of 16 bits and of 8 against the host's (half.hpp, float8.hpp), over every value that they can hold and every kind of
// rounding.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include <damo/float8.hpp>
#include <damo/half.hpp>

#include "on_cuda.hpp"

namespace damo::cuda_backend {
namespace {

constexpr const char* kConversions = R"(
template <class T> __device__ void widen(const T* from, float* to) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = float(from[i]);
}
template <class T> __device__ void narrow(const float* from, T* to) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = T(from[i]);
}
extern "C" __global__ void widen_half(const half* from, float* to) { widen(from, to); }
extern "C" __global__ void widen_bfloat16(const bfloat16* from, float* to) { widen(from, to); }
extern "C" __global__ void widen_float8_e4m3(const float8_e4m3* from, float* to) { widen(from, to); }
extern "C" __global__ void widen_float8_e5m2(const float8_e5m2* from, float* to) { widen(from, to); }
extern "C" __global__ void narrow_float8_e4m3(const float* from, float8_e4m3* to) { narrow(from, to); }
extern "C" __global__ void narrow_float8_e5m2(const float* from, float8_e5m2* to) { narrow(from, to); }
extern "C" __global__ void narrow_half(const float* from, half* to) { narrow(from, to); }
extern "C" __global__ void narrow_bfloat16(const float* from, bfloat16* to) { narrow(from, to); }
)";

class HalfConversionOnCuda : public OnCudaTest {
 protected:
  template <class To, class From>
  std::vector<To> convert(const LoadedKernel& kernel, const std::vector<From>& values) {
    From* from = upload(values);
    auto* to = static_cast<To*>(backend_->allocate(values.size() * sizeof(To)));
    void* arguments[] = {&from, &to};
    backend_->launch(kernel, {.grid = {static_cast<std::int64_t>(values.size() / 256)}, .block = {256}}, arguments,
                     nullptr);
    auto result = download(to, values.size());
    backend_->release(from);
    backend_->release(to);
    return result;
  }

  std::shared_ptr<const LoadedKernel> kernel_named(const std::string& name) {
    return load(kConversions, {}, SourceKind::kGenerated)->kernel(name);
  }

  template <class Half16>
  void widen_all(const std::string& kernel_name) {
    using Bits = decltype(Half16::bits);
    constexpr std::uint32_t kCount = 1u << (8 * sizeof(Bits));
    std::vector<Half16> values(kCount);
    for (std::uint32_t bits = 0; bits < kCount; ++bits) values[bits].bits = static_cast<Bits>(bits);
    const auto got = convert<float>(*kernel_named(kernel_name), values);
    for (std::uint32_t bits = 0; bits < kCount; ++bits) {
      const float want = values[bits];
      if (std::isnan(want))
        EXPECT_TRUE(std::isnan(got[bits])) << bits;
      else
        EXPECT_EQ(std::bit_cast<std::uint32_t>(got[bits]), std::bit_cast<std::uint32_t>(want)) << bits;
    }
  }

  /// All 2^32 floats in 16 pieces.
  template <class Half16>
  void narrow_all(const std::string& kernel_name) {
    std::vector<float> values(std::size_t{1} << 28);
    const auto kernel = kernel_named(kernel_name);
    std::size_t wrong = 0;
    for (std::uint32_t piece = 0; piece < 16 && wrong == 0; ++piece) {
      for (std::uint32_t i = 0; i < values.size(); ++i) values[i] = std::bit_cast<float>((piece << 28) + i);
      const auto got = convert<decltype(Half16::bits)>(*kernel, values);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const Half16 want(values[i]);
        if (got[i] == want.bits) continue;
        Half16 value;
        value.bits = got[i];
        if (sizeof want == 2 && std::isnan(values[i]) && std::isnan(static_cast<float>(value))) continue;  // 8 bits have one NaN that floats become
        if (++wrong < 10) ADD_FAILURE() << values[i] << " gives " << int{got[i]} << ", not " << int{want.bits};
      }
    }
    EXPECT_EQ(wrong, 0u);
  }
};

TEST_F(HalfConversionOnCuda, WidensEveryHalf) { widen_all<Half>("widen_half"); }
TEST_F(HalfConversionOnCuda, WidensEveryBFloat16) { widen_all<BFloat16>("widen_bfloat16"); }
TEST_F(HalfConversionOnCuda, WidensEveryFloatOf8Bits) {
  widen_all<Float8E4M3>("widen_float8_e4m3");
  widen_all<Float8E5M2>("widen_float8_e5m2");
}
TEST_F(HalfConversionOnCuda, RoundsEveryFloatToFloat8E4M3AsTheHostDoes) { narrow_all<Float8E4M3>("narrow_float8_e4m3"); }
TEST_F(HalfConversionOnCuda, RoundsEveryFloatToFloat8E5M2AsTheHostDoes) { narrow_all<Float8E5M2>("narrow_float8_e5m2"); }
TEST_F(HalfConversionOnCuda, RoundsEveryFloatToHalfAsTheHostDoes) { narrow_all<Half>("narrow_half"); }
TEST_F(HalfConversionOnCuda, RoundsEveryFloatToBFloat16AsTheHostDoes) { narrow_all<BFloat16>("narrow_bfloat16"); }

}  // namespace
}  // namespace damo::cuda_backend
