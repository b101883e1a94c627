// What is declared of cuBLASLt against its header, where that is installed; and what its absence says.
#include "runtime/cuda/cublas_library.hpp"

#include <type_traits>

#include <gtest/gtest.h>

#include "support/scratch_directory.hpp"

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#define DAMO_HAS_CUBLAS_HEADER 1
#endif

namespace damo::cuda_backend {
namespace {

TEST(CublasLibrary, IsDeclaredAsItsHeaderDoes) {
#ifndef DAMO_HAS_CUBLAS_HEADER
  GTEST_SKIP() << "needs cublasLt.h";
#else
  static_assert(kCublasReal32 == CUDA_R_32F && kCublasReal64 == CUDA_R_64F && kCublasReal16 == CUDA_R_16F && kCublasInt8 == CUDA_R_8I && kCublasInt32 == CUDA_R_32I &&
                kCublasBfloat16 == CUDA_R_16BF && kCublasReal8E4M3 == CUDA_R_8F_E4M3 && kCublasReal8E5M2 == CUDA_R_8F_E5M2);
  static_assert(kCompute32 == CUBLAS_COMPUTE_32F && kCompute64 == CUBLAS_COMPUTE_64F && kComputeInt32 == CUBLAS_COMPUTE_32I && kCompute32FastTf32 == CUBLAS_COMPUTE_32F_FAST_TF32);
  static_assert(kDescTransposeA == CUBLASLT_MATMUL_DESC_TRANSA && kDescTransposeB == CUBLASLT_MATMUL_DESC_TRANSB && kDescEpilogue == CUBLASLT_MATMUL_DESC_EPILOGUE &&
                kDescBiasPointer == CUBLASLT_MATMUL_DESC_BIAS_POINTER);
  static_assert(kLayoutBatchCount == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && kLayoutBatchStride == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
  static_assert(kPreferenceWorkspace == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES && kPreferenceAlignmentA == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES &&
                kPreferenceAlignmentB == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES && kPreferenceAlignmentC == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES &&
                kPreferenceAlignmentD == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
  static_assert(kPreferenceReductions == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK && kReductionOfComputeType == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
  static_assert(kEpilogueDefault == CUBLASLT_EPILOGUE_DEFAULT && kEpilogueBias == CUBLASLT_EPILOGUE_BIAS && kEpilogueGelu == CUBLASLT_EPILOGUE_GELU);
  static_assert((kEpilogueGelu | kEpilogueBias) == CUBLASLT_EPILOGUE_GELU_BIAS && CUBLAS_OP_N == 0 && CUBLAS_OP_T == 1);
  static_assert(sizeof(CublasAlgorithm) == sizeof(cublasLtMatmulAlgo_t) && sizeof(CublasHeuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
  static_assert(offsetof(CublasHeuristic, workspace_bytes) == offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize) &&
                offsetof(CublasHeuristic, state) == offsetof(cublasLtMatmulHeuristicResult_t, state) && CUBLAS_STATUS_SUCCESS == 0);
  // Each enumeration is an int and each object a pointer: the same number of arguments, each of the same size, in the same order. Types
  // alone are compared, so that nothing of the library is linked.
  const auto same = []<class R, class... A, class S, class... B>(R (*)(A...), S (*)(B...)) {
    static_assert(sizeof...(A) == sizeof...(B) && sizeof(R) == sizeof(S));
    return ((sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>) && ...);
  };
  const CublasLibrary library;
  EXPECT_TRUE(same(library.status_name, decltype(&cublasLtGetStatusName){}));
  EXPECT_TRUE(same(library.create, decltype(&cublasLtCreate){}));
  EXPECT_TRUE(same(library.desc_create, decltype(&cublasLtMatmulDescCreate){}));
  EXPECT_TRUE(same(library.desc_destroy, decltype(&cublasLtMatmulDescDestroy){}));
  EXPECT_TRUE(same(library.desc_set, decltype(&cublasLtMatmulDescSetAttribute){}));
  EXPECT_TRUE(same(library.layout_create, decltype(&cublasLtMatrixLayoutCreate){}));
  EXPECT_TRUE(same(library.layout_destroy, decltype(&cublasLtMatrixLayoutDestroy){}));
  EXPECT_TRUE(same(library.layout_set, decltype(&cublasLtMatrixLayoutSetAttribute){}));
  EXPECT_TRUE(same(library.preference_create, decltype(&cublasLtMatmulPreferenceCreate){}));
  EXPECT_TRUE(same(library.preference_destroy, decltype(&cublasLtMatmulPreferenceDestroy){}));
  EXPECT_TRUE(same(library.preference_set, decltype(&cublasLtMatmulPreferenceSetAttribute){}));
  EXPECT_TRUE(same(library.heuristics, decltype(&cublasLtMatmulAlgoGetHeuristic){}));
  EXPECT_TRUE(same(library.check, decltype(&cublasLtMatmulAlgoCheck){}));
  EXPECT_TRUE(same(library.matmul, decltype(&cublasLtMatmul){}));
#endif
}

TEST(CublasLibrary, IsExpectedWhereItIsLookedForAndNobodyNamesAnother) {
  const testing::Environment none("DAMO_CUBLASLT_PATH", "none");
  EXPECT_FALSE(has_cublas_file()) << "what a user names is opened at once, so that function() tells what is wrong with it";
  const testing::ScratchDirectory empty;
  const testing::Environment elsewhere("DAMO_CUBLASLT_PATH", empty.path().c_str());
  EXPECT_FALSE(has_cublas_file());
}

}  // namespace
}  // namespace damo::cuda_backend
