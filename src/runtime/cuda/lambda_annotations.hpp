// nvcc's "[=] __device__ (int i) { ... }" with --extended-lambda. NVRTC knows no such option, and inside a kernel the
// annotation says nothing that is not true without it.
#pragma once
#include <string>

namespace damo::cuda_backend {

/// The text with __device__ and __host__ behind a lambda's brackets made blank: lines and columns stay.
std::string without_lambda_annotations(std::string source);

}  // namespace damo::cuda_backend
