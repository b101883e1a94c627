// ProfileRecorder: what each node of a Function cost, from device events. Recording waits for the device after each
// node, so a profiled call is slower than a plain one; the times themselves are the device's. Thread-safe: see Clock.
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include <damo/device.hpp>
#include <damo/profile.hpp>
#include <damo/thunk.hpp>

namespace damo {

class Program;

class ProfileRecorder {
 public:
  /// The events of one Context: calls on other threads record their own.
  struct Clock {
    explicit Clock(Device device) : stream(Stream::default_of(device)), start(device), stop(device) {}
    Stream stream;
    Event start, stop;
    double began_milliseconds = 0;
  };

  ProfileRecorder(const Program& program);

  void begin(Clock& clock, const Program& program, int node);
  void end(const Clock& clock, int node, const std::vector<Cell>& cells, const Program& program);
  void called(double milliseconds);
  Profile profile(const Program& program) const;

 private:
  struct Row {
    std::uint64_t calls = 0;
    double milliseconds = 0;
    std::uint64_t bytes = 0;
  };
  double milliseconds() const { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - built_).count(); }

  const std::chrono::steady_clock::time_point built_ = std::chrono::steady_clock::now();
  mutable std::mutex mutex_;
  std::deque<ProfileSpan> spans_;  // by node
  std::vector<Row> rows_;
  std::uint64_t calls_ = 0;
  double total_milliseconds_ = 0;
};

/// Bytes that reading or writing every element of the cell once moves: repeated elements count once.
std::uint64_t distinct_bytes(const Cell& cell);

}  // namespace damo
