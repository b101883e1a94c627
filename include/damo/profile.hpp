// Profile: what each node of a Function cost on its device, from events. Made by Function::profile() when the function
// was built with Options{.profile = true}. See tests/runtime/exec/profile_print_test.cpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace damo {

struct ProfileRow {
  std::string op;
  std::string where;        ///< "model.cpp:12"
  std::uint64_t calls = 0;
  double milliseconds = 0;  ///< of all calls
  std::uint64_t bytes = 0;  ///< least bytes that all calls must have moved

  double bytes_per_second() const { return milliseconds > 0 ? static_cast<double>(bytes) / (milliseconds * 1e-3) : 0; }
};

/// One node of one call.
struct ProfileSpan {
  std::size_t row = 0;           ///< of Profile::rows
  std::uint64_t call = 0;
  double start_milliseconds = 0; ///< after the Function was built, on the host
  double milliseconds = 0;       ///< on the device
};

struct Profile {
  std::string device;
  std::uint64_t calls = 0;
  double milliseconds = 0;           ///< of all calls, on the host
  double copy_bytes_per_second = 0;  ///< what the device's own copy reaches
  std::vector<ProfileRow> rows;      ///< in order of execution
  std::vector<ProfileSpan> spans;    ///< of the latest calls, at most kSpans nodes of them, oldest first

  static constexpr std::size_t kSpans = 10000;
  /// The spans as JSON for chrome://tracing and Perfetto: one event a node, with its line, bytes and rate.
  std::string chrome_trace() const;
  /// Throws UserError if the file cannot be written.
  const Profile& write_chrome_trace(const std::string& path) const;
};

/// A table: op, calls, microseconds a call, bytes, GB/s, fraction of the copy, line.
std::string to_string(const Profile& profile);
std::ostream& operator<<(std::ostream& out, const Profile& profile);

}  // namespace damo
