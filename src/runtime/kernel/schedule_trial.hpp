// Which of several schedules of a kernel is the fastest, where the target's model finds them about equal (Dialect::alternatives): measured once and kept in the kernel
// cache, as the algorithms of matrix products are. All of them give the same bits, so results do not depend on a clock; DAMO_TUNE=0 leaves it to the model all the same.
//
//   counting    a launch that is expected to take TrialRules::least_microseconds has come fewer than `launches` times: programs that run once pay nothing
//   compiling   TrialRules::patience later, in a thread beside the one that launches, which goes on with the model's choice
//   ready       the next launch that may be measured runs the schedules in turn, on its own arrays
//   settled     by that, by what another process has kept, or because no other schedule compiles
//
// A launch may be measured that runs again with the same results: its kernel has no user's code and writes over none of its inputs, its outputs have no gaps, it goes to the device at
// once (no log, no capture). Of each schedule's results so many bits are compared with the model's (timed_launch.cpp): what differs is not taken.
//
// ScheduleTrials is a device's; ScheduleTrial one kernel's, of one text and class of shapes, which all Functions of the process share. Thread-safe. See tests/runtime/kernel/schedule_trial_test.cpp.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/backend.hpp"
#include "runtime/kernel/dialect.hpp"

namespace damo {

struct TrialRules {
  double least_microseconds = 20;      ///< predicted: shorter launches gain too little
  double margin = 0.08;                ///< by which a prediction may be behind the least
  std::size_t most = 4;                ///< schedules, the model's among them
  int launches = 3;
  std::chrono::milliseconds patience{250};
  double gain = 0.01;                  ///< that another schedule must have over the model's: less is chance
  bool keeps = true;                   ///< what was measured, in the kernel cache, and takes what is there
};

/// The first, which is the model's, and of the others those within the margin of the least prediction, the least first. One alone where nothing is to be measured.
std::vector<Layout> short_list(std::vector<ScheduleGuess> guesses, const TrialRules& rules);

/// By the medians of each schedule's times, none of which may be empty. The first unless another is faster by the gain.
std::size_t fastest(std::span<const std::vector<double>> times, double gain);

/// What a schedule is among others of a kernel.
std::string schedule_text(const Layout& layout);

/// What tells how long launches take; tests have one of their own.
class LaunchClock {
 public:
  virtual ~LaunchClock() = default;
  virtual bool may_measure(void* stream) = 0;
  /// Of one call of `work`, which gives a launch with this schedule to the stream, on average over so many.
  virtual double milliseconds(const Layout& schedule, void* stream, int repeats, const std::function<void()>& work) = 0;
};

class ScheduleTrial {
 public:
  enum class State : std::uint8_t { kCounting, kCompiling, kReady, kMeasuring, kSettled };

  ScheduleTrial(std::string kernel, std::string finding, std::vector<Layout> layouts) : kernel_(std::move(kernel)), finding_(std::move(finding)), layouts_(std::move(layouts)) {}

  State state() const { return state_.load(std::memory_order_acquire); }
  const std::string& kernel() const { return kernel_; }
  /// The model's first.
  const std::vector<Layout>& layouts() const { return layouts_; }
  /// Once it is settled; before, the model's.
  std::size_t chosen() const { return chosen_.load(std::memory_order_acquire); }
  const Layout& layout() const { return layouts_[chosen()]; }
  /// Whether it is settled by measuring, in this process or an earlier one.
  bool is_measured() const { return is_measured_.load(std::memory_order_acquire); }
  /// Once it is ready: of layouts(), null where one does not compile.
  const std::vector<std::shared_ptr<const LoadedModule>>& modules() const { return modules_; }
  /// Once it is settled, by layouts(): milliseconds as they were measured in this process; empty: otherwise settled, or not measured.
  const std::vector<std::vector<double>>& times() const { return times_; }

 private:
  friend class ScheduleTrials;
  const std::string kernel_, finding_;
  const std::vector<Layout> layouts_;
  std::vector<std::shared_ptr<const LoadedModule>> modules_;
  std::vector<std::vector<double>> times_;
  std::atomic<int> launches_ = 0;
  std::atomic<std::size_t> chosen_ = 0;
  std::atomic<bool> is_measured_ = false;
  std::atomic<State> state_ = State::kCounting;
};

class ScheduleTrials final : public Companion {
 public:
  explicit ScheduleTrials(Backend& backend);
  ~ScheduleTrials() override;
  static std::shared_ptr<ScheduleTrials> of(Backend& backend) { return backend.companion<ScheduleTrials>(); }

  TrialRules rules() const;
  /// For tests, and for measuring what is chosen: what was settled in this process is forgotten. clock: null for the device's own.
  void set_rules(const TrialRules& rules, std::shared_ptr<LaunchClock> clock = nullptr);
  std::shared_ptr<LaunchClock> clock() const;

  /// The trial of a kernel, which may be settled; null where there is nothing to choose. source: gives the text with the model's layout. shapes: what of them decides, beside the layouts.
  std::shared_ptr<ScheduleTrial> trial(const std::string& kernel, const std::function<std::string()>& source, const std::string& shapes, std::vector<ScheduleGuess> guesses);
  /// A launch that is not settled yet. requests: what compiles the layouts.
  void count(const std::shared_ptr<ScheduleTrial>& trial, const std::function<std::vector<CompileRequest>()>& requests);
  /// Whether the caller is to measure; then it calls settle().
  static bool begin(ScheduleTrial& trial);
  /// times: by layouts(); a schedule that is not to be taken has none. Empty: the model's is taken, as nothing can be measured, and nothing is kept.
  void settle(ScheduleTrial& trial, std::vector<std::vector<double>> times);

  std::vector<std::shared_ptr<ScheduleTrial>> all() const;

 private:
  void compile(ScheduleTrial& trial, std::span<const CompileRequest> requests);
  std::optional<std::size_t> kept(const ScheduleTrial& trial) const;

  Backend& backend_;
  mutable std::mutex mutex_;
  TrialRules rules_;
  std::shared_ptr<LaunchClock> clock_;
  std::map<std::string, std::shared_ptr<ScheduleTrial>> trials_;  // by finding
};

/// Does work in a thread beside the calling one, piece by piece and each no sooner than its patience after it was given. The calling thread ends it: what has not begun then is
/// left, what has is waited for. For a process' main thread that is exit(), before any library's own objects are destroyed.
void do_beside(std::chrono::milliseconds patience, std::function<void()> work);

}  // namespace damo
