#include "runtime/cuda/driver.hpp"

#include <damo/error.hpp>

#include "runtime/library/dynamic_library.hpp"

namespace damo::cuda_backend {
namespace {

constexpr const char* kDriverLibrary = "libcuda.so.1";

struct Opened {
  Driver driver;
  std::string problem;
};

std::string no_library(const std::string& problem) {
  return "no CUDA driver: " + problem + ". Install the NVIDIA driver; in a container, start it with the GPUs passed in (--gpus all)";
}

std::string too_old(const std::string& symbol) {
  return "the CUDA driver is too old: it lacks " + symbol +
         ". Install a driver of CUDA 12 or newer (525 or newer; nvidia-smi prints yours)";
}

/// Before the table of error texts can be used.
std::string not_initialised(const Driver& driver, CUresult result) {
  const char* name = nullptr;
  const char* text = nullptr;
  driver.get_error_name(result, &name);
  driver.get_error_string(result, &text);
  std::string problem = "the CUDA driver cannot start: " + std::string(name ? name : "unknown error") +
                        (text ? " (" + std::string(text) + ")" : std::string());
  if (const std::string remedy = remedy_for(result); !remedy.empty()) problem += ". " + remedy;
  return problem;
}

/// Those that the library must have, and those that it may have.
void look_up_all(DynamicLibrary& library, Driver& driver) {
#define DAMO_NAME(symbol) #symbol
#define DAMO_REQUIRED(member, symbol) library.find(DAMO_NAME(symbol), driver.member);
#define DAMO_OPTIONAL(member, symbol) library.find_optional(DAMO_NAME(symbol), driver.member);
  DAMO_DRIVER_FUNCTIONS(DAMO_REQUIRED)
  DAMO_OPTIONAL_DRIVER_FUNCTIONS(DAMO_OPTIONAL)
#undef DAMO_OPTIONAL
#undef DAMO_REQUIRED
#undef DAMO_NAME
  if (!library.find_optional("cuEventElapsedTime_v2", driver.event_elapsed_time))  // CUDA 12.8
    library.find("cuEventElapsedTime", driver.event_elapsed_time);
  library.find("cuStreamGetCaptureInfo_v2", driver.stream_get_capture_info);
  library.find("cuStreamUpdateCaptureDependencies", driver.stream_set_capture_end);
  library.find_optional("cuStreamUpdateCaptureDependencies_v2", driver.stream_set_capture_edges);
  library.find_optional("cuMemPrefetchAsync", driver.mem_prefetch_async);
  library.find_optional("cuMemAdvise", driver.mem_advise);
}

const Opened& opened() {
  static Opened once = [] {
    Opened result;
    result.driver = open_driver(kDriverLibrary, &result.problem);
    return result;
  }();
  return once;
}

}  // namespace

Driver open_driver(const char* library_name, std::string* problem) {
  Driver driver;
  DynamicLibrary library(library_name);
  if (!library.is_open()) {
    *problem = no_library(library.problem());
    return driver;
  }
  look_up_all(library, driver);
  if (!library.missing().empty()) {
    *problem = too_old(library.missing());
    return driver;
  }
  decltype(&cuInit) initialise = nullptr;
  library.find_optional("cuInit", initialise);
  const CUresult result = initialise ? initialise(0) : CUDA_ERROR_NOT_FOUND;
  if (result != CUDA_SUCCESS) *problem = not_initialised(driver, result);
  return driver;
}

const Driver& driver() {
  const Opened& result = opened();
  if (!result.problem.empty()) [[unlikely]]
    throw DeviceError(result.problem);
  return result.driver;
}

std::optional<std::string> driver_problem() {
  return opened().problem.empty() ? std::nullopt : std::optional(opened().problem);
}

std::string describe(CUresult result) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (const Driver& table = opened().driver; table.get_error_name && table.get_error_string) {
    table.get_error_name(result, &name);
    table.get_error_string(result, &text);
  }
  if (!name) return "CUDA error " + std::to_string(static_cast<int>(result));
  return std::string(name) + (text ? " (" + std::string(text) + ")" : std::string());
}

}  // namespace damo::cuda_backend
