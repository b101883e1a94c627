// What is declared of cuDNN against its header, where that is installed.
#include "runtime/cuda/cudnn_library.hpp"

#include <type_traits>

#include <gtest/gtest.h>

#if __has_include(<cudnn.h>) && __has_include(<driver_types.h>)
#include <cudnn.h>
#define DAMO_HAS_CUDNN_HEADER 1
#endif

namespace damo::cuda_backend {
namespace {

TEST(CudnnLibrary, IsDeclaredAsItsHeaderDoes) {
#ifndef DAMO_HAS_CUDNN_HEADER
  GTEST_SKIP() << "needs cudnn.h";
#else
  static_assert(CUDNN_MAJOR == 9 && CUDNN_STATUS_SUCCESS == 0);
  static_assert(kCudnnReal32 == CUDNN_DATA_FLOAT && kCudnnReal64 == CUDNN_DATA_DOUBLE && kCudnnReal16 == CUDNN_DATA_HALF && kCudnnBfloat16 == CUDNN_DATA_BFLOAT16);
  static_assert(kCudnnDefaultMath == CUDNN_DEFAULT_MATH && kCudnnTensorMath == CUDNN_TENSOR_OP_MATH && kCudnnFmaMath == CUDNN_FMA_MATH);
  static_assert(kCudnnCOrder == CUDNN_TENSOR_NCHW && kCudnnCrossCorrelation == CUDNN_CROSS_CORRELATION);
  static_assert(kCudnnForwardGemm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM && kCudnnForwardIndexedGemm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM &&
                kCudnnForwardWindowsGemm == CUDNN_CONVOLUTION_FWD_ALGO_GEMM && kCudnnByInputGemm == CUDNN_CONVOLUTION_BWD_DATA_ALGO_1 &&
                kCudnnByWeightGemm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1);
  // As in cublas_library_test.cpp: types alone, so that nothing of the library is linked.
  const auto same = []<class R, class... A, class S, class... B>(R (*)(A...), S (*)(B...)) {
    static_assert(sizeof...(A) == sizeof...(B) && sizeof(R) == sizeof(S));
    return ((sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>) && ...);
  };
  const CudnnLibrary library;
  EXPECT_TRUE(same(library.version, decltype(&cudnnGetVersion){}));
  EXPECT_TRUE(same(library.error_string, decltype(&cudnnGetErrorString){}));
  EXPECT_TRUE(same(library.create, decltype(&cudnnCreate){}));
  EXPECT_TRUE(same(library.set_stream, decltype(&cudnnSetStream){}));
  EXPECT_TRUE(same(library.tensor_create, decltype(&cudnnCreateTensorDescriptor){}));
  EXPECT_TRUE(same(library.tensor_destroy, decltype(&cudnnDestroyTensorDescriptor){}));
  EXPECT_TRUE(same(library.tensor_set, decltype(&cudnnSetTensorNdDescriptor){}));
  EXPECT_TRUE(same(library.filter_create, decltype(&cudnnCreateFilterDescriptor){}));
  EXPECT_TRUE(same(library.filter_destroy, decltype(&cudnnDestroyFilterDescriptor){}));
  EXPECT_TRUE(same(library.filter_set, decltype(&cudnnSetFilterNdDescriptor){}));
  EXPECT_TRUE(same(library.convolution_create, decltype(&cudnnCreateConvolutionDescriptor){}));
  EXPECT_TRUE(same(library.convolution_destroy, decltype(&cudnnDestroyConvolutionDescriptor){}));
  EXPECT_TRUE(same(library.convolution_set, decltype(&cudnnSetConvolutionNdDescriptor){}));
  EXPECT_TRUE(same(library.convolution_set_math, decltype(&cudnnSetConvolutionMathType){}));
  EXPECT_TRUE(same(library.convolution_set_groups, decltype(&cudnnSetConvolutionGroupCount){}));
  EXPECT_TRUE(same(library.forward_workspace, decltype(&cudnnGetConvolutionForwardWorkspaceSize){}));
  EXPECT_TRUE(same(library.by_input_workspace, decltype(&cudnnGetConvolutionBackwardDataWorkspaceSize){}));
  EXPECT_TRUE(same(library.by_weight_workspace, decltype(&cudnnGetConvolutionBackwardFilterWorkspaceSize){}));
  EXPECT_TRUE(same(library.forward, decltype(&cudnnConvolutionForward){}));
  EXPECT_TRUE(same(library.by_input, decltype(&cudnnConvolutionBackwardData){}));
  EXPECT_TRUE(same(library.by_weight, decltype(&cudnnConvolutionBackwardFilter){}));
#endif
}

}  // namespace
}  // namespace damo::cuda_backend
