#include "runtime/cuda/driver.hpp"

#include <dlfcn.h>

#include <damo/error.hpp>

namespace damo::cuda_backend {
namespace {

constexpr const char* kDriverLibrary = "libcuda.so.1";

struct Opened {
  Driver driver;
  std::string problem;
};

template <class Function>
void look_up(void* library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
}

std::string no_library(const char* library, const char* reason) {
  return "no CUDA driver: " + std::string(library) + " cannot be opened (" + (reason ? reason : "no reason given") +
         "). Install the NVIDIA driver; in a container, start it with the GPUs passed in (--gpus all)";
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

/// The first function that the library lacks; null if it has all.
const char* look_up_all(void* library, Driver& driver) {
  const char* lacking = nullptr;
#define DAMO_NAME(symbol) #symbol
#define DAMO_REQUIRED(member, symbol)                 \
  look_up(library, DAMO_NAME(symbol), driver.member); \
  if (!driver.member && !lacking) lacking = DAMO_NAME(symbol);
#define DAMO_OPTIONAL(member, symbol) look_up(library, DAMO_NAME(symbol), driver.member);
  DAMO_DRIVER_FUNCTIONS(DAMO_REQUIRED)
  DAMO_OPTIONAL_DRIVER_FUNCTIONS(DAMO_OPTIONAL)
#undef DAMO_OPTIONAL
#undef DAMO_REQUIRED
#undef DAMO_NAME
  look_up(library, "cuEventElapsedTime_v2", driver.event_elapsed_time);  // CUDA 12.8
  if (!driver.event_elapsed_time) look_up(library, "cuEventElapsedTime", driver.event_elapsed_time);
  if (!driver.event_elapsed_time && !lacking) lacking = "cuEventElapsedTime";
  look_up(library, "cuStreamGetCaptureInfo_v2", driver.stream_get_capture_info);
  if (!driver.stream_get_capture_info && !lacking) lacking = "cuStreamGetCaptureInfo_v2";
  look_up(library, "cuStreamUpdateCaptureDependencies", driver.stream_set_capture_end);
  if (!driver.stream_set_capture_end && !lacking) lacking = "cuStreamUpdateCaptureDependencies";
  look_up(library, "cuMemPrefetchAsync", driver.mem_prefetch_async);
  look_up(library, "cuMemAdvise", driver.mem_advise);
  return lacking;
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

// Never closed: other libraries of the process may use the driver too.
Driver open_driver(const char* library_name, std::string* problem) {
  Driver driver;
  void* library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    *problem = no_library(library_name, dlerror());
    return driver;
  }
  if (const char* lacking = look_up_all(library, driver)) {
    *problem = too_old(lacking);
    return driver;
  }
  decltype(&cuInit) initialise = nullptr;
  look_up(library, "cuInit", initialise);
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
