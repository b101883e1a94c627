#include "runtime/exec/replay.hpp"

#include <algorithm>
#include <utility>

#include <damo/error.hpp>
#include <damo/log.hpp>

#include "graph/base/pass_names.hpp"
#include "runtime/stream/work_order.hpp"

namespace damo {
namespace {

constexpr int kCallsPerGraph = 32;    // a graph takes as long to make as some tens of calls: no more of them than that pays for
constexpr int kPatchedInARow = 4;     // then a second set of addresses seems to alternate with the first
constexpr int kFewInARow = 2;         // so few launches: one by one they are the quicker way
constexpr int kUnlikeInARow = 64;     // then there is no sequence that comes again
constexpr std::size_t kLaunchesPerMoving = 4;  // that capturing it anew is reckoned as: cuBLASLt's products take less than one, cuDNN's calls were not timed

}  // namespace

bool Replay::begin() {
  ++calls_;
  part_ = 0;
  if (calls_ <= kWarmCalls) return false;
  return parts_.empty() || std::any_of(parts_.begin(), parts_.end(), [](const Part& part) { return !part.is_off; });
}

bool Replay::repeat(Backend& backend, std::span<const void* const> addresses) {
  if (parts_.size() != 1) return false;
  std::vector<Graph>& graphs = parts_[0].graphs;
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    if (!std::ranges::equal(graphs[i].addresses, addresses)) continue;
    backend.launches.fetch_add(graphs[i].log->kernels(), std::memory_order_relaxed);
    return use(parts_[0], i, backend);
  }
  return false;
}

void Replay::flush(WorkLog& log, std::span<const void* const> addresses) {
  if (part_ == parts_.size()) parts_.emplace_back();
  Part& part = parts_[part_++];
  const LogScope to_the_device(nullptr);
  ++part.calls;
  const auto least = static_cast<std::size_t>(log.backend().least_replayed.load(std::memory_order_relaxed));
  if (log.items().size() >= least) part.few = 0;
  else if (++part.few >= kFewInARow) switch_off(part, "");
  try {
    if (!replay(part, log)) log.run(nullptr);
    else if (!log.was_interrupted()) part.graphs.front().addresses.assign(addresses.begin(), addresses.end());
    else part.graphs.front().addresses.clear();
  } catch (...) {
    log.clear();
    throw;
  }
  log.clear();
}

/// Whether a graph did the log's work.
bool Replay::replay(Part& part, const WorkLog& log) {
  if (part.is_off || part.few > 0) return false;
  const auto same = std::find_if(part.graphs.begin(), part.graphs.end(), [&](const Graph& graph) { return *graph.log == log; });
  if (same != part.graphs.end()) {
    part.patched = part.unlike = 0;
    return use(part, static_cast<std::size_t>(same - part.graphs.begin()), log.backend());
  }
  const auto like = std::find_if(part.graphs.rbegin(), part.graphs.rend(), [&](const Graph& graph) { return graph.log->is_like(log) && keeps_order(log, *graph.log); });
  if (like == part.graphs.rend()) {
    if (++part.unlike > kUnlikeInARow) {
      switch_off(part, "its calls differ in more than addresses of kernels' arrays and of a few products, convolutions and copies");
      return false;
    }
    return make(part, log);
  }
  part.unlike = 0;
  if (++part.patched == kPatchedInARow && part.graphs.size() < kMostGraphs) return make(part, log);
  const auto graph = std::prev(like.base());
  try {
    if (!patch(*graph, log)) return false;
  } catch (const OutOfMemoryError&) {
    throw;
  } catch (const Error&) {  // the library launches something else at these addresses: the device refuses, and the graph is not to be trusted
    part.graphs.erase(graph);
    return false;
  }
  return use(part, static_cast<std::size_t>(graph - part.graphs.begin()), log.backend());
}

/// Launches it, and makes it the one last used.
bool Replay::use(Part& part, std::size_t graph, Backend& backend) {
  const auto at = part.graphs.begin() + static_cast<std::ptrdiff_t>(graph);
  std::rotate(part.graphs.begin(), at, at + 1);
  part.graphs.front().work->launch();
  backend.replays.fetch_add(1, std::memory_order_relaxed);
  return true;
}

/// False if that can't be done now; the graph is what its log says all the same.
bool Replay::patch(Graph& graph, const WorkLog& log) {
  graph.addresses.clear();  // until all is set it is no call's
  for (std::size_t i = 0; i < log.items().size(); ++i) {
    if (!log.differs(i, *graph.log)) continue;
    if (!graph.work->set(i, log)) return false;
    graph.log->take_values(i, log);
    log.backend().replayed_values.fetch_add(1, std::memory_order_relaxed);
  }
  return true;
}

bool Replay::make(Part& part, const WorkLog& log) {
  if (part.made > static_cast<int>(kMostGraphs) && static_cast<std::uint64_t>(part.made) * kCallsPerGraph > part.calls) return false;
  ++part.made;
  Graph graph;
  graph.log = log.clone();
  for (const Graph& other : part.graphs) graph.log->learn_moving(*other.log);
  if (graph.log->moving() * kLaunchesPerMoving > log.items().size()) graph.log->forget_moving();
  if (is_disabled(kSideBySide)) graph.log->forget_steps();
  try {
    graph.work = log.backend().prepare_replay(*graph.log);
  } catch (const OutOfMemoryError&) {
    throw;
  } catch (const Error& error) {
    switch_off(part, error.parts().message);
    return false;
  }
  if (!graph.work) return false;
  damo::log(LogLevel::kDebug, "a graph of " + std::to_string(log.items().size()) + " pieces of work, " + std::to_string(WorkOrder(*graph.log).depth()) + " of them one after another");
  if (part.graphs.size() == kMostGraphs) part.graphs.pop_back();
  part.graphs.insert(part.graphs.begin(), std::move(graph));
  return use(part, 0, log.backend());
}

void Replay::switch_off(Part& part, const std::string& why) {
  part.is_off = true;
  part.graphs.clear();
  if (!why.empty()) log(LogLevel::kInfo, "calls of a Function are launched piece by piece, not replayed as a graph: " + why);
}

}  // namespace damo
