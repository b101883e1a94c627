// libnvrtc.so, found by an ordered search and opened at the first compile: it is 100 MB, and a process whose kernels
// all come from the disk cache never opens it. The search looks at file names only. Thread-safe.
//
// Searched, in order: DAMO_NVRTC_PATH (a file or a directory; if it is set, nothing else), CUDA_HOME, CUDA_PATH,
// LD_LIBRARY_PATH, the toolkit that Damo was built with, /usr/local/cuda, /usr/local/cuda-*, the system's libraries.
// See tests/runtime/cuda/nvrtc_test.cpp.
#pragma once
#include <nvrtc.h>

#include <optional>
#include <string>
#include <vector>

namespace damo::cuda_backend {

struct NvrtcLibrary {
  decltype(&nvrtcVersion) version = nullptr;
  decltype(&nvrtcGetErrorString) get_error_string = nullptr;
  decltype(&nvrtcGetNumSupportedArchs) get_num_supported_archs = nullptr;
  decltype(&nvrtcGetSupportedArchs) get_supported_archs = nullptr;
  decltype(&nvrtcCreateProgram) create_program = nullptr;
  decltype(&nvrtcDestroyProgram) destroy_program = nullptr;
  decltype(&nvrtcCompileProgram) compile_program = nullptr;
  decltype(&nvrtcGetProgramLogSize) get_program_log_size = nullptr;
  decltype(&nvrtcGetProgramLog) get_program_log = nullptr;
  decltype(&nvrtcGetCUBINSize) get_cubin_size = nullptr;
  decltype(&nvrtcGetCUBIN) get_cubin = nullptr;
  decltype(&nvrtcGetPTXSize) get_ptx_size = nullptr;
  decltype(&nvrtcGetPTX) get_ptx = nullptr;
  decltype(&nvrtcAddNameExpression) add_name_expression = nullptr;
  decltype(&nvrtcGetLoweredName) get_lowered_name = nullptr;

  std::string path;
  int major = 0, minor = 0;
  std::vector<int> architectures;  ///< that it compiles for, ascending: 75, 80, ...
};

/// The library's file as the search finds it now; empty if there is none. Opens nothing.
std::string find_nvrtc();

/// What tells one NVRTC from another, from its file alone: "libnvrtc.so.13.0.88", or name, size and time of change
/// where the name holds no full version. "none" for an empty path.
std::string nvrtc_file_stamp(const std::string& path);

/// Opened once. Throws DeviceError where nvrtc_problem() (cuda_backend.hpp) says why.
const NvrtcLibrary& nvrtc();

}  // namespace damo::cuda_backend
