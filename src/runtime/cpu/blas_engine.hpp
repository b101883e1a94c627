// Matrix products by the system's BLAS (blas_library.hpp), on as many threads as kernels use.
#pragma once
#include <memory>

#include "runtime/cpu/worker_pool.hpp"
#include "runtime/library/matrix_product.hpp"

namespace damo {
class Backend;
}

namespace damo::cpu_backend {

/// Null if there is no library.
std::unique_ptr<MatrixEngine> make_blas_engine(const Backend& backend, const WorkerPool& workers);

}  // namespace damo::cpu_backend
