// WorkLog: work for a device's default stream that one thread has asked for and the device does not have yet: launches,
// copies and fills within the device, matrix products and convolutions of libraries, in order. While a LogScope is open the thread's work goes there,
// so that a whole sequence can be looked at, and given to the device with one call where it is known (Replay, replay.hpp).
//
// Nobody else may see a difference. What cannot wait (a wait, an event, a copy to or from the host, a kernel whose
// parameters nobody knows) first gives the device what the log has (flush_for_other_work). Memory that the thread lets go
// of meanwhile may be part of work that waits, so it stays with the log until that was given away; the thread's own next
// requests are served from it first, since they come later in the same order. See tests/runtime/stream/work_log_test.cpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/backend.hpp"
#include "runtime/stream/capture.hpp"

namespace damo {

class PreparedConvolution;
class PreparedProduct;
struct ConvolutionAddresses;
struct MatrixAddresses;
class WorkLog;

/// One piece of work. Values (arguments, addresses) lie in WorkLog::values. No padding: logs are compared as bytes.
struct WorkItem {
  enum class Kind : std::uint64_t { kKernel, kCopy, kFill, kProduct, kConvolution };
  const void* what = nullptr;  ///< the LoadedKernel, the PreparedProduct or the PreparedConvolution
  Dim3 grid, block;
  std::uint64_t shared_bytes = 0;
  Kind kind = Kind::kKernel;
  std::uint32_t first = 0, bytes = 0;  ///< of its values
};

/// Work that a device made ready from a log, to be run again and again.
class ReplayedWork {
 public:
  virtual ~ReplayedWork() = default;
  /// The log is_like the one that this was made from, whose item i differs: it becomes the log's. False if that can't be done
  /// now, and nothing changed. After an error nobody knows what this would do, so it must not be launched.
  virtual bool set(std::size_t i, const WorkLog& log) = 0;
  virtual void launch() = 0;
};

class WorkLog {
 public:
  /// Bytes that items of a step may read, or also write.
  struct Touch {
    std::uintptr_t begin;
    std::size_t bytes;
    std::uint32_t step;
    bool writes;
  };
  /// Items that one node asked for, in order (work_order.hpp).
  struct Step {
    std::uint32_t first_item;
    bool is_known;          ///< its touches are all that its items may touch
    bool is_apart = false;  ///< none of its items writes what another one of them touches
    bool is_single = false;  ///< what comes behind its first item is a step that does not say what it touches
  };

  explicit WorkLog(Backend& backend) : backend_(backend), generation_(backend.generation()) {}
  WorkLog(const WorkLog&) = delete;
  WorkLog& operator=(const WorkLog&) = delete;
  ~WorkLog();

  // Whether it is noted. false: the caller has to do it itself, and everything noted before has been done.
  bool launch(const LoadedKernel& kernel, const LaunchConfig& config, void* const* arguments);
  bool copy(void* to, const void* from, std::size_t bytes, CopyKind kind);
  bool fill(void* to, const void* element, std::size_t element_bytes, std::size_t count);
  bool multiply(PreparedProduct& product, const MatrixAddresses& addresses, void* workspace);
  bool convolve(PreparedConvolution& convolution, const ConvolutionAddresses& addresses, void* workspace);
  /// What comes until end_step() is one step, whose number this gives. is_known: the caller names by touch() all memory that its items may touch, but
  /// for what the thread asks for meanwhile and lets go of, which is noted here.
  std::uint32_t begin_step(bool is_known);
  void touch(std::uint32_t step, const void* memory, std::size_t bytes, bool writes);
  /// Of the step that has begun last.
  void touch(const void* memory, std::size_t bytes, bool writes);
  /// The next item, the last of a known step, touches less than the others: the step ends here, and another one begins whose touches the caller names.
  void split_step();
  /// None of the items that the step will have writes what another one of them touches. Without effect behind an item:
  /// what somebody else asked for to prepare the node's memory, a fill or a copy, must come first.
  void note_apart();
  /// The step's items touch more than its touches say.
  void note_uncontained();
  void end_step();
  /// Its items keep their order, whatever they touch.
  void forget_steps() { steps_.clear(), touches_.clear(); }
  std::span<const Step> steps() const { return steps_; }
  std::span<const Touch> touches() const { return touches_; }
  /// Other work of the thread is about to go to the default stream, or to be waited for.
  void flush_for_other_work();
  /// Whether that happened since begin(): what the log has is not all that was asked for.
  bool was_interrupted() const { return was_interrupted_; }
  Backend& backend() const { return backend_; }
  std::span<const WorkItem> items() const { return items_; }
  std::span<const std::byte> values() const { return values_; }
  bool empty() const { return items_.empty(); }
  /// How many of the items are kernels and calls of libraries: what Backend::launches counts.
  std::size_t kernels() const;
  bool operator==(const WorkLog& other) const;
  /// Equal but for values of kernels, and of items that move.
  bool is_like(const WorkLog& other) const;
  /// What else than a kernel is expected to come with other values, so that a replay must be able to set it.
  bool moves(std::size_t i) const { return i < moving_.size() && moving_[i] != 0; }
  std::size_t moving() const;
  /// If the other log is the same sequence: what moves in it, and what else than kernels has other values there, moves here.
  void learn_moving(const WorkLog& other);
  void forget_moving() { moving_.clear(); }
  bool differs(std::size_t i, const WorkLog& other) const;
  /// Those of item i, of a log like this one.
  void take_values(std::size_t i, const WorkLog& other);
  /// A copy of its items, which keeps their kernels and products.
  std::unique_ptr<WorkLog> clone() const;

  /// Gives item i, or all, to a stream: null is the default one.
  void run(std::size_t i, void* stream) const;
  void run(void* stream) const;
  /// Forgets the items: the device has them now, or nobody wants them.
  void clear() noexcept;
  /// Of a kernel, for a launch: pointers to its arguments. Good until the next call in the thread.
  void** arguments(const WorkItem& item) const;

  // Memory, see above. What the thread asked for and let go of within the log stays for the next call.
  /// False if there is no host memory to note it: then the device has all work, and the pool may have the block.
  bool keep(void* memory, std::size_t bytes, std::size_t class_bytes, StreamSet used_by) noexcept;
  /// A block of a size class; null if there is none.
  void* take(std::size_t class_bytes) noexcept;
  void note_allocated(void* memory, std::size_t class_bytes);
  /// Around a call. Equal calls get equal memory; what no call needed for a while goes back. for_capture: the work is for a
  /// stream that is captured; copies from host memory wait too, which must stay as it is as long as the captured graph.
  void begin(bool for_capture = false);
  /// Another number when memory that work asked for within the log may since have become somebody else's.
  std::uintptr_t epoch() const { return epoch_; }
  void end() noexcept;

 private:
  struct Block {
    void* memory;
    std::size_t bytes, class_bytes;
    StreamSet used_by;
    bool is_own;
    std::uint64_t last_call;
  };
  void add(WorkItem::Kind kind, const void* what, std::size_t bytes);
  void drop_empty_step();
  void give_back(const Block& block) noexcept;

  Backend& backend_;
  std::uint32_t generation_;
  std::vector<WorkItem> items_;
  std::vector<std::byte> values_;
  std::vector<Step> steps_;                        // each has items
  std::vector<Touch> touches_;
  bool in_step_ = false;
  std::vector<char> moving_;                       // by item; empty: none
  std::vector<std::shared_ptr<const void>> held_;  // kernels that their owners may let go of
  std::vector<Block> blocks_;
  std::vector<void*> allocated_;
  std::uint64_t call_ = 0;
  std::uintptr_t epoch_ = 1;
  bool is_for_capture_ = false, was_interrupted_ = false;
};

/// The calling thread's; null if its work goes to the device at once.
extern constinit thread_local WorkLog* log_of_thread [[gnu::tls_model("initial-exec")]];

inline WorkLog* current_log(const Backend& backend) {
  WorkLog* const log = log_of_thread;
  return log != nullptr && &log->backend() == &backend ? log : nullptr;
}

/// For who gives work to the default stream himself: throws DeviceError if the thread captures, and gives the device
/// first what the thread's log has.
inline void enter_default_stream(const Backend& backend) {
  check_default_stream(backend);
  if (WorkLog* log = current_log(backend)) log->flush_for_other_work();
}

/// While it lives the thread's work for the default stream goes to the log; null: to the device.
class LogScope {
 public:
  explicit LogScope(WorkLog* log) : before_(log_of_thread) { switch_to(log); }
  LogScope(const LogScope&) = delete;
  LogScope& operator=(const LogScope&) = delete;
  ~LogScope() { switch_to(before_); }
  void switch_to(WorkLog* log) { log_of_thread = log; }

 private:
  WorkLog* before_;
};

}  // namespace damo
