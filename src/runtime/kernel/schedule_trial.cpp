#include "runtime/kernel/schedule_trial.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <system_error>
#include <thread>
#include <utility>

#include <damo/log.hpp>

#include "graph/base/environment.hpp"
#include "runtime/kernel/cache.hpp"
#include "runtime/kernel/of_this_process.hpp"
#include "runtime/kernel/sha256.hpp"

namespace damo {
namespace {

class DeviceClock final : public LaunchClock {
 public:
  explicit DeviceClock(Backend& backend) : backend_(backend) {}
  bool may_measure(void* stream) override { return backend_.may_measure(stream); }
  double milliseconds(const Layout&, void* stream, int repeats, const std::function<void()>& work) override { return backend_.measured_milliseconds(stream, repeats, work); }

 private:
  Backend& backend_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::string microseconds(double milliseconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f us", milliseconds * 1000);
  return text;
}

/// The thread beside one that launches, while there is something to do.
class Beside {
 public:
  void add(std::chrono::milliseconds patience, std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    pieces_.push_back({Clock::now() + patience, std::move(work)});
    if (is_running_) return;
    if (thread_.joinable()) thread_.join();  // it has let go of the mutex for the last time
    try {
      thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
      is_running_ = true;
    } catch (const std::system_error&) {  // no thread for it: the model's choice stays
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Piece {
    Clock::time_point begin;
    std::function<void()> work;
  };

  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!pieces_.empty()) {
      const Piece piece = std::move(pieces_.front());
      pieces_.pop_front();
      changed_.wait_until(lock, stop, piece.begin, [] { return false; });
      if (stop.stop_requested()) return;
      lock.unlock();
      piece.work();
      lock.lock();
    }
    is_running_ = false;
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Piece> pieces_;
  bool is_running_ = false;
  std::jthread thread_;  // the last member, so that it ends before the others do
};

}  // namespace

void do_beside(std::chrono::milliseconds patience, std::function<void()> work) {
  thread_local OfThisProcess<Beside> beside;
  beside->add(patience, std::move(work));
}

std::vector<Layout> short_list(std::vector<ScheduleGuess> guesses, const TrialRules& rules) {
  std::vector<Layout> list{guesses[0].layout};
  const auto less = [](const ScheduleGuess& a, const ScheduleGuess& b) { return a.microseconds < b.microseconds; };
  const double least = std::min_element(guesses.begin(), guesses.end(), less)->microseconds;
  if (guesses[0].microseconds < rules.least_microseconds) return list;
  std::stable_sort(guesses.begin() + 1, guesses.end(), less);
  for (std::size_t i = 1; i < guesses.size() && list.size() < rules.most; ++i) {
    if (guesses[i].microseconds <= least * (1 + rules.margin)) list.push_back(std::move(guesses[i].layout));
  }
  return list;
}

std::size_t fastest(std::span<const std::vector<double>> times, double gain) {
  std::size_t best = 0;
  double least = times[0].empty() ? 0 : median(times[0]) * (1 - gain);
  for (std::size_t i = 1; i < times.size(); ++i) {
    if (times[i].empty()) continue;
    if (const double time = median(times[i]); time < least) best = i, least = time;
  }
  return best;
}

std::string schedule_text(const Layout& layout) {
  return to_string(layout) + (layout.residents > 0 ? ", " + std::to_string(layout.residents) + " resident" : "") + (layout.tiling > 0 ? ", tiling " + std::to_string(layout.tiling) : "");
}

ScheduleTrials::ScheduleTrials(Backend& backend) : backend_(backend), clock_(std::make_shared<DeviceClock>(backend)) {}
ScheduleTrials::~ScheduleTrials() = default;

TrialRules ScheduleTrials::rules() const {
  const std::lock_guard lock(mutex_);
  return rules_;
}

void ScheduleTrials::set_rules(const TrialRules& rules, std::shared_ptr<LaunchClock> clock) {
  const std::lock_guard lock(mutex_);
  rules_ = rules;
  trials_.clear();
  clock_ = clock ? std::move(clock) : std::make_shared<DeviceClock>(backend_);
}

std::shared_ptr<LaunchClock> ScheduleTrials::clock() const {
  const std::lock_guard lock(mutex_);
  return clock_;
}

std::vector<std::shared_ptr<ScheduleTrial>> ScheduleTrials::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<ScheduleTrial>> all;
  for (const auto& [finding, trial] : trials_) all.push_back(trial);
  return all;
}

std::shared_ptr<ScheduleTrial> ScheduleTrials::trial(const std::string& kernel, const std::function<std::string()>& source, const std::string& shapes, std::vector<ScheduleGuess> guesses) {
  std::vector<Layout> layouts = short_list(std::move(guesses), rules());
  if (layouts.size() < 2 || environment("DAMO_TUNE") == "0") return nullptr;
  Sha256 digest;
  digest.update_field(backend_.limits().description).update_field(shapes).update_field(source());
  for (const Layout& layout : layouts) digest.update_field(schedule_text(layout));
  const std::string finding = "schedule " + digest.hex();
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = trials_.find(finding); found != trials_.end()) return found->second;
  }
  auto trial = std::make_shared<ScheduleTrial>(kernel, finding, std::move(layouts));
  if (const std::optional<std::size_t> known = rules().keeps ? kept(*trial) : std::nullopt) {
    trial->chosen_ = *known;
    trial->is_measured_ = true;
    trial->state_ = ScheduleTrial::State::kSettled;
    log(LogLevel::kDebug, "schedule of " + kernel + " (" + shapes + "): " + schedule_text(trial->layout()) + ", as was measured before");
  }
  const std::lock_guard lock(mutex_);
  return trials_.emplace(finding, std::move(trial)).first->second;
}

/// What an earlier process measured. Anything but one of the schedules is no finding.
std::optional<std::size_t> ScheduleTrials::kept(const ScheduleTrial& trial) const {
  const auto bytes = backend_.cache().finding(trial.finding_);
  if (!bytes) return std::nullopt;
  const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  for (std::size_t i = 0; i < trial.layouts_.size(); ++i) {
    if (text == schedule_text(trial.layouts_[i])) return i;
  }
  return std::nullopt;
}

void ScheduleTrials::count(const std::shared_ptr<ScheduleTrial>& trial, const std::function<std::vector<CompileRequest>()>& requests) {
  const TrialRules rules = this->rules();
  if (trial->launches_.fetch_add(1) + 1 < rules.launches) return;
  auto expected = ScheduleTrial::State::kCounting;
  if (!trial->state_.compare_exchange_strong(expected, ScheduleTrial::State::kCompiling)) return;
  do_beside(rules.patience, [self = of(backend_), trial, wanted = requests()] { self->compile(*trial, wanted); });
}

void ScheduleTrials::compile(ScheduleTrial& trial, std::span<const CompileRequest> requests) {
  bool is_choice = false;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    try {
      trial.modules_.push_back(backend_.cache().get(requests[i]));
      is_choice |= i > 0;
    } catch (const std::exception& error) {
      trial.modules_.push_back(nullptr);
      log(LogLevel::kDebug, "schedule of " + trial.kernel_ + ": " + schedule_text(trial.layouts_[i]) + " does not compile: " + error.what());
    }
  }
  trial.state_.store(is_choice ? ScheduleTrial::State::kReady : ScheduleTrial::State::kSettled, std::memory_order_release);
  backend_.schedules.fetch_add(1, std::memory_order_release);
}

bool ScheduleTrials::begin(ScheduleTrial& trial) {
  auto expected = ScheduleTrial::State::kReady;
  return trial.state_.compare_exchange_strong(expected, ScheduleTrial::State::kMeasuring);
}

void ScheduleTrials::settle(ScheduleTrial& trial, std::vector<std::vector<double>> times) {
  const bool is_measured = !times.empty() && !times[0].empty();
  if (is_measured) {
    trial.chosen_ = fastest(times, rules().gain);
    trial.is_measured_ = true;
    std::string text;
    for (std::size_t i = 0; i < times.size(); ++i) text += (i > 0 ? "; " : "") + schedule_text(trial.layouts_[i]) + ": " + (times[i].empty() ? "not taken" : microseconds(median(times[i])));
    log(LogLevel::kDebug, "schedule of " + trial.kernel_ + " by measuring: number " + std::to_string(trial.chosen()) + " of " + text);
    const std::string chosen = schedule_text(trial.layout());
    if (rules().keeps) backend_.cache().keep_finding(trial.finding_, std::as_bytes(std::span(chosen.data(), chosen.size())));
  }
  trial.times_ = std::move(times);
  trial.state_.store(ScheduleTrial::State::kSettled, std::memory_order_release);
  backend_.schedules.fetch_add(1, std::memory_order_release);
}

}  // namespace damo
