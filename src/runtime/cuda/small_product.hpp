// Matrix products of float32 whose result is too small to keep a GPU busy by large tiles, computed by a kernel of Damo's own. A library
// makes tiles of 64 x 64 elements and more; where they are fewer than the processors it divides k among blocks and adds the parts up in a
// second kernel. Here a block makes a tile of 16 x 16, 16 x 8 or 4 x 8 elements, its threads divide k among themselves and add up in shared memory:
// one launch, and as many blocks as there are processors. On an H200 in a replayed graph, against the fastest algorithm of cuBLASLt 13.0:
// 64 x 1024 x 256 in 4.1 us (6.3), 64 x 256 x 1024 in 5.7 (7.3), 64 x 10 x 512 in 3.4 (5.3).
//
// Each element is a sum in a fixed order in float32, without TF32: the same bits in every run.
// One of the ways that cublas_engine.cpp measures. See tests/runtime/cuda/small_product_test.cpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <damo/launch_config.hpp>

#include "runtime/backend.hpp"
#include "runtime/library/matrix_product.hpp"

namespace damo::cuda_backend {

class CudaBackend;

/// A way to compute a product whose code may still be being compiled. Thread-safe.
class SmallProduct {
 public:
  virtual ~SmallProduct() = default;
  /// Waits for the compiler. False if the code could not be made, which the log says.
  virtual bool is_ready() = 0;
  /// In order of the stream. All addresses but the bias are multiples of 16 bytes.
  virtual void run(const MatrixAddresses& addresses, void* stream) = 0;
};

/// The kernel for a product and how it is launched.
struct SmallProductKernel {
  CompileRequest request;
  LaunchConfig config;
  std::int64_t a_stride, b_stride;
};
/// None for a product that it does not take: other dtypes, an activation, TF32, a result of fewer than 8 columns or of more than 2^17 elements,
/// short sums. Touches no device.
std::optional<SmallProductKernel> small_product_kernel(const MatrixProduct& product, int multiprocessors, std::size_t max_shared_bytes);

/// What the kernel is launched with. `pointers` point into it.
struct SmallProductArguments {
  SmallProductArguments(const MatrixProduct& product, const SmallProductKernel& kernel, const MatrixAddresses& addresses);
  SmallProductArguments(const SmallProductArguments&) = delete;
  SmallProductArguments& operator=(const SmallProductArguments&) = delete;
  MatrixAddresses at;
  int m, n, k;
  std::int64_t a_stride, b_stride, c_stride, a_batch, b_batch, c_batch;
  float alpha, beta;
  void* pointers[16] = {&at.a, &at.b, &at.start, &at.bias, &at.result, &m, &n, &k, &a_stride, &b_stride, &c_stride, &a_batch, &b_batch, &c_batch, &alpha, &beta};
};

/// The kernel for a product on this device; none where small_product() gives null.
std::optional<SmallProductKernel> small_product_kernel(const CudaBackend& backend, const MatrixProduct& product);
/// Its code is being compiled when this returns. Null for a product that it does not take, and on GPUs before compute capability 8.0.
std::shared_ptr<SmallProduct> small_product(CudaBackend& backend, const MatrixProduct& product);

}  // namespace damo::cuda_backend
