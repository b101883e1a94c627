// texture<...> and surface<...>, of which CUDA 12 has none any more either. Read where a source names them.
#pragma once

#define __DAMO_REFERENCE(name)                                                                                     \
  template <class T = float, int dimensions = 1, int mode = 0>                                                     \
  struct __attribute__((unavailable("texture and surface references are not supported: pass an array"))) name {};
__DAMO_REFERENCE(texture)
__DAMO_REFERENCE(surface)
enum { cudaReadModeElementType, cudaReadModeNormalizedFloat };
enum { cudaTextureType1D = 1, cudaTextureType2D, cudaTextureType3D, cudaTextureTypeCubemap = 0xC, cudaTextureType1DLayered = 0xF1,
       cudaTextureType2DLayered, cudaSurfaceType1D = 1, cudaSurfaceType2D, cudaSurfaceType3D, cudaSurfaceType2DLayered = 0xF2 };
