// DenseSolver by cuSOLVER, and cuBLAS for triangular systems (cusolver_library.hpp). One matrix of a stack after another.
#pragma once
#include <memory>

#include "runtime/library/dense_solver.hpp"

namespace damo::cuda_backend {

class CudaBackend;

/// Throws DeviceError, saying what to install, if there is no library.
std::unique_ptr<DenseSolver> make_cusolver(CudaBackend& backend);

}  // namespace damo::cuda_backend
