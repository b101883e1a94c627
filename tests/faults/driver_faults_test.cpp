// Every call of the CUDA driver fails, one after another: the table of its functions is replaced by one that asks first.
// Calls that give something back never fail, as the driver's do not; a capture that can't be ended well has ended.
// In this process, as a context of the driver's survives no fork(). DAMO_TEST_FAULTS=all takes every point.
#if DAMO_HAS_CUDA
#include <cstdlib>
#include <iostream>
#include <set>
#include <string_view>

#include <gtest/gtest.h>

#include <damo/cache.hpp>
#include <damo/log.hpp>

#include "faults/trial.hpp"
#include "runtime/backend.hpp"
#include "runtime/cuda/cuda_backend.hpp"
#include "runtime/cuda/driver.hpp"
#include "runtime/memory/memory_pool.hpp"
#include "runtime/memory/pinned_pool.hpp"

namespace damo::faults {
namespace {

using cuda_backend::Driver;

Driver real;

CUresult error_of(std::string_view name) {
  return name.find("Alloc") != name.npos ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_OPERATING_SYSTEM;
}

template <auto Member, class Function>
struct Point;
template <auto Member, class... Arguments>
struct Point<Member, CUresult(CUDAAPI*)(Arguments...)> {
  static inline const char* name = "";
  static CUresult CUDAAPI call(Arguments... arguments) {
    return Injection::here(Kind::kBackend, name) ? error_of(name) : (real.*Member)(arguments...);
  }
};

template <auto Member>
void put_point(Driver& table, const char* name) {
  static const std::set<std::string_view> never_fail = {
      "cuGetErrorName",   "cuGetErrorString",    "cuMemFree",     "cuMemFreeHost",  "cuMemHostUnregister", "cuIpcCloseMemHandle", "cuStreamDestroy",
      "cuEventDestroy",   "cuGraphDestroy",      "cuGraphExecDestroy", "cuModuleUnload", "cuLinkDestroy",  "cuDevicePrimaryCtxRelease",
      "cuDevicePrimaryCtxReset", "cuStreamEndCapture", "cuCtxGetCurrent", "cuCtxSetCurrent", "cuStreamIsCapturing", "cuStreamWaitEvent", "cuEventRecord"};
  using Function = std::remove_cvref_t<decltype(table.*Member)>;
  if (!(table.*Member) || never_fail.contains(name)) return;
  Point<Member, Function>::name = name;
  table.*Member = Point<Member, Function>::call;
}

CUresult CUDAAPI end_capture(CUstream stream, CUgraph* graph) {
  const CUresult result = real.stream_end_capture(stream, graph);
  if (result != CUDA_SUCCESS || !Injection::here(Kind::kBackend, "cuStreamEndCapture")) return result;
  real.graph_destroy(*graph);
  *graph = nullptr;
  return CUDA_ERROR_OPERATING_SYSTEM;
}

/// The process's table, with points while this lives.
class FaultyDriver {
 public:
  FaultyDriver() : table_(const_cast<Driver&>(cuda_backend::driver())) {
    real = table_;
#define DAMO_POINT(member, symbol) put_point<&Driver::member>(table_, #symbol);
    DAMO_DRIVER_FUNCTIONS(DAMO_POINT)
    DAMO_OPTIONAL_DRIVER_FUNCTIONS(DAMO_POINT)
#undef DAMO_POINT
    table_.stream_end_capture = end_capture;
  }
  ~FaultyDriver() { table_ = real; }
  FaultyDriver(const FaultyDriver&) = delete;

 private:
  Driver& table_;
};

class DriverFaults : public ::testing::TestWithParam<ProgramEntry> {
 protected:
  void SetUp() override {
    if (cuda_problem()) GTEST_SKIP() << "needs a GPU";
    set_log_level(LogLevel::kOff);
  }
};

TEST_P(DriverFaults, EndInTheAnswerOrOneErrorWhereverACallOfTheDriverFailsOnCuda) {
  constexpr unsigned kKinds = static_cast<unsigned>(Kind::kBackend);
  const Device device = cuda();
  ASSERT_EQ(run_on(GetParam(), device, 0, 0, Extent::kOnce), "");
  const FaultyDriver driver;
  ASSERT_EQ(run_on(GetParam(), device, kKinds, 0, Extent::kOnce), "");
  const char* const wanted = std::getenv("DAMO_TEST_FAULTS");
  const long points = Injection::points(), stride = wanted && std::string(wanted) == "all" ? 1 : std::max(1L, points / 60);
  const std::size_t in_use = device.memory().in_use_bytes, pinned = device.pinned_memory().in_use_bytes;
  EXPECT_GT(points, 0);
  for (long number = 1; number <= points; number += stride) {
    if (number % 2 == 0) device.free_cache();  // so that allocations reach the driver, and every other time are served by the cache
    // What drivers and compilers keep for themselves is there after the first failure of a kind.
    std::string problem = run_on(GetParam(), device, kKinds, number, Extent::kOnce);
    const std::string failed = Injection::failed() ? Injection::failed() : "nothing";
    EXPECT_EQ(problem, "") << "point " << number << " of " << points << ", " << failed;
    EXPECT_EQ(device.memory().in_use_bytes, in_use) << "point " << number << ", " << failed;
    EXPECT_EQ(device.pinned_memory().in_use_bytes, pinned) << "point " << number << ", " << failed;
  }
  std::cout << GetParam().name << ": " << points << " calls of the driver\n";
}

std::vector<ProgramEntry> driver_programs() {
  std::vector<ProgramEntry> all;
  for (const auto& some : {function_programs(), cuda_c_programs()}) {
    for (const ProgramEntry& program : some) {
      // A GPU's handle is opened by another process; checked kernels are the CPU's.
      if (program.name != "MemoryOfAnotherProcess" && program.name != "CheckedModule" && !program.compiles) all.push_back(program);
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(, DriverFaults, ::testing::ValuesIn(driver_programs()), [](const auto& info) { return "cuda_" + info.param.name; });

}  // namespace
}  // namespace damo::faults
#endif
