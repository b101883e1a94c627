// What is declared of cuSOLVER and cuBLAS against their headers, where these are installed.
#include "runtime/cuda/cusolver_library.hpp"

#include <type_traits>

#include <gtest/gtest.h>

#if __has_include(<cusolverDn.h>) && __has_include(<cublas_v2.h>)
#include <cublas_v2.h>
#include <cusolverDn.h>
#define DAMO_HAS_CUSOLVER_HEADER 1
#endif

namespace damo::cuda_backend {
namespace {

TEST(CusolverLibrary, IsDeclaredAsItsHeadersDo) {
#ifndef DAMO_HAS_CUSOLVER_HEADER
  GTEST_SKIP() << "needs cusolverDn.h and cublas_v2.h";
#else
  static_assert(kTriangleLower == CUBLAS_FILL_MODE_LOWER && kTriangleUpper == CUBLAS_FILL_MODE_UPPER && kAsItIs == CUBLAS_OP_N && kTransposed == CUBLAS_OP_T &&
                kFromTheLeft == CUBLAS_SIDE_LEFT && kAnyDiagonal == CUBLAS_DIAG_NON_UNIT && kUnitDiagonal == CUBLAS_DIAG_UNIT && kWithVectors == CUSOLVER_EIG_MODE_VECTOR);
  // The same number of arguments, each of the same size, pointers to the same: types alone, so that nothing of the libraries is linked.
  const auto same = []<class R, class... A, class S, class... B>(R (*)(A...), S (*)(B...)) {
    static_assert(sizeof...(A) == sizeof...(B) && sizeof(R) == sizeof(S));
    return ((sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B> &&
             (!std::is_arithmetic_v<std::remove_pointer_t<A>> || std::is_same_v<std::remove_cv_t<std::remove_pointer_t<A>>, std::remove_cv_t<std::remove_pointer_t<B>>> || std::is_enum_v<B>)) &&
            ...);
  };
  const CusolverLibrary library;
  EXPECT_TRUE(same(library.create, decltype(&cusolverDnCreate){}));
  EXPECT_TRUE(same(library.set_stream, decltype(&cusolverDnSetStream){}));
  EXPECT_TRUE(same(library.blas_create, decltype(&cublasCreate_v2){}));
  EXPECT_TRUE(same(library.blas_set_stream, decltype(&cublasSetStream_v2){}));
#define DAMO_SAME(letter, functions)                                                                     \
  EXPECT_TRUE(same(functions.potrf_size, decltype(&cusolverDn##letter##potrf_bufferSize){}));            \
  EXPECT_TRUE(same(functions.potrf, decltype(&cusolverDn##letter##potrf){}));                            \
  EXPECT_TRUE(same(functions.getrf_size, decltype(&cusolverDn##letter##getrf_bufferSize){}));            \
  EXPECT_TRUE(same(functions.getrf, decltype(&cusolverDn##letter##getrf){}));                            \
  EXPECT_TRUE(same(functions.getrs, decltype(&cusolverDn##letter##getrs){}));                            \
  EXPECT_TRUE(same(functions.geqrf_size, decltype(&cusolverDn##letter##geqrf_bufferSize){}));            \
  EXPECT_TRUE(same(functions.geqrf, decltype(&cusolverDn##letter##geqrf){}));                            \
  EXPECT_TRUE(same(functions.orgqr_size, decltype(&cusolverDn##letter##orgqr_bufferSize){}));            \
  EXPECT_TRUE(same(functions.orgqr, decltype(&cusolverDn##letter##orgqr){}));                            \
  EXPECT_TRUE(same(functions.gesvd_size, decltype(&cusolverDn##letter##gesvd_bufferSize){}));            \
  EXPECT_TRUE(same(functions.gesvd, decltype(&cusolverDn##letter##gesvd){}));                            \
  EXPECT_TRUE(same(functions.syevd_size, decltype(&cusolverDn##letter##syevd_bufferSize){}));            \
  EXPECT_TRUE(same(functions.syevd, decltype(&cusolverDn##letter##syevd){}));                            \
  EXPECT_TRUE(same(functions.trsm, decltype(&cublas##letter##trsm_v2){}))
  DAMO_SAME(S, library.single);
  DAMO_SAME(D, library.real);
#undef DAMO_SAME
#endif
}

}  // namespace
}  // namespace damo::cuda_backend
