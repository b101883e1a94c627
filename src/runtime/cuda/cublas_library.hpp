// libcublasLt.so, found where NVRTC is (nvrtc_library.hpp) or by DAMO_CUBLASLT_PATH, and opened at the first matrix product on a GPU: it
// is several hundred MB. Its header belongs to another package than those of the driver and NVRTC and may be missing where Damo is built,
// so what is used of it is declared here, after NVIDIA's documentation; where there is a header, tests/runtime/cuda/cublas_library_test.cpp
// holds the two against each other. Thread-safe.
#pragma once
#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace damo::cuda_backend {

inline constexpr int kCublasReal32 = 0, kCublasReal64 = 1, kCublasReal16 = 2, kCublasInt8 = 3, kCublasInt32 = 10, kCublasBfloat16 = 14, kCublasReal8E4M3 = 28, kCublasReal8E5M2 = 29;
inline constexpr int kCompute32 = 68, kCompute64 = 70, kComputeInt32 = 72, kCompute32FastTf32 = 77;
inline constexpr int kDescTransposeA = 3, kDescTransposeB = 4, kDescEpilogue = 7, kDescBiasPointer = 8;
inline constexpr int kLayoutBatchCount = 5, kLayoutBatchStride = 6;
inline constexpr int kPreferenceWorkspace = 1, kPreferenceReductions = 3, kPreferenceAlignmentA = 5, kPreferenceAlignmentB = 6, kPreferenceAlignmentC = 7, kPreferenceAlignmentD = 8;
inline constexpr std::uint32_t kReductionOfComputeType = 2;
inline constexpr std::uint32_t kEpilogueDefault = 1, kEpilogueBias = 4, kEpilogueGelu = 32;

struct CublasAlgorithm {
  std::uint64_t data[8];
};
struct CublasHeuristic {
  CublasAlgorithm algorithm;
  std::size_t workspace_bytes;
  int state;  ///< a status
  float waves;
  int reserved[4];
};

using CublasHandle = struct CublasHandleOpaque*;
using CublasDesc = struct CublasDescOpaque*;
using CublasLayout = struct CublasLayoutOpaque*;
using CublasPreference = struct CublasPreferenceOpaque*;

struct CublasLibrary {
  std::size_t (*version)() = nullptr;  ///< 130000: 13.0.0
  const char* (*status_name)(int) = nullptr;
  int (*create)(CublasHandle*) = nullptr;
  int (*desc_create)(CublasDesc*, int compute, int scale) = nullptr;
  int (*desc_destroy)(CublasDesc) = nullptr;
  int (*desc_set)(CublasDesc, int attribute, const void* value, std::size_t bytes) = nullptr;
  int (*layout_create)(CublasLayout*, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t leading) = nullptr;
  int (*layout_destroy)(CublasLayout) = nullptr;
  int (*layout_set)(CublasLayout, int attribute, const void* value, std::size_t bytes) = nullptr;
  int (*preference_create)(CublasPreference*) = nullptr;
  int (*preference_destroy)(CublasPreference) = nullptr;
  int (*preference_set)(CublasPreference, int attribute, const void* value, std::size_t bytes) = nullptr;
  int (*heuristics)(CublasHandle, CublasDesc, CublasLayout a, CublasLayout b, CublasLayout c, CublasLayout d, CublasPreference, int wanted, CublasHeuristic*, int* found) = nullptr;
  int (*check)(CublasHandle, CublasDesc, CublasLayout a, CublasLayout b, CublasLayout c, CublasLayout d, const CublasAlgorithm*, CublasHeuristic*) = nullptr;
  int (*matmul)(CublasHandle, CublasDesc, const void* alpha, const void* a, CublasLayout, const void* b, CublasLayout, const void* beta, const void* c, CublasLayout, void* d,
                CublasLayout, const CublasAlgorithm*, void* workspace, std::size_t workspace_bytes, CUstream) = nullptr;

  std::string path, name;  ///< "cuBLASLt 13.0.0, /usr/local/cuda/lib64/libcublasLt.so"
};

/// Null if there is none, which one log line says; opened once. Throws DeviceError for a DAMO_CUBLASLT_PATH that is no such library.
const CublasLibrary* cublas();

/// Whether cublas() will find a file where it looks of itself, which it then opens; the search alone, without the tens of milliseconds that opening takes.
bool has_cublas_file();

/// Throws DeviceError. call: the library's function.
void check_cublas(int status, const char* call);

}  // namespace damo::cuda_backend
