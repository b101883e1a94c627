// A libcuda.so.1 whose GPU is the CPU: device memory is the host's, and kernels run when they are launched, as the CPU back end compiled them (nvrtc.cpp), so that
// programs for a GPU give their values on any machine. Streams are in order by themselves; what is captured runs when its graph is launched. A launch that breaks
// the limits of the architecture is refused. Functions that it does not have succeed and do nothing (fallback.cpp).
//
// EMULATED_GPU: its architecture, 80 (the default), 75, 86 or 100, which has clusters. (So has 90, with instructions for products by warpgroups, which are not emulated.)
#include <cuda.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "emulated_gpu/gpu/kernels.hpp"

using damo::emulated_gpu::Launch;

namespace {

struct Architecture {
  int number, shared_bytes, threads;  // of a block at most; of a multiprocessor
};
constexpr Architecture kArchitectures[] = {{75, 64 << 10, 1024}, {80, 163 << 10, 2048}, {86, 99 << 10, 1536}, {100, 227 << 10, 2048}};
constexpr int kMultiprocessors = 6;  // few, so that the CPU runs little for a GPU to be full

const Architecture& architecture() {
  static const Architecture chosen = [] {
    const char* const wanted = std::getenv("EMULATED_GPU");
    for (const Architecture& known : kArchitectures) {
      if (known.number == (wanted ? std::atoi(wanted) : 80)) return known;
    }
    std::fprintf(stderr, "EMULATED_GPU is '%s': 75, 80, 86 or 100\n", wanted);
    std::abort();
  }();
  return chosen;
}

struct Module {
  std::shared_ptr<const damo::LoadedModule> loaded;
};
struct Function {
  std::shared_ptr<const damo::LoadedKernel> kernel;
  int cluster = 1;  // blocks
  int granted_bytes = 48 << 10;
};

/// What a graph holds: a kernel, anything else that can be done again, or a graph.
struct Graph;
struct Node {
  std::optional<Launch> launch;
  std::function<void()> other;
  Graph* inner = nullptr;
};
struct Graph {
  std::vector<Node*> nodes;
};
struct Executable {
  std::vector<Node> nodes;                    // those of graphs within it one by one
  std::map<const Node*, std::size_t> places;  // of the first of them
  std::map<const Node*, std::size_t> inner_counts;
};
struct Stream {
  Graph* captured = nullptr;
};
struct Event {
  Graph* captured = nullptr;  // the capture that it was recorded in
};

std::recursive_mutex mutex;  // one thing at a time: work is done where it is given
std::set<Stream*> streams;
std::map<std::uintptr_t, std::size_t> blocks;  // of memory, with their bytes
bool has_faulted = false;
thread_local CUcontext current = nullptr;

Stream& of(CUstream stream) {
  static Stream by_default;
  return stream ? *reinterpret_cast<Stream*>(stream) : by_default;
}

CUresult run(const Node& node) {
  if (node.launch) has_faulted |= !node.launch->run();
  else node.other();
  return has_faulted ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_SUCCESS;
}

/// Done now, or kept by the graph that the stream is captured in.
CUresult give(CUstream stream, Node node) {
  const std::lock_guard lock(mutex);
  if (has_faulted) return CUDA_ERROR_ILLEGAL_ADDRESS;
  if (Graph* const graph = of(stream).captured) return graph->nodes.push_back(new Node(std::move(node))), CUDA_SUCCESS;
  return run(node);
}
CUresult give(CUstream stream, std::function<void()> work) { return give(stream, Node{{}, std::move(work)}); }

template <class T>
CUresult fill(CUdeviceptr to, std::size_t pitch, T value, std::size_t columns, std::size_t rows, CUstream stream) {
  return give(stream, [=] {
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t column = 0; column < columns; ++column) std::memcpy(reinterpret_cast<void*>(to + row * pitch + column * sizeof value), &value, sizeof value);
    }
  });
}
CUresult copy(void* to, const void* from, std::size_t bytes, CUstream stream) {
  return give(stream, [=] { std::memmove(to, from, bytes); });
}

/// Nothing where a GPU of the architecture would refuse it.
std::optional<Node> node_of(CUfunction handle, const unsigned (&grid)[3], const unsigned (&block)[3], std::size_t shared_bytes, void** arguments) {
  const auto& function = *reinterpret_cast<Function*>(handle);
  const unsigned threads = block[0] * block[1] * block[2];
  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0 || threads == 0 || threads > 1024 || grid[1] > 65535 || grid[2] > 65535) return std::nullopt;
  if (function.kernel->max_threads_per_block > 0 && threads > static_cast<unsigned>(function.kernel->max_threads_per_block)) return std::nullopt;
  if (shared_bytes > 0 && shared_bytes + function.kernel->static_shared_bytes > static_cast<std::size_t>(function.granted_bytes)) return std::nullopt;
  if (grid[0] % static_cast<unsigned>(function.cluster) != 0) return std::nullopt;
  damo::LaunchConfig config;
  config.grid = {grid[0], grid[1], grid[2]};
  config.block = {block[0], block[1], block[2]};
  config.shared_bytes = shared_bytes;
  return Node{Launch(function.kernel, config, arguments, function.cluster), {}};
}

void flatten(const Graph& graph, std::vector<Node>& to) {
  for (const Node* node : graph.nodes) node->inner ? flatten(*node->inner, to) : to.push_back(*node);
}
Graph* copy_of(const Graph& graph) {
  auto* const copy = new Graph;
  for (const Node* node : graph.nodes) {
    copy->nodes.push_back(new Node(*node));
    if (node->inner) copy->nodes.back()->inner = copy_of(*node->inner);
  }
  return copy;
}
void destroy(Graph* graph) {
  for (Node* node : graph->nodes) {
    if (node->inner) destroy(node->inner);
    delete node;
  }
  delete graph;
}

}  // namespace

extern "C" {

CUresult cuGetErrorName(CUresult result, const char** text) { return *text = result == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR", CUDA_SUCCESS; }
CUresult cuGetErrorString(CUresult, const char** text) { return *text = "an error of the emulated GPU", CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int* version) { return *version = 13000, CUDA_SUCCESS; }
CUresult cuDeviceGetCount(int* count) { return *count = 1, CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice* device, int index) { return *device = index, index == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE; }
CUresult cuDeviceGetName(char* name, int length, CUdevice) { return std::snprintf(name, static_cast<std::size_t>(length), "emulated"), CUDA_SUCCESS; }
CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice) { return *bytes = std::size_t{8} << 30, CUDA_SUCCESS; }
CUresult cuDeviceCanAccessPeer(int* can, CUdevice, CUdevice) { return *can = 0, CUDA_SUCCESS; }
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = architecture().number / 10; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = architecture().number % 10; break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = kMultiprocessors; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *value = architecture().shared_bytes; break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: *value = architecture().threads; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: *value = 0x7fffffff; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: *value = 65535; break;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: *value = 64; break;
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY: *value = 1; break;
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS: *value = 0; break;
    default: *value = 1024; break;
  }
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) { return *context = reinterpret_cast<CUcontext>(1), CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxReset(CUdevice) {
  const std::lock_guard lock(mutex);
  for (const auto& [address, bytes] : blocks) std::free(reinterpret_cast<void*>(address));
  blocks.clear();
  return has_faulted = false, CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* context) { return *context = current, CUDA_SUCCESS; }
CUresult cuCtxSetCurrent(CUcontext context) { return current = context, CUDA_SUCCESS; }
CUresult cuCtxSynchronize() { return has_faulted ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_SUCCESS; }
CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) { return *least = 0, *greatest = -5, CUDA_SUCCESS; }

CUresult cuMemGetInfo(std::size_t* available, std::size_t* total) { return *available = *total = std::size_t{8} << 30, CUDA_SUCCESS; }
CUresult cuMemAlloc(CUdeviceptr* memory, std::size_t bytes) {
  if (bytes > std::size_t{8} << 30) return CUDA_ERROR_OUT_OF_MEMORY;
  void* const block = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
  std::memset(block, 0xcb, std::min<std::size_t>(bytes, 1 << 20));  // nobody may count on what it holds
  const std::lock_guard lock(mutex);
  blocks[reinterpret_cast<std::uintptr_t>(block)] = bytes;
  return *memory = reinterpret_cast<CUdeviceptr>(block), CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr memory) {
  const std::lock_guard lock(mutex);
  if (blocks.erase(memory) == 0) return CUDA_ERROR_INVALID_VALUE;
  return std::free(reinterpret_cast<void*>(memory)), CUDA_SUCCESS;
}
CUresult cuMemAllocManaged(CUdeviceptr* memory, std::size_t bytes, unsigned) { return cuMemAlloc(memory, bytes); }
CUresult cuMemGetAddressRange(CUdeviceptr* begin, std::size_t* bytes, CUdeviceptr memory) {
  const std::lock_guard lock(mutex);
  auto block = blocks.upper_bound(memory);
  if (block == blocks.begin()) return CUDA_ERROR_INVALID_VALUE;
  --block;
  return *begin = block->first, *bytes = block->second, CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) { return *memory = std::aligned_alloc(512, (bytes + 511) / 512 * 512), *memory ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY; }
CUresult cuMemFreeHost(void* memory) { return std::free(memory), CUDA_SUCCESS; }
CUresult cuMemHostGetDevicePointer(CUdeviceptr* device, void* host, unsigned) { return *device = reinterpret_cast<CUdeviceptr>(host), CUDA_SUCCESS; }
CUresult cuPointerGetAttribute(void*, CUpointer_attribute, CUdeviceptr) { return CUDA_ERROR_INVALID_VALUE; }
CUresult cuIpcGetMemHandle(CUipcMemHandle*, CUdeviceptr) { return CUDA_ERROR_NOT_SUPPORTED; }

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) { return copy(reinterpret_cast<void*>(to), from, bytes, stream); }
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) { return copy(to, reinterpret_cast<void*>(from), bytes, stream); }
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) { return copy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes, stream); }
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) { return cuMemcpyDtoDAsync(to, from, bytes, stream); }
CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* given, CUstream stream) {
  const CUDA_MEMCPY2D c = *given;
  return give(stream, [c] {
    const auto* from = static_cast<const char*>(c.srcMemoryType == CU_MEMORYTYPE_HOST ? c.srcHost : reinterpret_cast<const void*>(c.srcDevice)) + c.srcY * c.srcPitch + c.srcXInBytes;
    auto* to = static_cast<char*>(c.dstMemoryType == CU_MEMORYTYPE_HOST ? c.dstHost : reinterpret_cast<void*>(c.dstDevice)) + c.dstY * c.dstPitch + c.dstXInBytes;
    for (std::size_t row = 0; row < c.Height; ++row) std::memmove(to + row * c.dstPitch, from + row * c.srcPitch, c.WidthInBytes);
  });
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream) { return fill(to, 0, value, count, 1, stream); }
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, std::size_t count, CUstream stream) { return fill(to, 0, value, count, 1, stream); }
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, std::size_t count, CUstream stream) { return fill(to, 0, value, count, 1, stream); }
CUresult cuMemsetD2D8Async(CUdeviceptr to, std::size_t pitch, unsigned char value, std::size_t width, std::size_t height, CUstream stream) { return fill(to, pitch, value, width, height, stream); }
CUresult cuMemsetD2D16Async(CUdeviceptr to, std::size_t pitch, unsigned short value, std::size_t width, std::size_t height, CUstream stream) { return fill(to, pitch, value, width, height, stream); }
CUresult cuMemsetD2D32Async(CUdeviceptr to, std::size_t pitch, unsigned value, std::size_t width, std::size_t height, CUstream stream) { return fill(to, pitch, value, width, height, stream); }

CUresult cuStreamCreate(CUstream* made, unsigned) {
  const std::lock_guard lock(mutex);
  return *made = reinterpret_cast<CUstream>(*streams.insert(new Stream).first), CUDA_SUCCESS;
}
CUresult cuStreamCreateWithPriority(CUstream* made, unsigned flags, int) { return cuStreamCreate(made, flags); }
CUresult cuStreamDestroy(CUstream stream) {
  const std::lock_guard lock(mutex);
  streams.erase(&of(stream));
  return delete &of(stream), CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream stream) { return of(stream).captured ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : cuCtxSynchronize(); }
CUresult cuStreamQuery(CUstream stream) { return cuStreamSynchronize(stream); }
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  const std::lock_guard lock(mutex);
  if (Graph* const graph = reinterpret_cast<Event*>(event)->captured) of(stream).captured = graph;
  return CUDA_SUCCESS;
}
CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) { return of(stream).captured = new Graph, CUDA_SUCCESS; }
CUresult cuStreamEndCapture(CUstream stream, CUgraph* made) {
  const std::lock_guard lock(mutex);
  Graph* const graph = of(stream).captured;
  if (!graph) return CUDA_ERROR_ILLEGAL_STATE;
  for (Stream* other : streams) {
    if (other->captured == graph) other->captured = nullptr;  // those that joined, too
  }
  return *made = reinterpret_cast<CUgraph>(graph), CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return *status = of(stream).captured ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE, CUDA_SUCCESS;
}
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t*, CUgraph* captured, const CUgraphNode** nodes, std::size_t* count) {
  Graph* const graph = of(stream).captured;
  *captured = reinterpret_cast<CUgraph>(graph);
  *status = graph ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  *count = graph && !graph->nodes.empty() ? 1 : 0;
  if (*count) *nodes = reinterpret_cast<const CUgraphNode*>(&graph->nodes.back());
  return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode*, std::size_t* count) { return *count = reinterpret_cast<Graph*>(graph)->nodes.size(), CUDA_SUCCESS; }
CUresult cuGraphDestroy(CUgraph graph) { return destroy(reinterpret_cast<Graph*>(graph)), CUDA_SUCCESS; }
CUresult cuGraphAddChildGraphNode(CUgraphNode* made, CUgraph to, const CUgraphNode*, std::size_t, CUgraph inner) {
  auto* const node = new Node{{}, {}, copy_of(*reinterpret_cast<Graph*>(inner))};
  reinterpret_cast<Graph*>(to)->nodes.push_back(node);
  return *made = reinterpret_cast<CUgraphNode>(node), CUDA_SUCCESS;
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* made, CUgraph graph, unsigned long long) {
  auto* const executable = new Executable;
  for (const Node* node : reinterpret_cast<Graph*>(graph)->nodes) {
    const std::size_t place = executable->places[node] = executable->nodes.size();
    if (node->inner) flatten(*node->inner, executable->nodes);
    else executable->nodes.push_back(*node);
    executable->inner_counts[node] = executable->nodes.size() - place;
  }
  return *made = reinterpret_cast<CUgraphExec>(executable), CUDA_SUCCESS;
}
CUresult cuGraphExecDestroy(CUgraphExec executable) { return delete reinterpret_cast<Executable*>(executable), CUDA_SUCCESS; }
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec handle, CUgraphNode place, const CUDA_KERNEL_NODE_PARAMS* p) {
  const std::lock_guard lock(mutex);
  auto& executable = *reinterpret_cast<Executable*>(handle);
  const std::optional<Node> node = node_of(p->func, {p->gridDimX, p->gridDimY, p->gridDimZ}, {p->blockDimX, p->blockDimY, p->blockDimZ}, p->sharedMemBytes, p->kernelParams);
  if (!node) return CUDA_ERROR_INVALID_VALUE;
  return executable.nodes[executable.places.at(reinterpret_cast<Node*>(place))] = *node, CUDA_SUCCESS;
}
CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec handle, CUgraphNode place, CUgraph inner) {
  const std::lock_guard lock(mutex);
  auto& executable = *reinterpret_cast<Executable*>(handle);
  const auto* const node = reinterpret_cast<const Node*>(place);
  std::vector<Node> nodes;
  flatten(*reinterpret_cast<Graph*>(inner), nodes);
  if (nodes.size() != executable.inner_counts.at(node)) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  return std::move(nodes.begin(), nodes.end(), executable.nodes.begin() + static_cast<std::ptrdiff_t>(executable.places.at(node))), CUDA_SUCCESS;
}
CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream) {
  auto* const executable = reinterpret_cast<Executable*>(handle);
  if (of(stream).captured) return CUDA_ERROR_NOT_SUPPORTED;
  const std::lock_guard lock(mutex);
  for (const Node& node : executable->nodes) {
    if (const CUresult result = run(node); result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent* made, unsigned) { return *made = reinterpret_cast<CUevent>(new Event), CUDA_SUCCESS; }
CUresult cuEventDestroy(CUevent event) { return delete reinterpret_cast<Event*>(event), CUDA_SUCCESS; }
CUresult cuEventRecord(CUevent event, CUstream stream) { return reinterpret_cast<Event*>(event)->captured = of(stream).captured, CUDA_SUCCESS; }
CUresult cuEventElapsedTime(float* milliseconds, CUevent, CUevent) { return *milliseconds = 0.001f, CUDA_SUCCESS; }
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  return give(stream, [=] { function(data); });
}

CUresult cuModuleLoadDataEx(CUmodule* made, const void* code, unsigned, CUjit_option*, void**) {
  if (std::memcmp(code, damo::emulated_gpu::kMagic.data(), damo::emulated_gpu::kMagic.size()) != 0) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  const std::lock_guard lock(mutex);
  return *made = reinterpret_cast<CUmodule>(new Module{damo::emulated_gpu::compile(damo::emulated_gpu::request_of(code))}), CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule module) { return delete reinterpret_cast<Module*>(module), CUDA_SUCCESS; }
CUresult cuModuleGetFunction(CUfunction* made, CUmodule module, const char* name) {
  const damo::LoadedModule& loaded = *reinterpret_cast<Module*>(module)->loaded;
  std::shared_ptr<const damo::LoadedKernel> kernel = damo::emulated_gpu::kernel_of(loaded, name);
  if (!kernel) return CUDA_ERROR_NOT_FOUND;
  return *made = reinterpret_cast<CUfunction>(new Function{std::move(kernel), damo::emulated_gpu::cluster_of(loaded, name)}), CUDA_SUCCESS;  // never freed: graphs keep it
}
CUresult cuModuleGetGlobal(CUdeviceptr* address, std::size_t* bytes, CUmodule module, const char* name) {
  const auto [at, size] = reinterpret_cast<Module*>(module)->loaded->global(name[0] == '&' ? name + 1 : name);
  *address = reinterpret_cast<CUdeviceptr>(at), *bytes = size;
  return at ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule) { return *count = 0, CUDA_SUCCESS; }
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  const damo::LoadedKernel& kernel = *reinterpret_cast<Function*>(function)->kernel;
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = kernel.max_threads_per_block > 0 ? kernel.max_threads_per_block : 1024; break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = static_cast<int>(kernel.static_shared_bytes); break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = 32; break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: *value = architecture().number; break;
    default: *value = 0; break;
  }
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  auto& function = *reinterpret_cast<Function*>(handle);
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) return CUDA_SUCCESS;
  const int whole = value + static_cast<int>(function.kernel->static_shared_bytes);
  if (whole > architecture().shared_bytes) return CUDA_ERROR_INVALID_VALUE;
  return function.granted_bytes = std::max(function.granted_bytes, whole), CUDA_SUCCESS;
}
CUresult cuFuncGetParamInfo(CUfunction function, std::size_t number, std::size_t* offset, std::size_t* bytes) {
  const auto& parameters = *reinterpret_cast<Function*>(function)->kernel->parameters();
  if (number >= parameters.size()) return CUDA_ERROR_INVALID_VALUE;
  return *offset = 0, *bytes = parameters[number].bytes, CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads, std::size_t shared_bytes) {
  const std::size_t shared = shared_bytes + reinterpret_cast<Function*>(function)->kernel->static_shared_bytes + 1024;
  return *blocks = std::min({architecture().threads / std::max(threads, 1), 32, static_cast<int>((architecture().shared_bytes + 1024) / shared)}), CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction function, const CUlaunchConfig* config) {
  int blocks = 0;
  cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, static_cast<int>(config->blockDimX), config->sharedMemBytes);
  return *clusters = blocks * kMultiprocessors / static_cast<int>(config->attrs[0].value.clusterDim.x), CUDA_SUCCESS;
}
CUresult cuOccupancyMaxPotentialBlockSize(int* blocks, int* threads, CUfunction function, CUoccupancyB2DSize, std::size_t, int) {
  const int most = reinterpret_cast<Function*>(function)->kernel->max_threads_per_block;
  return *threads = most > 0 && most < 256 ? most : 256, *blocks = kMultiprocessors * 4, CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared_bytes, CUstream stream, void** arguments, void**) {
  const std::optional<Node> node = node_of(function, {gx, gy, gz}, {bx, by, bz}, shared_bytes, arguments);
  return node ? give(stream, *node) : CUDA_ERROR_INVALID_VALUE;
}

}  // extern "C"
