// What fake_driver.cpp does not have: each function that Damo looks up, which succeeds and does nothing.
#include "runtime/cuda/driver.hpp"

extern "C" __attribute__((used)) CUresult fake_cuda_success() { return CUDA_SUCCESS; }

#define DAMO_FALL_BACK(symbol) __asm__(".weak " #symbol "\n.set " #symbol ", fake_cuda_success");
#define DAMO_FUNCTION(member, symbol) DAMO_FALL_BACK(symbol)
DAMO_DRIVER_FUNCTIONS(DAMO_FUNCTION)
DAMO_FALL_BACK(cuInit)
DAMO_FALL_BACK(cuStreamUpdateCaptureDependencies)
DAMO_FALL_BACK(cuEventElapsedTime)
DAMO_FALL_BACK(cuMemPrefetchAsync)
DAMO_FALL_BACK(cuMemAdvise)
