// How damo-bench times calls: many queued ones ended by one wait, the median over repeats of the time a call.
#pragma once
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

namespace damo::bench {

struct Effort {
  double seconds = 0.3;  ///< of one repeat
  int repeats = 7;
  int cold_starts = 3;  ///< of a workload, each a process of its own
};

/// Seconds a call.
struct Timing {
  double median = 0, least = 0, greatest = 0;
  double host = 0;         ///< that the calling thread was busy, median
  double processor = 0;    ///< of all threads of this process, median: other programs on the machine show less in it
  std::int64_t calls = 0;  ///< of one repeat
};

inline double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

using Clock = std::chrono::steady_clock;
inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// wait: returns when all queued calls are done.
template <class Call, class Wait>
Timing time_calls(Call&& call, Wait&& wait, Effort effort) {
  call();
  wait();
  auto start = Clock::now();
  call();
  wait();
  const double one = std::max(seconds_since(start), 1e-7);
  Timing timing;
  timing.calls = std::clamp<std::int64_t>(static_cast<std::int64_t>(effort.seconds / one), 3, 100000);
  std::vector<double> whole, host, processor;
  const double calls = static_cast<double>(timing.calls);
  for (int repeat = 0; repeat < effort.repeats; ++repeat) {
    const double busy = processor_seconds();
    start = Clock::now();
    for (std::int64_t i = 0; i < timing.calls; ++i) call();
    host.push_back(seconds_since(start) / calls);
    wait();
    processor.push_back((processor_seconds() - busy) / calls);
    whole.push_back(seconds_since(start) / calls);
  }
  timing.median = median(whole);
  timing.least = *std::min_element(whole.begin(), whole.end());
  timing.greatest = *std::max_element(whole.begin(), whole.end());
  timing.host = median(host);
  timing.processor = median(processor);
  return timing;
}

}  // namespace damo::bench
