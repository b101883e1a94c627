// What Function::report() gives: for each node that runs, where the user wrote it, why its kernel ends where it does, what it must move, how long that
// takes at the speed of the device's own copy, and how near to it the kernel came. As text, as JSON and as one HTML page with a roofline plot, whose
// roofs, memory and arithmetic, are measured on the device.
//
//   const Function f = function({x}, {y}, {.profile = true});
//   f(a);
//   f.report().write_html("report.html");
//
// Times need Options::profile and a call; without them the page tells bytes as far as types know the extents. See
// tests/function/report_test.cpp.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <damo/function.hpp>

namespace damo {

struct KernelReport {
  std::string name, layout;
  int registers = 0;        ///< a thread; 0 on a CPU
  int local_bytes = 0;      ///< spills and arrays, a thread
  int threads = 0;          ///< of a block of the latest binding; 0: not bound yet
  double occupancy = 0;     ///< threads that a multiprocessor holds at once, over those that it could; 0: unknown
};

struct NodeReport {
  int number = 0;                    ///< in the order of execution, from 1
  std::string op, lines;             ///< "model.cpp:12, 14"
  std::vector<std::string> formulas; ///< what a fused kernel computes
  std::vector<std::string> reasons;  ///< why it was not fused further
  std::vector<KernelReport> kernels; ///< none: a view, or a library's
  std::uint64_t bytes = 0;           ///< that a call must move; 0: not known
  std::uint64_t instructions = 0;    ///< of a call, by the rows' costs; 0: not known
  double milliseconds = 0;           ///< of a call; 0: not measured
  double floor_milliseconds = 0;     ///< bytes at the speed of the device's copy; 0: not known

  /// Of the copy's speed; 0: not measured.
  double copy_share() const { return milliseconds > 0 ? floor_milliseconds / milliseconds : 0; }
};

struct FunctionReport {
  std::string name, device, device_description;
  double copy_bytes_per_second = 0;
  double instructions_per_second = 0;  ///< that the device can do on values in registers, in the unit of NodeReport::instructions; 0: not measured
  std::uint64_t calls = 0;           ///< that were measured
  std::vector<NodeReport> nodes;     ///< that run something: views are left out

  std::string text() const;
  std::string json() const;
  std::string html() const;
  /// Each throws UserError if the file cannot be written.
  const FunctionReport& write_json(const std::string& path) const;
  const FunctionReport& write_html(const std::string& path) const;
};

}  // namespace damo
