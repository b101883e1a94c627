// DenseSolver by the system's LAPACK (lapack_library.hpp), on as many threads as kernels use.
#pragma once
#include <memory>

#include "runtime/library/dense_solver.hpp"

namespace damo::cpu_backend {

/// Throws DeviceError, saying what to install, if there is no library.
std::unique_ptr<DenseSolver> make_lapack_solver(Backend& backend, int threads);

}  // namespace damo::cpu_backend
