// Convolutions by cuDNN. Of its algorithms those are taken that add an element's products up as they stand, in a fixed order: no atomics, so the same
// bits at every call; and neither Winograd's nor Fourier transforms, which spread a NaN or one large element of x over results whose windows do not have
// it. float32 is multiplied as float32 unless the convolution allows TF32; 16-bit floats are added up in float32.
//
// Which algorithm, or a kernel of Damo's own (block_convolution.hpp, direct_convolution.hpp), is measured once, at the first call, and kept in the kernel
// cache, keyed by the library's version, the GPU and the convolution; blocks are measured only where cuDNN takes longer than 20 us, as they are compiled for
// the window. DAMO_TUNE=0, and a call while a stream is captured, take cuDNN's first.
#pragma once
#include <memory>

#include "runtime/library/convolution.hpp"

namespace damo::cuda_backend {

class CudaBackend;

/// Null if there is no library.
std::unique_ptr<ConvolutionEngine> make_cudnn_engine(CudaBackend& backend);

}  // namespace damo::cuda_backend
