// libcudnn.so.9, found where NVRTC is (nvrtc_library.hpp), by the system's loader or by DAMO_CUDNN_PATH, and opened at the first convolution on a GPU. It opens
// the libraries that do the work, several hundred MB, from its own directory. Declared here after NVIDIA's documentation, as cuBLASLt is
// (cublas_library.hpp); where there are headers, tests/runtime/cuda/cudnn_library_test.cpp holds the two against each other. Thread-safe.
//
// What is declared are the calls that take an algorithm by number, which every cuDNN 9 has. Its newer graphs of operations would also take borders that differ
// in front and behind; but there an engine is whatever a heuristic offers, while of these algorithms NVIDIA says which add in a fixed order.
#pragma once
#include <cuda.h>

#include <cstddef>
#include <string>

namespace damo::cuda_backend {

inline constexpr int kCudnnReal32 = 0, kCudnnReal64 = 1, kCudnnReal16 = 2, kCudnnBfloat16 = 9;
inline constexpr int kCudnnDefaultMath = 0, kCudnnTensorMath = 1, kCudnnFmaMath = 3;
inline constexpr int kCudnnCOrder = 0, kCudnnCrossCorrelation = 1;
inline constexpr int kCudnnForwardGemm = 0, kCudnnForwardIndexedGemm = 1, kCudnnForwardWindowsGemm = 2, kCudnnByInputGemm = 1, kCudnnByWeightGemm = 1;

using CudnnHandle = struct CudnnHandleOpaque*;
using CudnnTensor = struct CudnnTensorOpaque*;
using CudnnFilter = struct CudnnFilterOpaque*;
using CudnnConvolution = struct CudnnConvolutionOpaque*;

struct CudnnLibrary {
  std::size_t (*version)() = nullptr;  ///< 91400: 9.14.0
  const char* (*error_string)(int) = nullptr;
  int (*create)(CudnnHandle*) = nullptr;
  int (*set_stream)(CudnnHandle, CUstream) = nullptr;
  int (*tensor_create)(CudnnTensor*) = nullptr;
  int (*tensor_destroy)(CudnnTensor) = nullptr;
  int (*tensor_set)(CudnnTensor, int type, int rank, const int extents[], const int strides[]) = nullptr;
  int (*filter_create)(CudnnFilter*) = nullptr;
  int (*filter_destroy)(CudnnFilter) = nullptr;
  int (*filter_set)(CudnnFilter, int type, int order, int rank, const int extents[]) = nullptr;
  int (*convolution_create)(CudnnConvolution*) = nullptr;
  int (*convolution_destroy)(CudnnConvolution) = nullptr;
  int (*convolution_set)(CudnnConvolution, int axes, const int padding[], const int stride[], const int dilation[], int mode, int type) = nullptr;
  int (*convolution_set_math)(CudnnConvolution, int math) = nullptr;
  int (*convolution_set_groups)(CudnnConvolution, int groups) = nullptr;
  int (*forward_workspace)(CudnnHandle, CudnnTensor x, CudnnFilter w, CudnnConvolution, CudnnTensor y, int algorithm, std::size_t*) = nullptr;
  int (*by_input_workspace)(CudnnHandle, CudnnFilter w, CudnnTensor y, CudnnConvolution, CudnnTensor x, int algorithm, std::size_t*) = nullptr;
  int (*by_weight_workspace)(CudnnHandle, CudnnTensor x, CudnnTensor y, CudnnConvolution, CudnnFilter w, int algorithm, std::size_t*) = nullptr;
  int (*forward)(CudnnHandle, const void* alpha, CudnnTensor, const void* x, CudnnFilter, const void* w, CudnnConvolution, int algorithm, void* workspace, std::size_t bytes,
                 const void* beta, CudnnTensor, void* y) = nullptr;
  int (*by_input)(CudnnHandle, const void* alpha, CudnnFilter, const void* w, CudnnTensor, const void* y, CudnnConvolution, int algorithm, void* workspace, std::size_t bytes,
                  const void* beta, CudnnTensor, void* x) = nullptr;
  int (*by_weight)(CudnnHandle, const void* alpha, CudnnTensor, const void* x, CudnnTensor, const void* y, CudnnConvolution, int algorithm, void* workspace, std::size_t bytes,
                   const void* beta, CudnnFilter, void* w) = nullptr;

  std::string path, name;  ///< "cuDNN 9.14.0, /usr/lib/x86_64-linux-gnu/libcudnn.so.9"
};

/// Null if there is none, which one log line says; opened once. Throws DeviceError for a DAMO_CUDNN_PATH that is no such library.
const CudnnLibrary* cudnn();

/// Throws DeviceError. call: the library's function.
void check_cudnn(int status, const char* call);

}  // namespace damo::cuda_backend
