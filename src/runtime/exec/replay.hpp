// Replay: the calls of one Binding as graphs. Thunks run at each call, as they may look at more than layouts, but what they
// ask of the device goes to a WorkLog. When the log is complete and the device has a graph of the same work, the parameters
// of those kernels whose addresses changed are set, and the graph is launched by one call. A graph is made when a sequence
// was seen often enough to come again; what differs from all graphs is given to the device piece by piece, as without a
// log. So a replay can't be wrong about addresses: nothing is remembered that a thunk did not ask for in this call.
//
// What a library launches for a product is its secret, so its addresses can't be set. Where they were seen to move the next
// graph has the product as a graph within the graph, which is captured anew with the addresses of the call. The same goes for
// convolutions, copies and fills. A capture costs some launches: where more than a few of them move, nothing is gained.
//
// Two graphs are kept of one sequence, as what alternates between two sets of addresses (results, shared variables' old and
// new values) then needs nothing set. See tests/function/replay_test.cpp.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/stream/work_log.hpp"

namespace damo {

class Replay {
 public:
  /// Calls that run as they come, in which kernels are loaded and libraries choose their algorithms.
  static constexpr int kWarmCalls = 2;
  static constexpr std::size_t kMostGraphs = 2;

  /// A call begins: whether its work should go to a log.
  bool begin();
  bool has_graph() const { return parts_.size() == 1 && !parts_[0].graphs.empty(); }
  /// Launches the graph of a call with these addresses; false if there is none. Instead of all else.
  bool repeat(Backend& backend, std::span<const void* const> addresses);
  /// Gives the device what the log has, and empties the log. Several times a call where something comes between. addresses:
  /// for repeat(), of all that the work follows from; none: it follows from more.
  void flush(WorkLog& log, std::span<const void* const> addresses);

 private:
  struct Graph {
    std::unique_ptr<WorkLog> log;  // what it would do now
    std::unique_ptr<ReplayedWork> work;
    std::vector<const void*> addresses;
  };
  /// A part of a call without anything between.
  struct Part {
    std::vector<Graph> graphs;  // last used first
    int patched = 0;            // calls in a row that had to set something
    int made = 0;
    int few = 0;                // calls in a row with too little work
    int unlike = 0;             // calls in a row that were like no graph
    std::uint64_t calls = 0;
    bool is_off = false;
  };
  bool replay(Part& part, const WorkLog& log);
  static bool use(Part& part, std::size_t graph, Backend& backend);
  bool make(Part& part, const WorkLog& log);
  static bool patch(Graph& graph, const WorkLog& log);
  static void switch_off(Part& part, const std::string& why);

  std::vector<Part> parts_;
  std::size_t part_ = 0;
  std::uint64_t calls_ = 0;
};

}  // namespace damo
