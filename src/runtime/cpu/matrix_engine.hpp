// The CPU's libraries of matrix work as one engine: oneDNN (onednn_engine.hpp) for what it takes, the system's BLAS (blas_engine.hpp) for all else.
#pragma once
#include <memory>

#include "runtime/cpu/worker_pool.hpp"
#include "runtime/library/matrix_product.hpp"

namespace damo {
class Backend;
}

namespace damo::cpu_backend {

std::unique_ptr<MatrixEngine> make_matrix_engine(const Backend& backend, const WorkerPool& workers);

}  // namespace damo::cpu_backend
