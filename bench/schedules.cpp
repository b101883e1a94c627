// damo-bench --schedules: of each workload's kernels the schedules that are measured, their times and the choice; and a call by the model's choice and by what was measured, in turn.
#include <chrono>
#include <cstdio>
#include <regex>
#include <set>
#include <string>
#include <thread>

#include "benchmarks.hpp"
#include "workload.hpp"

#include "runtime/backend.hpp"
#include "runtime/kernel/schedule_trial.hpp"

namespace damo::bench {
namespace {

constexpr int kMostCalls = 400;  // until all is settled: NVRTC has compiled by then
constexpr int kTurns = 5;

void show(const ScheduleTrial& trial) {
  std::printf("  %s\n", trial.kernel().c_str());
  for (std::size_t i = 0; i < trial.layouts().size(); ++i) {
    const bool is_timed = i < trial.times().size() && !trial.times()[i].empty();
    std::printf("    %s%s: ", i == trial.chosen() ? "* " : "  ", schedule_text(trial.layouts()[i]).c_str());
    if (is_timed) std::printf("%.1f us%s\n", median(trial.times()[i]) * 1000, i == 0 ? " (the model's)" : "");
    else std::printf("not taken\n");
  }
}

bool is_settled(const ScheduleTrials& trials) {
  for (const auto& trial : trials.all()) {
    if (trial->state() != ScheduleTrial::State::kSettled) return false;
  }
  return true;
}

}  // namespace

void show_schedules(const std::vector<Target>& targets, bool compositions_only, const std::string& filter, Effort effort) {
  for (const Target& target : targets) {
    if (target.device.kind() != DeviceKind::kCuda) continue;
    const std::shared_ptr<ScheduleTrials> trials = ScheduleTrials::of(target.device.backend());
    for (const Workload& work : workloads(target.device.kind(), compositions_only)) {
      if (!work.graph || work.compiles || !std::regex_search(work.name, std::regex(filter))) continue;
      const std::vector<Array> inputs = work.inputs(target.device);
      trials->set_rules({.launches = 1 << 30, .keeps = false});
      const Function by_model = work.build(target.device, true);
      Results kept = by_model.call(inputs);
      trials->set_rules({.patience = std::chrono::milliseconds(0), .keeps = false});
      const Function measured = work.build(target.device, true);
      for (int call = 0; call < kMostCalls && (call < 4 || !is_settled(*trials)); ++call) {
        kept = measured.call(inputs);
        target.device.synchronize();
        if (call >= 3) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
      std::vector<double> before, after;
      for (int turn = 0; turn < kTurns; ++turn) {
        const auto time = [&](const Function& f) { return time_calls([&] { kept = f.call(inputs); }, [&] { target.device.synchronize(); }, {effort.seconds, 1}).median * 1e6; };
        before.push_back(time(by_model));
        after.push_back(time(measured));
      }
      std::printf("%s: %.1f us by the model, %.1f us measured\n", work.name.c_str(), median(before), median(after));
      for (const auto& trial : trials->all()) show(*trial);
      std::fflush(stdout);
    }
    trials->set_rules({});
  }
}

}  // namespace damo::bench
