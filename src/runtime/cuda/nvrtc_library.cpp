#include "runtime/cuda/nvrtc_library.hpp"

#include <damo/error.hpp>

#include "graph/base/environment.hpp"
#include "runtime/cuda/cuda_backend.hpp"
#include "runtime/cuda/toolkit_library.hpp"

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

void look_up_all(DynamicLibrary& opened, NvrtcLibrary& library) {
  opened.find("nvrtcVersion", library.version);
  opened.find("nvrtcGetErrorString", library.get_error_string);
  opened.find("nvrtcGetNumSupportedArchs", library.get_num_supported_archs);
  opened.find("nvrtcGetSupportedArchs", library.get_supported_archs);
  opened.find("nvrtcCreateProgram", library.create_program);
  opened.find("nvrtcDestroyProgram", library.destroy_program);
  opened.find("nvrtcCompileProgram", library.compile_program);
  opened.find("nvrtcGetProgramLogSize", library.get_program_log_size);
  opened.find("nvrtcGetProgramLog", library.get_program_log);
  opened.find("nvrtcGetCUBINSize", library.get_cubin_size);
  opened.find("nvrtcGetCUBIN", library.get_cubin);
  opened.find("nvrtcGetPTXSize", library.get_ptx_size);
  opened.find("nvrtcGetPTX", library.get_ptx);
  opened.find("nvrtcAddNameExpression", library.add_name_expression);
  opened.find("nvrtcGetLoweredName", library.get_lowered_name);
}

/// NVRTC opens its builtins by name alone, which fails outside the loader's directories; a library that is open
/// already is found. Not finding it here is no error: NVRTC tries for itself.
void open_builtins(const NvrtcLibrary& library) {
  const std::string directory = library.path.substr(0, library.path.rfind('/') + 1);
  const std::string version = std::to_string(library.major) + "." + std::to_string(library.minor);
  DynamicLibrary(directory + "libnvrtc-builtins.so." + version);
}

OpenedNvrtc open_nvrtc() {
  OpenedNvrtc result;
  NvrtcLibrary& library = result.library;
  library.path = find_nvrtc();
  if (library.path.empty()) {
    result.problem = not_found();
    return result;
  }
  DynamicLibrary opened(library.path);
  look_up_all(opened, library);
  if (!opened.problem().empty()) {
    result.problem = "no CUDA compiler: " + opened.problem();
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
