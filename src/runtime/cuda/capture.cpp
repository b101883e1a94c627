// CudaBackend's captures: CUDA graphs. The mode is relaxed, as the pool may allocate and kernels may be loaded while a
// stream is captured.
#include <memory>

#include <damo/error.hpp>

#include "runtime/cuda/backend.hpp"

namespace damo::cuda_backend {
namespace {

class CudaGraph final : public CapturedWork {
 public:
  CudaGraph(CudaBackend& backend, CUgraphExec graph, std::size_t node_count)
      : backend_(backend), graph_(graph), node_count_(node_count), generation_(backend.generation()) {}
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;
  /// A replay under way goes on.
  ~CudaGraph() override {
    if (generation_ == backend_.generation() && backend_.bind_quietly()) backend_.driver().graph_exec_destroy(graph_);
  }

  void launch(void* stream) override { backend_.launch_graph(graph_, stream); }
  std::size_t node_count() const override { return node_count_; }

 private:
  CudaBackend& backend_;
  CUgraphExec graph_;
  std::size_t node_count_;
  std::uint32_t generation_;
};

/// A graph as it was captured, destroyed once it is instantiated.
struct GraphOwner {
  const Driver& driver;
  CUgraph graph = nullptr;

  ~GraphOwner() {
    if (graph) driver.graph_destroy(graph);
  }
};

}  // namespace

bool CudaBackend::is_capturing(CUstream stream) const noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return driver_.stream_is_capturing(stream, &status) == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void CudaBackend::begin_capture(void* stream) {
  bind();
  join_streams(stream_set(stream));  // nobody can wait for its earlier work until the capture is over
  tell_of_capture(static_cast<CUstream>(stream));
  check(driver_.stream_begin_capture(static_cast<CUstream>(stream), CU_STREAM_CAPTURE_MODE_RELAXED),
        "cuStreamBeginCapture");
}

std::unique_ptr<CapturedWork> CudaBackend::end_capture(void* stream) {
  bind();
  GraphOwner owner{driver_};
  check(driver_.stream_end_capture(static_cast<CUstream>(stream), &owner.graph), "cuStreamEndCapture");
  fork_streams();  // what was allocated meanwhile may still be in use on the default stream
  std::size_t nodes = 0;
  check(driver_.graph_get_nodes(owner.graph, nullptr, &nodes), "cuGraphGetNodes");
  CUgraphExec executable = nullptr;
  check(driver_.graph_instantiate(&executable, owner.graph, 0), "cuGraphInstantiate");
  try {
    return std::make_unique<CudaGraph>(*this, executable, nodes);
  } catch (...) {
    driver_.graph_exec_destroy(executable);
    throw;
  }
}

void CudaBackend::abandon_capture(void* stream) noexcept {
  if (!bind_quietly()) return;
  GraphOwner owner{driver_};
  driver_.stream_end_capture(static_cast<CUstream>(stream), &owner.graph);
}

void CudaBackend::launch_graph(CUgraphExec graph, void* stream) {
  bind();
  const CUstream on = stream_of(stream);
  check(driver_.graph_launch(graph, on), "cuGraphLaunch");
  note_work(stream);
  if (!waits_for_launches_ || (captures != 0 && is_capturing(on))) return;
  const CUresult result = driver_.stream_synchronize(on);
  if (result != CUDA_SUCCESS) fail(result, "cuStreamSynchronize", "a captured graph was launched");
}

}  // namespace damo::cuda_backend
