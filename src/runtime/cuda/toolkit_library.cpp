#include "runtime/cuda/toolkit_library.hpp"

#include <damo/error.hpp>

namespace damo::cuda_backend {

DynamicLibrary open_toolkit_library(const char* file, const char* variable, const std::string& purpose, const std::string& package) {
  const std::string remedy = "install " + package + " of the CUDA toolkit, or name its directory with " + variable;
  const std::string path = find_toolkit_library(file, variable);
  if (path.empty()) throw DeviceError(std::string("there is no ") + file + ", which " + purpose + " on a GPU, where NVRTC is looked for", remedy);
  DynamicLibrary library(path);
  if (!library.is_open()) throw DeviceError(library.problem() + " (it " + purpose + " on a GPU)", remedy);
  return library;
}

void check_complete(const DynamicLibrary& library) {
  if (!library.problem().empty()) throw DeviceError(library.problem(), "install the library of CUDA 12 or later");
}

std::string name_with_version(const std::string& name, std::size_t number, std::size_t major, const std::string& path) {
  return name + " " + std::to_string(number / major) + "." + std::to_string(number / 100 % (major / 100)) + "." + std::to_string(number % 100) + ", " + path;
}

}  // namespace damo::cuda_backend
