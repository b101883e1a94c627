// Measuring which of several ways to compute a library's result is the fastest: what the engines of cuBLASLt and cuDNN have in common.
#pragma once
#include <functional>

namespace damo::cuda_backend {

class CudaBackend;

/// Whether work of the stream may be measured now: not while anything is captured, and not with DAMO_TUNE=0.
bool may_measure(const CudaBackend& backend, void* stream);

/// Of one call of `work`, which gives work to the stream, on average over so many. Waits for the stream.
double measured_milliseconds(CudaBackend& backend, void* stream, int repeats, const std::function<void()>& work);

}  // namespace damo::cuda_backend
