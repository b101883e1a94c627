#include <damo/captured_graph.hpp>

#include <utility>
#include <vector>

#include <damo/error.hpp>
#include <damo/stream.hpp>

#include "runtime/stream/capture.hpp"
#include "runtime/memory/memory_state.hpp"

namespace damo {

struct CapturedGraph::Data {
  Backend& backend;
  std::uint32_t generation;
  std::unique_ptr<CaptureHolds> holds;  // outlives the work that uses what it holds
  std::unique_ptr<CapturedWork> work;
  std::vector<std::shared_ptr<DataReport>> reports;  // see CaptureScope::check_after
};

const CapturedGraph::Data& CapturedGraph::data() const {
  if (data_ == nullptr) throw DeviceError("this CapturedGraph is empty", "get one from capture(stream, work)");
  return *data_;
}

Device CapturedGraph::device() const { return Device(&data().backend); }

void CapturedGraph::launch(const Stream& stream) const {
  const Data& graph = data();
  if (graph.generation != graph.backend.generation()) refuse_lost(graph.backend, "a captured graph");
  if (&stream.device().backend() != &graph.backend) {
    throw DeviceError(
        "a graph captured on " + graph.backend.name() + " cannot be launched on a stream of " + stream.device().name(),
        "use a stream of " + graph.backend.name());
  }
  graph.work->launch(detail::stream_handle(stream));
  CaptureScope* const outer = current_capture(graph.backend);
  for (const auto& report : graph.reports) outer ? outer->check_after(report) : report->check();
}

std::size_t CapturedGraph::node_count() const { return data().work->node_count(); }

void CapturedGraph::keep(const Array& array) const { keep(std::make_shared<const Array>(array)); }
void CapturedGraph::keep(const DevicePointer& memory) const { keep(share_of(memory.state("keep").buffer)); }
void CapturedGraph::keep(std::shared_ptr<const void> anything) const { data().holds->hold(std::move(anything)); }

CapturedGraph capture(const Stream& stream, const std::function<void()>& work) {
  if (!work) throw TypeError("capture: the work is empty", "give a function whose launches and copies are captured");
  Backend& backend = stream.device().backend();
  CaptureScope scope(backend, stream.is_default() ? nullptr : detail::stream_handle(stream));
  work();
  auto captured = scope.finish();
  return CapturedGraph(std::make_shared<CapturedGraph::Data>(
      CapturedGraph::Data{backend, backend.generation(), scope.take_holds(), std::move(captured), scope.take_reports()}));
}

}  // namespace damo
