// CudaBackend's replays: a log of work becomes a graph, by capturing a stream that is given the work and run by nobody. Which
// node a kernel became is asked after it; a library's call may be several. Before each item the stream's capture is told what the item waits for
// (WorkOrder), so that the device runs side by side what needs nothing of each other; a kernel that waits itself for what it follows
// (cubin_waits.hpp) is launched before such a kernel in front of it has ended. Later calls set the parameters of those kernels whose values changed, which
// leaves replays under way as they are, and launch the graph. What else moves (WorkLog::moves) is a graph within the graph. It is set by a graph of the
// same work captured anew, of which the driver takes the parameters if it has the same nodes, and refuses it if not.
#include <algorithm>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <damo/error.hpp>

#include "runtime/cuda/backend.hpp"
#include "runtime/cuda/module.hpp"
#include "runtime/stream/work_order.hpp"

namespace damo::cuda_backend {
namespace {

thread_local bool captures_now = false;

/// Kernels of a graph that may run at the same time. The unfused optimizer of 300 tensors, whose kernels need next to nothing of each other, took 33 ms on an H200 without
/// such a limit and 9 in a row: the driver has work of its own for each branch of a graph.
constexpr std::size_t kMostBranches = 8;

/// A graph and who destroys it.
class OwnGraph {
 public:
  explicit OwnGraph(CudaBackend& backend) : driver_(backend.driver()) {}
  OwnGraph(const OwnGraph&) = delete;
  OwnGraph& operator=(const OwnGraph&) = delete;
  ~OwnGraph() {
    if (graph) driver_.graph_destroy(graph);
  }
  CUgraph graph = nullptr;

 private:
  const Driver& driver_;
};

/// Of what the function gives to the stream.
template <class Work>
CUgraph captured(CudaBackend& backend, CUstream stream, const Work& work) {
  OwnGraph made(backend);
  backend.check(backend.driver().stream_begin_capture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), "cuStreamBeginCapture");
  const bool nested = std::exchange(captures_now, true);
  const auto end = [&] {
    captures_now = nested;
    return backend.driver().stream_end_capture(stream, &made.graph);
  };
  try {
    work();
  } catch (...) {
    end();
    throw;
  }
  backend.check(end(), "cuStreamEndCapture");
  return std::exchange(made.graph, nullptr);
}

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
    const CUstream on = announced(false);
    if (log_->moving() != 0) announced(true);  // before the first is captured
    const std::size_t count = log_->items().size();
    WorkOrder order(*log_);
    order.narrow(kMostBranches);
    // A log whose items keep their order keeps their ends too. Later drivers alone know waits that are not for an end.
    const bool launches_early = !log_->steps().empty() && backend_.driver().stream_set_capture_edges;
    const bool is_wide = launches_early || order.depth() < count;
    std::vector<std::vector<CUgraphNode>> ends(count);  // by item: what those that wait for it wait for
    graph_ = captured(backend_, on, [&] {
      for (std::size_t i = 0; i < count; ++i) {
        if (is_wide) wait_for(order.waits[i], ends, launches_early && waits_first(i), on);
        if (log_->moves(i)) {
          nodes_.push_back(add_inner(i, on));
        } else {
          log_->run(i, on);
          nodes_.push_back(log_->items()[i].kind == WorkItem::Kind::kKernel ? last_node(on) : nullptr);
        }
        CUgraph graph = nullptr;
        const std::span<const CUgraphNode> nodes = last_nodes(on, &graph);
        ends[i].assign(nodes.begin(), nodes.end());
      }
    });
    backend_.check(backend_.driver().graph_instantiate(&executable_, graph_, 0), "cuGraphInstantiate");
  }

  bool set(std::size_t i, const WorkLog& log) override {
    const WorkItem& item = log_->items()[i];
    if (item.kind != WorkItem::Kind::kKernel) return set_inner(i, log);
    log_->take_values(i, log);
    const auto extent = [](std::int64_t value) { return static_cast<unsigned>(value); };
    CUDA_KERNEL_NODE_PARAMS parameters{};
    parameters.func = static_cast<const CudaKernel*>(static_cast<const LoadedKernel*>(item.what))->function();
    parameters.gridDimX = extent(item.grid.x), parameters.gridDimY = extent(item.grid.y), parameters.gridDimZ = extent(item.grid.z);
    parameters.blockDimX = extent(item.block.x), parameters.blockDimY = extent(item.block.y), parameters.blockDimZ = extent(item.block.z);
    parameters.sharedMemBytes = static_cast<unsigned>(item.shared_bytes);
    parameters.kernelParams = log_->arguments(item);
    backend_.bind();
    backend_.check(backend_.driver().graph_exec_kernel_set(executable_, nodes_[i], &parameters), "cuGraphExecKernelNodeSetParams");
    return true;
  }

  void launch() override {
    if (generation_ != backend_.generation()) [[unlikely]]
      refuse_lost(backend_, "the graph of a call");
    backend_.launch_graph(executable_, nullptr);
    backend_.remember(*log_);
  }

 private:
  bool waits_first(std::size_t i) const {
    const WorkItem& item = log_->items()[i];
    return item.kind == WorkItem::Kind::kKernel && !log_->moves(i) && static_cast<const CudaKernel*>(static_cast<const LoadedKernel*>(item.what))->waits_first();
  }

  /// The stream's next work waits for these items and for nothing else. early: of kernels that wait first it does not wait for the end. Both sides must
  /// be such kernels: what waits for this one's end alone may then count on the ends of all that came before it.
  void wait_for(const std::vector<std::uint32_t>& items, const std::vector<std::vector<CUgraphNode>>& ends, bool early, CUstream stream) const {
    std::vector<CUgraphNode> nodes;
    std::vector<CUgraphEdgeData> edges;
    bool some_early = false;
    for (std::uint32_t item : items) {
      CUgraphEdgeData edge{};
      if (early && waits_first(item)) {
        some_early = true;
        edge.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
        edge.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
      }
      nodes.insert(nodes.end(), ends[item].begin(), ends[item].end());
      edges.resize(nodes.size(), edge);
    }
    const Driver& driver = backend_.driver();
    const CUresult result = some_early ? driver.stream_set_capture_edges(stream, nodes.data(), edges.data(), nodes.size(), CU_STREAM_SET_CAPTURE_DEPENDENCIES)
                                       : driver.stream_set_capture_end(stream, nodes.data(), nodes.size(), CU_STREAM_SET_CAPTURE_DEPENDENCIES);
    backend_.check(result, "cuStreamUpdateCaptureDependencies");
  }

  /// Told of, so that libraries are ready for it.
  CUstream announced(bool within) const {
    const CUstream stream = backend_.replay_stream(within);
    backend_.tell_of_capture(stream);
    return stream;
  }

  CUgraph capture_inner(std::size_t i, const WorkLog& log) {
    const CUstream within = backend_.replay_stream(true);
    return captured(backend_, within, [&] { log.run(i, within); });
  }

  /// Item i as a graph within the graph that the stream's capture makes.
  CUgraphNode add_inner(std::size_t i, CUstream stream) {
    OwnGraph inner(backend_);
    inner.graph = capture_inner(i, *log_);
    CUgraph graph = nullptr;
    const std::span<const CUgraphNode> before = last_nodes(stream, &graph);
    CUgraphNode node = nullptr;
    backend_.check(backend_.driver().graph_add_child(&node, graph, before.data(), before.size(), inner.graph), "cuGraphAddChildGraphNode");
    backend_.check(backend_.driver().stream_set_capture_end(stream, &node, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES), "cuStreamUpdateCaptureDependencies");
    return node;
  }

  bool set_inner(std::size_t i, const WorkLog& log) {
    const auto no_wait = backend_.lock_replay_captures();
    if (!no_wait) return false;
    backend_.bind();
    announced(true);
    OwnGraph inner(backend_);
    inner.graph = capture_inner(i, log);
    backend_.check(backend_.driver().graph_exec_child_set(executable_, nodes_[i], inner.graph), "cuGraphExecChildGraphNodeSetParams");
    log_->take_values(i, log);
    return true;
  }

  /// What the stream's next work would wait for: the node of its last.
  CUgraphNode last_node(CUstream stream) const {
    CUgraph graph = nullptr;
    const std::span<const CUgraphNode> nodes = last_nodes(stream, &graph);
    if (nodes.size() != 1) throw DeviceError("the work of a call can't be captured: it ends in " + std::to_string(nodes.size()) + " nodes");
    return nodes[0];
  }

  std::span<const CUgraphNode> last_nodes(CUstream stream, CUgraph* graph) const {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id = 0;
    const CUgraphNode* nodes = nullptr;
    std::size_t count = 0;
    backend_.check(backend_.driver().stream_get_capture_info(stream, &status, &id, graph, &nodes, &count), "cuStreamGetCaptureInfo");
    if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE) throw DeviceError("the work of a call can't be captured: it ended the capture");
    return {nodes, count};
  }

  CudaBackend& backend_;
  std::uint32_t generation_;
  std::unique_ptr<WorkLog> log_;  // keeps kernels and products
  CUgraph graph_ = nullptr;       // whose nodes set() names
  CUgraphExec executable_ = nullptr;
  std::vector<CUgraphNode> nodes_;  // by item: a kernel's, or of what moves
};

}  // namespace

bool CudaBackend::captures_replay() { return captures_now; }

/// The rest of the back end knows nothing of these streams: memory that goes back to the pool meanwhile needs no holding, as each call brings its own (Replay).
CUstream CudaBackend::replay_stream(bool within) {
  bind();
  const std::lock_guard lock(streams_mutex_);
  CUstream& stream = replay_streams_[within ? 1 : 0];
  if (!stream) check(driver_.stream_create(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  return stream;
}

std::unique_ptr<ReplayedWork> CudaBackend::prepare_replay(const WorkLog& log) {
  const auto no_wait = lock_replay_captures();
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
