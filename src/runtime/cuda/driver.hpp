// The CUDA driver, libcuda.so.1, opened at its first use: the binary links no CUDA library and starts where there is
// none. driver() gives a table of its functions and throws DeviceError where driver_problem() says why there is none.
// Every CUresult goes through check(), which throws DeviceError with the call, the error's name and text, and a remedy
// where there is one. Thread-safe. See tests/runtime/cuda/driver_test.cpp.
#pragma once
#include <cuda.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace damo::cuda_backend {

// member, symbol. A symbol that cuda.h maps to a newer version (cuMemAlloc -> cuMemAlloc_v2) is looked up as that.
#define DAMO_DRIVER_FUNCTIONS(X)                                \
  X(get_error_name, cuGetErrorName)                             \
  X(get_error_string, cuGetErrorString)                         \
  X(driver_get_version, cuDriverGetVersion)                     \
  X(device_get_count, cuDeviceGetCount)                         \
  X(device_get, cuDeviceGet)                                    \
  X(device_get_name, cuDeviceGetName)                           \
  X(device_get_attribute, cuDeviceGetAttribute)                 \
  X(device_total_mem, cuDeviceTotalMem)                         \
  X(device_can_access_peer, cuDeviceCanAccessPeer)              \
  X(primary_ctx_retain, cuDevicePrimaryCtxRetain)               \
  X(primary_ctx_release, cuDevicePrimaryCtxRelease)             \
  X(primary_ctx_reset, cuDevicePrimaryCtxReset)                 \
  X(ctx_get_current, cuCtxGetCurrent)                           \
  X(ctx_set_current, cuCtxSetCurrent)                           \
  X(ctx_synchronize, cuCtxSynchronize)                          \
  X(ctx_enable_peer_access, cuCtxEnablePeerAccess)              \
  X(ctx_get_stream_priority_range, cuCtxGetStreamPriorityRange) \
  X(mem_get_info, cuMemGetInfo)                                 \
  X(mem_get_address_range, cuMemGetAddressRange)                \
  X(mem_alloc, cuMemAlloc)                                      \
  X(mem_free, cuMemFree)                                        \
  X(mem_host_alloc, cuMemHostAlloc)                             \
  X(mem_free_host, cuMemFreeHost)                               \
  X(mem_host_register, cuMemHostRegister)                       \
  X(mem_host_unregister, cuMemHostUnregister)                   \
  X(mem_host_get_device_pointer, cuMemHostGetDevicePointer)     \
  X(mem_alloc_managed, cuMemAllocManaged)                       \
  X(pointer_get_attribute, cuPointerGetAttribute)               \
  X(memcpy_htod_async, cuMemcpyHtoDAsync)                       \
  X(memcpy_dtoh_async, cuMemcpyDtoHAsync)                       \
  X(memcpy_dtod_async, cuMemcpyDtoDAsync)                       \
  X(memcpy_peer_async, cuMemcpyPeerAsync)                       \
  X(memcpy_async, cuMemcpyAsync)                                \
  X(memcpy_2d_async, cuMemcpy2DAsync)                           \
  X(memset_d8_async, cuMemsetD8Async)                           \
  X(memset_d16_async, cuMemsetD16Async)                         \
  X(memset_d32_async, cuMemsetD32Async)                         \
  X(memset_d2d8_async, cuMemsetD2D8Async)                       \
  X(memset_d2d16_async, cuMemsetD2D16Async)                     \
  X(memset_d2d32_async, cuMemsetD2D32Async)                     \
  X(ipc_get_mem_handle, cuIpcGetMemHandle)                      \
  X(ipc_open_mem_handle, cuIpcOpenMemHandle)                    \
  X(ipc_close_mem_handle, cuIpcCloseMemHandle)                  \
  X(stream_create, cuStreamCreate)                              \
  X(stream_create_with_priority, cuStreamCreateWithPriority)    \
  X(stream_destroy, cuStreamDestroy)                            \
  X(stream_synchronize, cuStreamSynchronize)                    \
  X(stream_wait_event, cuStreamWaitEvent)                       \
  X(stream_query, cuStreamQuery)                                \
  X(stream_begin_capture, cuStreamBeginCapture)                 \
  X(stream_end_capture, cuStreamEndCapture)                     \
  X(stream_is_capturing, cuStreamIsCapturing)                   \
  X(launch_host_func, cuLaunchHostFunc)                         \
  X(graph_instantiate, cuGraphInstantiate)                      \
  X(graph_get_nodes, cuGraphGetNodes)                           \
  X(graph_destroy, cuGraphDestroy)                              \
  X(graph_launch, cuGraphLaunch)                                \
  X(graph_exec_destroy, cuGraphExecDestroy)                     \
  X(graph_exec_kernel_set, cuGraphExecKernelNodeSetParams)      \
  X(graph_add_child, cuGraphAddChildGraphNode)                  \
  X(graph_exec_child_set, cuGraphExecChildGraphNodeSetParams)   \
  X(event_create, cuEventCreate)                                \
  X(event_destroy, cuEventDestroy)                              \
  X(event_record, cuEventRecord)                                \
  X(event_query, cuEventQuery)                                  \
  X(event_synchronize, cuEventSynchronize)                      \
  X(module_load_data_ex, cuModuleLoadDataEx)       \
  X(module_unload, cuModuleUnload)                 \
  X(module_get_function, cuModuleGetFunction)      \
  X(module_get_global, cuModuleGetGlobal)          \
  X(func_get_attribute, cuFuncGetAttribute)        \
  X(func_set_attribute, cuFuncSetAttribute)        \
  X(occupancy_max_active_blocks, cuOccupancyMaxActiveBlocksPerMultiprocessor)     \
  X(occupancy_max_potential_block_size, cuOccupancyMaxPotentialBlockSize)         \
  X(link_create, cuLinkCreate)                     \
  X(link_add_data, cuLinkAddData)                  \
  X(link_complete, cuLinkComplete)                 \
  X(link_destroy, cuLinkDestroy)                   \
  X(launch_kernel, cuLaunchKernel)

// Null in a driver older than the one that brought them (the comment: CUDA version).
#define DAMO_OPTIONAL_DRIVER_FUNCTIONS(X)                                   \
  X(func_get_param_info, cuFuncGetParamInfo)                     /* 12.4 */ \
  X(func_get_name, cuFuncGetName)                                /* 12.3 */ \
  X(module_get_function_count, cuModuleGetFunctionCount)         /* 12.4 */ \
  X(module_enumerate_functions, cuModuleEnumerateFunctions)      /* 12.4 */ \
  X(occupancy_max_active_clusters, cuOccupancyMaxActiveClusters) /* 11.8 */

struct Driver {
#define DAMO_MEMBER(member, symbol) decltype(&symbol) member = nullptr;
  DAMO_DRIVER_FUNCTIONS(DAMO_MEMBER)
  DAMO_OPTIONAL_DRIVER_FUNCTIONS(DAMO_MEMBER)
#undef DAMO_MEMBER
  decltype(&cuEventElapsedTime) event_elapsed_time = nullptr;  ///< either version of it: they take the same arguments
  // The versions that every driver has; cuda.h of CUDA 13 declares later ones.
  CUresult(CUDAAPI* stream_get_capture_info)(CUstream, CUstreamCaptureStatus*, cuuint64_t* id, CUgraph*, const CUgraphNode** dependencies, std::size_t* count) = nullptr;
  CUresult(CUDAAPI* stream_set_capture_end)(CUstream, CUgraphNode* dependencies, std::size_t count, unsigned flags) = nullptr;
  /// With what each dependency is (CUDA 12.3); null in older drivers.
  CUresult(CUDAAPI* stream_set_capture_edges)(CUstream, CUgraphNode* dependencies, const CUgraphEdgeData*, std::size_t count, unsigned flags) = nullptr;
  // The versions of CUDA 8, which every driver has; cuda.h of CUDA 13 declares the later ones only.
  CUresult(CUDAAPI* mem_prefetch_async)(CUdeviceptr, std::size_t, CUdevice, CUstream) = nullptr;
  CUresult(CUDAAPI* mem_advise)(CUdeviceptr, std::size_t, CUmem_advise, CUdevice) = nullptr;
};

/// Opened and initialised. Throws DeviceError if that failed, then and at every later call.
const Driver& driver();

/// Why there is no usable driver, with what to do about it; nothing if there is one. GPUs may still be none.
std::optional<std::string> driver_problem();

/// Opens the driver library of this name: what driver() does with libcuda.so.1, for tests. problem is left alone if
/// all went well.
Driver open_driver(const char* library, std::string* problem);

/// "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)".
std::string describe(CUresult result);

/// What the user can do about an error; empty if there is nothing to say.
std::string remedy_for(CUresult result);

/// The remedy for a fault whose launch is known.
std::string remedy_for_fault(const std::string& device);

/// A kernel's fault: the context refuses every later call.
bool is_sticky(CUresult result);

/// Throws DeviceError. call: the driver's function, "cuMemAlloc"; detail: what it was asked, may be empty.
[[noreturn]] void fail(CUresult result, const char* call, std::string_view detail = {});

inline void check(CUresult result, const char* call) {
  if (result != CUDA_SUCCESS) [[unlikely]]
    fail(result, call);
}

}  // namespace damo::cuda_backend
