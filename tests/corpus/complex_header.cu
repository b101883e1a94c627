// Roots of z^3 = 1 by Newton's method, with CUDA's own complex numbers, and includes left over from a program.
//: array float32 out[512]
//: launch newton<<<1, 256>>>(out)
//: check out within 1e-4
#include <iostream>
#include <vector>
#include <stdio.h>
#include <cuComplex.h>

__global__ void newton(cuFloatComplex* out) {
  const int i = threadIdx.x;
  cuFloatComplex z = make_cuFloatComplex(1.0f + i % 16 * 0.05f, 0.2f + i / 16 * 0.04f);
  const cuFloatComplex one = make_cuFloatComplex(1.0f, 0.0f), three = make_cuFloatComplex(3.0f, 0.0f);
  for (int step = 0; step < 3; ++step) {
    const cuFloatComplex square = cuCmulf(z, z);
    z = cuCsubf(z, cuCdivf(cuCsubf(cuCmulf(square, z), one), cuCmulf(three, square)));
  }
  reinterpret_cast<float2*>(out)[i] = make_float2(cuCabsf(z), cuCimagf(cuConjf(z)));
}
