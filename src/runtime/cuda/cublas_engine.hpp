// Matrix products by cuBLASLt. Its heuristics name a few algorithms for a product; the first kCandidates are measured once, at the
// first call, and the fastest is kept in the kernel cache, keyed by the library's version, the GPU and the product. DAMO_TUNE=0, and a call
// while a stream is captured, take the first.
#pragma once
#include <memory>

#include "runtime/library/matrix_product.hpp"

namespace damo::cuda_backend {

class CudaBackend;

/// Null if there is no library. Throws DeviceError if it refuses the GPU.
std::unique_ptr<MatrixEngine> make_cublas_engine(CudaBackend& backend);

}  // namespace damo::cuda_backend
