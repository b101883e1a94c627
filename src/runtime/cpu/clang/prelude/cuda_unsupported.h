// What CUDA C has and the CPU back end has not: naming one is an error at the user's line that says so.
#pragma once

#define __DAMO_UNSUPPORTED(what) __device__ __attribute__((unavailable(what " is not supported on the CPU")))
using cudaTextureObject_t = unsigned long long;
using cudaSurfaceObject_t = unsigned long long;
#define __DAMO_TEXTURE(name) \
  template <class T = float>                \
  __DAMO_UNSUPPORTED("texture memory") T name(cudaTextureObject_t, double = 0, double = 0, double = 0, double = 0);
#define __DAMO_SURFACE(name) \
  template <class T> __DAMO_UNSUPPORTED("surface memory") void name(T, cudaSurfaceObject_t, int = 0, int = 0, int = 0, int = 0); \
  template <class T = float> __DAMO_UNSUPPORTED("surface memory") T name(cudaSurfaceObject_t, int = 0, int = 0, int = 0);
__DAMO_TEXTURE(tex1Dfetch) __DAMO_TEXTURE(tex1D) __DAMO_TEXTURE(tex2D) __DAMO_TEXTURE(tex3D) __DAMO_TEXTURE(tex1DLayered)
__DAMO_TEXTURE(tex2DLayered) __DAMO_TEXTURE(texCubemap) __DAMO_TEXTURE(tex2Dgather) __DAMO_TEXTURE(tex1DLod)
__DAMO_TEXTURE(tex2DLod) __DAMO_TEXTURE(tex3DLod)
__DAMO_SURFACE(surf1Dread) __DAMO_SURFACE(surf2Dread) __DAMO_SURFACE(surf3Dread) __DAMO_SURFACE(surf1Dwrite)
__DAMO_SURFACE(surf2Dwrite) __DAMO_SURFACE(surf3Dwrite)

#define __DAMO_PREDICATE(name) __DAMO_UNSUPPORTED("telling memory spaces apart") unsigned name(const void*);
__DAMO_PREDICATE(__isGlobal) __DAMO_PREDICATE(__isShared) __DAMO_PREDICATE(__isConstant) __DAMO_PREDICATE(__isLocal)

#define __DAMO_LAUNCH(name) template <class... A> __DAMO_UNSUPPORTED("launching a kernel from a kernel (dynamic parallelism)") int name(A...);
__DAMO_LAUNCH(cudaLaunchDevice) __DAMO_LAUNCH(cudaGetParameterBuffer) __DAMO_LAUNCH(cudaDeviceSynchronize)

#define __DAMO_CLUSTER(name) __DAMO_UNSUPPORTED("a thread block cluster") dim3 name();
__DAMO_CLUSTER(__clusterDim) __DAMO_CLUSTER(__clusterRelativeBlockIdx) __DAMO_CLUSTER(__clusterGridDimInClusters)
__DAMO_CLUSTER(__clusterIdx)
__DAMO_UNSUPPORTED("a thread block cluster") void __cluster_barrier_arrive();
__DAMO_UNSUPPORTED("a thread block cluster") void __cluster_barrier_wait();
