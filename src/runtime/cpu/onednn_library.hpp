// oneDNN by its C interface, of which versions 2 and 3 serve (they differ in what describes a matrix, and in nothing else that is used here): opened at the first product of
// a dtype that it multiplies here, so that a process without one loads nothing. DAMO_ONEDNN_PATH names the library's file, or is `none`; else the distributions' names are tried.
// One log line says what is missing and what to install. Its own threads are never used: GNU's OpenMP, for which distributions build it, has a set of threads for each calling
// thread, which wait by spinning and which a child of fork() waits for in vain. Work is shared out before the library is asked, and a OneDnnThread keeps each call in its thread.
// Thread-safe. See tests/runtime/cpu/onednn_library_test.cpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <damo/dtype.hpp>

#include "runtime/library/matrix_product.hpp"

namespace damo::cpu_backend {

/// Products C = alpha A B + beta C of one call each, for matrices in C order; 'T': the operand is stored with rows and columns exchanged. 0: it went well.
struct OneDnnLibrary {
  int (*sgemm)(char turn_a, char turn_b, std::int64_t m, std::int64_t n, std::int64_t k, float alpha, const float* a, std::int64_t lda, const float* b, std::int64_t ldb,
               float beta, float* c, std::int64_t ldc) = nullptr;
  int (*gemm_s8s8s32)(char turn_a, char turn_b, char offset_kind, std::int64_t m, std::int64_t n, std::int64_t k, float alpha, const std::int8_t* a, std::int64_t lda,
                      std::int8_t a_offset, const std::int8_t* b, std::int64_t ldb, std::int8_t b_offset, float beta, std::int32_t* c, std::int64_t ldc,
                      const std::int32_t* offsets) = nullptr;
  bool has_bfloat16 = false;  ///< by the processor's own instructions, which the library may use (ONEDNN_MAX_CPU_ISA)
  bool has_int8 = false;      ///< the same; with older instructions sums of two products stop at the range of int16
  std::string name;           ///< "oneDNN 2.6.3, libdnnl.so.2"
};

/// Null if there is none, or if this processor has no instructions for which it would be asked; then none is looked for.
const OneDnnLibrary* onednn();

/// Why onednn() is null; empty if it is not.
const std::string& onednn_absence();
inline constexpr const char* kInstallOneDnn = "install libdnnl2 (Debian 12), libdnnl3 (Ubuntu 24.04) or libdnnl3.6 (Debian 13), or name a library's file with DAMO_ONEDNN_PATH";

/// Throws DeviceError if status is not 0: "oneDNN: dnnl_sgemm failed: out of memory".
void check_onednn(int status, const char* function);

/// While it lives, oneDNN's work of the thread that made it stays in that thread. Afterwards OpenMP's number of threads is what it was.
class OneDnnThread {
 public:
  OneDnnThread();
  OneDnnThread(const OneDnnThread&) = delete;
  OneDnnThread& operator=(const OneDnnThread&) = delete;
  ~OneDnnThread();

 private:
  int before_ = 0;
};

/// A (m, k) B (k, n) = C (m, n) in one dtype and layout: bfloat16 operands, added up in float32, and a bfloat16 or float32 result.
class OneDnnMatmul {
 public:
  /// Null for one that the library does not have. Under a OneDnnThread. c.column is 1.
  static std::unique_ptr<OneDnnMatmul> make(std::int64_t m, std::int64_t n, std::int64_t k, MatrixStrides a, MatrixStrides b, MatrixStrides c, DType result);
  virtual ~OneDnnMatmul() = default;

  /// Memory that a run needs for itself, at addresses that are multiples of 64.
  virtual std::size_t scratch_bytes() const = 0;
  /// Under a OneDnnThread. Several threads may run it at the same time.
  virtual void run(const void* a, const void* b, void* c, void* scratch) const = 0;
};

}  // namespace damo::cpu_backend
