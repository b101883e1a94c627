// The part of the C++ standard library that device code uses: <type_traits>, <limits>, <utility>, <algorithm>, <array>,
// <tuple>, <functional>, <bit>, <cmath>'s names, in namespace std. The same text on a GPU (NVRTC brings no standard
// headers) and on the CPU; read where a source says "std". Own code, C++17, no exceptions, no allocation.
#pragma once
#ifdef __DAMO_CPU__
#include "cuda_math.h"
#include "cuda_intrinsics.h"
#endif
#define DAMO_STD __host__ __device__ constexpr
#include "cuda_std_types.h"
#include "cuda_std_limits.h"
#include "cuda_std_utility.h"
#include "cuda_std_functional.h"
#include "cuda_std_algorithm.h"
#include "cuda_std_math.h"
#undef DAMO_STD
