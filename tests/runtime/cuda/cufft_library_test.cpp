// What is declared of cuFFT against its header, where it is installed.
#include "runtime/cuda/cufft_library.hpp"

#include <type_traits>

#include <gtest/gtest.h>

#if __has_include(<cufft.h>)
#include <cufft.h>
#define DAMO_HAS_CUFFT_HEADER 1
#endif

namespace damo::cuda_backend {
namespace {

TEST(CufftLibrary, IsDeclaredAsItsHeaderDoes) {
#ifndef DAMO_HAS_CUFFT_HEADER
  GTEST_SKIP() << "needs cufft.h";
#else
  static_assert(kCufftForward == CUFFT_FORWARD && kCufftInverse == CUFFT_INVERSE);
  static_assert(kCufftComplex == CUFFT_C2C && kCufftRealToComplex == CUFFT_R2C && kCufftComplexToReal == CUFFT_C2R);
  static_assert(kCufftComplex64 == CUFFT_Z2Z && kCufftRealToComplex64 == CUFFT_D2Z && kCufftComplexToReal64 == CUFFT_Z2D);
  // The same number of arguments, each of the same size, pointers to the same: types alone, so that nothing of the library is linked.
  const auto same = []<class R, class... A, class S, class... B>(R (*)(A...), S (*)(B...)) {
    static_assert(sizeof...(A) == sizeof...(B) && sizeof(R) == sizeof(S));
    return ((sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>)&&...);
  };
  const CufftLibrary library;
  EXPECT_TRUE(same(library.create, decltype(&cufftCreate){}));
  EXPECT_TRUE(same(library.set_auto_allocation, decltype(&cufftSetAutoAllocation){}));
  EXPECT_TRUE(same(library.make_plan, decltype(&cufftMakePlanMany64){}));
  EXPECT_TRUE(same(library.set_work_area, decltype(&cufftSetWorkArea){}));
  EXPECT_TRUE(same(library.set_stream, decltype(&cufftSetStream){}));
  EXPECT_TRUE(same(library.destroy, decltype(&cufftDestroy){}));
  EXPECT_TRUE(same(library.complex, decltype(&cufftExecC2C){}));
  EXPECT_TRUE(same(library.real_to_complex, decltype(&cufftExecR2C){}));
  EXPECT_TRUE(same(library.complex_to_real, decltype(&cufftExecC2R){}));
  EXPECT_TRUE(same(library.complex64, decltype(&cufftExecZ2Z){}));
  EXPECT_TRUE(same(library.real_to_complex64, decltype(&cufftExecD2Z){}));
  EXPECT_TRUE(same(library.complex_to_real64, decltype(&cufftExecZ2D){}));
#endif
}

}  // namespace
}  // namespace damo::cuda_backend
