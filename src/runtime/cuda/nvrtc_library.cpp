#include "runtime/cuda/nvrtc_library.hpp"

#include <dlfcn.h>

#include <type_traits>
#include <damo/error.hpp>

#include "graph/base/environment.hpp"
#include "runtime/cuda/cuda_backend.hpp"

namespace damo::cuda_backend {
namespace {

constexpr const char* kInstall =
    "install the CUDA toolkit (package cuda-nvrtc, 12.4 or newer) or name the library's directory with DAMO_NVRTC_PATH";

struct OpenedNvrtc {
  NvrtcLibrary library;
  std::string problem;
};

std::string not_found() {
  if (const std::string chosen = environment("DAMO_NVRTC_PATH"); !chosen.empty())
    return "no CUDA compiler: DAMO_NVRTC_PATH is " + chosen + ", which holds no libnvrtc.so";
  return "no CUDA compiler: libnvrtc.so is in none of CUDA_HOME, CUDA_PATH, LD_LIBRARY_PATH, /usr/local/cuda and the "
         "system's library directories";
}

/// Whether the library has all the functions.
bool look_up_all(void* handle, NvrtcLibrary& library) {
  bool complete = true;
  const auto look_up = [&](const char* symbol, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, symbol));
    complete = complete && function;
  };
  look_up("nvrtcVersion", library.version);
  look_up("nvrtcGetErrorString", library.get_error_string);
  look_up("nvrtcGetNumSupportedArchs", library.get_num_supported_archs);
  look_up("nvrtcGetSupportedArchs", library.get_supported_archs);
  look_up("nvrtcCreateProgram", library.create_program);
  look_up("nvrtcDestroyProgram", library.destroy_program);
  look_up("nvrtcCompileProgram", library.compile_program);
  look_up("nvrtcGetProgramLogSize", library.get_program_log_size);
  look_up("nvrtcGetProgramLog", library.get_program_log);
  look_up("nvrtcGetCUBINSize", library.get_cubin_size);
  look_up("nvrtcGetCUBIN", library.get_cubin);
  look_up("nvrtcGetPTXSize", library.get_ptx_size);
  look_up("nvrtcGetPTX", library.get_ptx);
  look_up("nvrtcAddNameExpression", library.add_name_expression);
  look_up("nvrtcGetLoweredName", library.get_lowered_name);
  return complete;
}

/// NVRTC opens its builtins by name alone, which fails outside the loader's directories; a library that is open
/// already is found. Not finding it here is no error: NVRTC tries for itself.
void open_builtins(const NvrtcLibrary& library) {
  const std::string directory = library.path.substr(0, library.path.rfind('/') + 1);
  const std::string version = std::to_string(library.major) + "." + std::to_string(library.minor);
  dlopen((directory + "libnvrtc-builtins.so." + version).c_str(), RTLD_NOW | RTLD_LOCAL);
}

/// Never closed: NVRTC's own threads and statics would have to survive it.
OpenedNvrtc open_nvrtc() {
  OpenedNvrtc result;
  NvrtcLibrary& library = result.library;
  library.path = find_nvrtc();
  if (library.path.empty()) {
    result.problem = not_found();
    return result;
  }
  void* handle = dlopen(library.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* reason = dlerror();
    result.problem =
        "no CUDA compiler: " + library.path + " cannot be opened" + (reason ? std::string(": ") + reason : "");
    return result;
  }
  if (!look_up_all(handle, library)) {
    result.problem = "no CUDA compiler: " + library.path + " is too old, or no NVRTC at all";
    return result;
  }
  library.version(&library.major, &library.minor);
  int count = 0;
  library.get_num_supported_archs(&count);
  library.architectures.resize(static_cast<std::size_t>(count));
  library.get_supported_archs(library.architectures.data());
  open_builtins(library);
  return result;
}

const OpenedNvrtc& opened_nvrtc() {
  static const OpenedNvrtc once = open_nvrtc();
  return once;
}

}  // namespace

const NvrtcLibrary& nvrtc() {
  if (!opened_nvrtc().problem.empty()) throw DeviceError(opened_nvrtc().problem, kInstall);
  return opened_nvrtc().library;
}

}  // namespace damo::cuda_backend

namespace damo {

std::optional<std::string> nvrtc_problem() {
  const std::string& problem = cuda_backend::opened_nvrtc().problem;
  return problem.empty() ? std::nullopt : std::optional(problem + "; " + cuda_backend::kInstall);
}

std::string nvrtc_version() {
  const auto& [library, problem] = cuda_backend::opened_nvrtc();
  if (!problem.empty()) return {};
  return std::to_string(library.major) + "." + std::to_string(library.minor) + ", " + library.path;
}

}  // namespace damo
