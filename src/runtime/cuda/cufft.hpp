// FourierEngine by cuFFT (cufft_library.hpp): plans are kept by what they transform; their scratch memory comes from the device's pool.
#pragma once
#include <memory>

#include "runtime/library/fourier.hpp"

namespace damo::cuda_backend {

class CudaBackend;

/// Throws DeviceError, saying what to install, if there is no library.
std::unique_ptr<FourierEngine> make_cufft(CudaBackend& backend);

}  // namespace damo::cuda_backend
