// CudaBackend's replays: a log of work becomes a graph, by capturing a stream that is given the work and run by nobody. Which
// node a kernel became is asked after it; a library's call may be several. Later calls set the parameters of those kernels whose values changed, which
// leaves replays under way as they are, and launch the graph.
#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <damo/error.hpp>

#include "runtime/cuda/backend.hpp"
#include "runtime/cuda/module.hpp"

namespace damo::cuda_backend {
namespace {

thread_local bool captures_now = false;

/// A stream that is captured, which the rest of the back end knows nothing of: memory that goes back to the pool meanwhile needs
/// no holding, as each call brings its own (Replay).
class CaptureStream {
 public:
  explicit CaptureStream(CudaBackend& backend) : backend_(backend), driver_(backend.driver()) {
    backend.check(driver_.stream_create(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    const CUresult result = driver_.stream_begin_capture(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    if (result != CUDA_SUCCESS) driver_.stream_destroy(stream);
    backend.check(result, "cuStreamBeginCapture");
    captures_now = is_open_ = true;
  }
  CaptureStream(const CaptureStream&) = delete;
  CaptureStream& operator=(const CaptureStream&) = delete;
  ~CaptureStream() {
    CUgraph graph = nullptr;
    if (is_open_ && end(&graph) == CUDA_SUCCESS && graph) driver_.graph_destroy(graph);
    driver_.stream_destroy(stream);
  }
  CUgraph finish() {
    CUgraph graph = nullptr;
    backend_.check(end(&graph), "cuStreamEndCapture");
    return graph;
  }
  CUstream stream = nullptr;

 private:
  CUresult end(CUgraph* graph) {
    captures_now = is_open_ = false;
    return driver_.stream_end_capture(stream, graph);
  }
  CudaBackend& backend_;
  const Driver& driver_;
  bool is_open_ = false;
};

class CudaReplay final : public ReplayedWork {
 public:
  CudaReplay(CudaBackend& backend, const WorkLog& log) : backend_(backend), generation_(backend.generation()), log_(log.clone()) {}
  CudaReplay(const CudaReplay&) = delete;
  CudaReplay& operator=(const CudaReplay&) = delete;
  /// A replay under way goes on.
  ~CudaReplay() override {
    if (generation_ != backend_.generation() || !backend_.bind_quietly()) return;
    if (executable_) backend_.driver().graph_exec_destroy(executable_);
    if (graph_) backend_.driver().graph_destroy(graph_);
  }

  void capture() {
    backend_.bind();
    CaptureStream on(backend_);
    for (std::size_t i = 0; i < log_->items().size(); ++i) {
      log_->run(i, on.stream);
      nodes_.push_back(log_->items()[i].kind == WorkItem::Kind::kKernel ? last_node(on.stream) : nullptr);
    }
    graph_ = on.finish();
    backend_.check(backend_.driver().graph_instantiate(&executable_, graph_, 0), "cuGraphInstantiate");
  }

  void set(std::size_t i, const WorkLog& log) override {
    log_->take_values(i, log);
    const WorkItem& item = log_->items()[i];
    const auto extent = [](std::int64_t value) { return static_cast<unsigned>(value); };
    CUDA_KERNEL_NODE_PARAMS parameters{};
    parameters.func = static_cast<const CudaKernel*>(static_cast<const LoadedKernel*>(item.what))->function();
    parameters.gridDimX = extent(item.grid.x), parameters.gridDimY = extent(item.grid.y), parameters.gridDimZ = extent(item.grid.z);
    parameters.blockDimX = extent(item.block.x), parameters.blockDimY = extent(item.block.y), parameters.blockDimZ = extent(item.block.z);
    parameters.sharedMemBytes = static_cast<unsigned>(item.shared_bytes);
    parameters.kernelParams = log_->arguments(item);
    backend_.bind();
    backend_.check(backend_.driver().graph_exec_kernel_set(executable_, nodes_[i], &parameters), "cuGraphExecKernelNodeSetParams");
  }

  void launch() override {
    if (generation_ != backend_.generation()) [[unlikely]]
      refuse_lost(backend_, "the graph of a call");
    backend_.launch_graph(executable_, nullptr);
    backend_.remember(*log_);
  }

 private:
  /// What the stream's next work would wait for: the node of its last.
  CUgraphNode last_node(CUstream stream) const {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUgraph graph = nullptr;
    cuuint64_t id = 0;
    const CUgraphNode* nodes = nullptr;
    std::size_t count = 0;
    backend_.check(backend_.driver().stream_get_capture_info(stream, &status, &id, &graph, &nodes, &count), "cuStreamGetCaptureInfo");
    if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE || count != 1) throw DeviceError("the work of a call can't be captured: it ends in " + std::to_string(count) + " nodes");
    return nodes[0];
  }

  CudaBackend& backend_;
  std::uint32_t generation_;
  std::unique_ptr<WorkLog> log_;  // keeps kernels and products
  CUgraph graph_ = nullptr;       // whose nodes set() names
  CUgraphExec executable_ = nullptr;
  std::vector<CUgraphNode> nodes_;  // by item: a kernel's
};

}  // namespace

bool CudaBackend::captures_replay() { return captures_now; }

std::unique_ptr<ReplayedWork> CudaBackend::prepare_replay(const WorkLog& log) {
  const std::unique_lock no_wait(replay_captures_, std::try_to_lock);
  if (!no_wait) return nullptr;
  auto replay = std::make_unique<CudaReplay>(*this, log);
  replay->capture();
  return replay;
}

void CudaBackend::remember(const WorkLog& log) const {
  const std::span<const WorkItem> items = log.items();
  for (const WorkItem& item : items.last(std::min<std::size_t>(items.size(), kRecent))) {
    if (item.kind == WorkItem::Kind::kKernel) remember(*static_cast<const CudaKernel*>(static_cast<const LoadedKernel*>(item.what)));
  }
}

}  // namespace damo::cuda_backend
