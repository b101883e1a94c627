// A libcuda.so.1 without a GPU: device memory is the host's, kernels do nothing, and what is launched is written down, so
// that the CUDA back end's own part of a call can be tested and timed on any machine. Functions that it does not have
// succeed and do nothing (fallback.cpp). A test reads what was noted through fake_cuda_take_events.
//
//   launch K a b        a kernel reached the device, with the first two pointers of its arguments
//   set K a b           a node of an executable graph got other arguments, a line for each node of a graph within it
//   graph               the launches of an executable graph follow
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace {

struct Function {
  std::string name;
};
struct Graph;
struct Node {
  Function* function;
  void* pointers[2];
  Graph* inner = nullptr;  // instead of a function
};
struct Graph {
  std::vector<Node*> nodes;
};
struct Executable {
  std::vector<Node> nodes;                         // those of graphs within it one by one
  std::map<const Node*, std::size_t> places;       // of the first of them
  std::map<const Node*, std::size_t> inner_counts;
};
struct Stream {
  Graph* captured = nullptr;
  bool is_there = true;
};

std::mutex mutex;
std::string events;
std::map<std::string, Function*> functions;
bool notes = true, refuses_inner = false;
std::size_t early_waits = 0;

std::deque<Stream> streams;  // also those that were destroyed: no other has their address

CUresult made(CUstream* stream) {
  const std::lock_guard lock(mutex);
  return *stream = reinterpret_cast<CUstream>(&streams.emplace_back()), CUDA_SUCCESS;
}

Stream* stream_of(CUstream stream) { return reinterpret_cast<Stream*>(stream); }

void note(const char* what, const Node& node) {
  if (!notes) return;
  char line[256];
  std::snprintf(line, sizeof line, "%s %s %p %p\n", what, node.function->name.c_str(), node.pointers[0], node.pointers[1]);
  events += line;
}

Node node_of(CUfunction function, void** arguments) {
  Node node{reinterpret_cast<Function*>(function), {}, nullptr};
  std::memcpy(node.pointers, arguments[0], sizeof node.pointers);
  return node;
}

CUresult add(Stream* stream, Node node) {
  const std::lock_guard lock(mutex);
  if (stream->captured) stream->captured->nodes.push_back(new Node(std::move(node)));
  else note("launch", node);
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

/// What was noted since the last call; it is the caller's to free.
__attribute__((visibility("default"))) char* fake_cuda_take_events() {
  const std::lock_guard lock(mutex);
  char* text = strdup(events.c_str());
  events.clear();
  return text;
}
/// For timing: whether anything is noted.
__attribute__((visibility("default"))) void fake_cuda_note(bool whether) { notes = whether; }
/// As if a graph within a graph had other nodes than the one that it is set to.
__attribute__((visibility("default"))) void fake_cuda_refuse_inner(bool whether) { refuses_inner = whether; }

/// 0: destroyed, 1: there, 2: captured.
__attribute__((visibility("default"))) int fake_cuda_stream_state(CUstream stream) {
  const std::lock_guard lock(mutex);
  if (!stream_of(stream)->is_there) return 0;
  return stream_of(stream)->captured ? 2 : 1;
}

/// How many waits of captured work for the work before it, since the last call, were not for its end.
__attribute__((visibility("default"))) std::size_t fake_cuda_take_early() { return std::exchange(early_waits, 0); }

CUresult cuGetErrorName(CUresult, const char** text) { return *text = "CUDA_ERROR_FAKE", CUDA_SUCCESS; }
CUresult cuGetErrorString(CUresult, const char** text) { return *text = "an error of the fake driver", CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int* version) { return *version = 13000, CUDA_SUCCESS; }
CUresult cuDeviceGetCount(int* count) { return *count = 1, CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice* device, int index) { return *device = index, index == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE; }
CUresult cuDeviceGetName(char* name, int length, CUdevice) { return std::snprintf(name, static_cast<std::size_t>(length), "fake"), CUDA_SUCCESS; }
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = 9; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = 0; break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = 132; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *value = 227 << 10; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: *value = 0x7fffffff; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: *value = 65535; break;
    default: *value = 1024; break;
  }
  return CUDA_SUCCESS;
}

thread_local CUcontext current = nullptr;
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) { return *context = reinterpret_cast<CUcontext>(1), CUDA_SUCCESS; }
CUresult cuCtxGetCurrent(CUcontext* context) { return *context = current, CUDA_SUCCESS; }
CUresult cuCtxSetCurrent(CUcontext context) { return current = context, CUDA_SUCCESS; }

CUresult cuMemGetInfo(std::size_t* available, std::size_t* total) { return *available = *total = std::size_t{1} << 30, CUDA_SUCCESS; }
CUresult cuMemAlloc(CUdeviceptr* memory, std::size_t bytes) {
  return *memory = reinterpret_cast<CUdeviceptr>(std::aligned_alloc(512, (bytes + 511) / 512 * 512)), CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) { return *memory = std::malloc(bytes), CUDA_SUCCESS; }
CUresult cuMemFreeHost(void* memory) { return std::free(memory), CUDA_SUCCESS; }
CUresult cuMemFree(CUdeviceptr memory) { return std::free(reinterpret_cast<void*>(memory)), CUDA_SUCCESS; }
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream) { return std::memcpy(reinterpret_cast<void*>(to), from, bytes), CUDA_SUCCESS; }
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream) { return std::memcpy(to, reinterpret_cast<void*>(from), bytes), CUDA_SUCCESS; }
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t, CUstream stream) {
  static Function copy{"copy"};
  return add(stream_of(stream), {&copy, {reinterpret_cast<void*>(from), reinterpret_cast<void*>(to)}, nullptr});
}

CUresult cuStreamCreate(CUstream* stream, unsigned) { return made(stream); }
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned, int) { return made(stream); }
CUresult cuStreamDestroy(CUstream stream) {
  const std::lock_guard lock(mutex);
  return stream_of(stream)->is_there = false, CUDA_SUCCESS;
}
CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) { return stream_of(stream)->captured = new Graph, CUDA_SUCCESS; }
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  *graph = reinterpret_cast<CUgraph>(stream_of(stream)->captured);
  return stream_of(stream)->captured = nullptr, CUDA_SUCCESS;
}
CUresult cuStreamUpdateCaptureDependencies_v2(CUstream, CUgraphNode*, const CUgraphEdgeData* edges, std::size_t count, unsigned) {
  const std::lock_guard lock(mutex);
  for (std::size_t i = 0; i < count; ++i) early_waits += edges[i].from_port == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC && edges[i].type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  return CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return *status = stream_of(stream)->captured ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE, CUDA_SUCCESS;
}
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t*, CUgraph* captured, const CUgraphNode** nodes, std::size_t* count) {
  Graph* const graph = stream_of(stream)->captured;
  *captured = reinterpret_cast<CUgraph>(graph);
  *status = graph ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  *count = graph && !graph->nodes.empty() ? 1 : 0;
  if (*count) *nodes = reinterpret_cast<const CUgraphNode*>(&graph->nodes.back());
  return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode*, std::size_t* count) { return *count = reinterpret_cast<Graph*>(graph)->nodes.size(), CUDA_SUCCESS; }
CUresult cuGraphDestroy(CUgraph handle) {
  auto* const graph = reinterpret_cast<Graph*>(handle);
  for (Node* node : graph->nodes) {
    if (node->inner) cuGraphDestroy(reinterpret_cast<CUgraph>(node->inner));
    delete node;
  }
  return delete graph, CUDA_SUCCESS;
}
CUresult cuGraphAddChildGraphNode(CUgraphNode* made, CUgraph to, const CUgraphNode*, std::size_t, CUgraph inner) {
  auto* const copy = new Graph;
  for (const Node* node : reinterpret_cast<Graph*>(inner)->nodes) copy->nodes.push_back(new Node(*node));
  auto* const node = new Node{nullptr, {}, copy};
  reinterpret_cast<Graph*>(to)->nodes.push_back(node);
  return *made = reinterpret_cast<CUgraphNode>(node), CUDA_SUCCESS;
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* made, CUgraph handle, unsigned long long) {
  auto* const executable = new Executable;
  for (Node* node : reinterpret_cast<Graph*>(handle)->nodes) {
    executable->places[node] = executable->nodes.size();
    if (!node->inner) {
      executable->nodes.push_back(*node);
      continue;
    }
    executable->inner_counts[node] = node->inner->nodes.size();
    for (const Node* inner : node->inner->nodes) executable->nodes.push_back(*inner);
  }
  return *made = reinterpret_cast<CUgraphExec>(executable), CUDA_SUCCESS;
}
CUresult cuGraphExecDestroy(CUgraphExec executable) { return delete reinterpret_cast<Executable*>(executable), CUDA_SUCCESS; }
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec handle, CUgraphNode place, const CUDA_KERNEL_NODE_PARAMS* parameters) {
  auto* const executable = reinterpret_cast<Executable*>(handle);
  Node& node = executable->nodes[executable->places.at(reinterpret_cast<Node*>(place))];
  node = node_of(parameters->func, parameters->kernelParams);
  const std::lock_guard lock(mutex);
  note("set", node);
  return CUDA_SUCCESS;
}
CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec handle, CUgraphNode place, CUgraph inner) {
  auto* const executable = reinterpret_cast<Executable*>(handle);
  const auto* const node = reinterpret_cast<const Node*>(place);
  const std::vector<Node*>& nodes = reinterpret_cast<Graph*>(inner)->nodes;
  if (refuses_inner || nodes.size() != executable->inner_counts.at(node)) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  const std::lock_guard lock(mutex);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    executable->nodes[executable->places.at(node) + i] = *nodes[i];
    note("set", *nodes[i]);
  }
  return CUDA_SUCCESS;
}
CUresult cuGraphLaunch(CUgraphExec handle, CUstream) {
  if (!notes) return CUDA_SUCCESS;
  const std::lock_guard lock(mutex);
  events += "graph\n";
  for (const Node& node : reinterpret_cast<Executable*>(handle)->nodes) note("launch", node);
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent* event, unsigned) { return *event = reinterpret_cast<CUevent>(1), CUDA_SUCCESS; }
CUresult cuModuleLoadDataEx(CUmodule* module, const void*, unsigned, CUjit_option*, void**) { return *module = reinterpret_cast<CUmodule>(1), CUDA_SUCCESS; }
CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char* name) {
  const std::lock_guard lock(mutex);
  Function*& known = functions[name];
  if (!known) known = new Function{name};
  return *function = reinterpret_cast<CUfunction>(known), CUDA_SUCCESS;
}
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction) {
  return *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0, CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream stream, void** arguments, void**) {
  if (!notes && !stream_of(stream)->captured) return CUDA_SUCCESS;
  return add(stream_of(stream), node_of(function, arguments));
}

}  // extern "C"
