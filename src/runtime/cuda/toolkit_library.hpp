// What the libraries of NVIDIA's toolkit have in common: they lie where NVRTC does, and say of themselves which version they are.
#pragma once
#include <cstddef>
#include <string>

#include "runtime/library/dynamic_library.hpp"

namespace damo::cuda_backend {

/// The library's file in the places where NVRTC is looked for (nvrtc_library.hpp); empty if there is none. variable: of the environment; if it
/// is set, it names the file or its directory, and nothing else is searched.
std::string find_toolkit_library(const char* file, const char* variable);

/// Opens one without which nothing can be done. purpose: "factors matrices". Throws DeviceError that says what to install (package:
/// "libcufft") and which variable names its directory.
DynamicLibrary open_toolkit_library(const char* file, const char* variable, const std::string& purpose, const std::string& package);
/// Throws DeviceError if a function was missing.
void check_complete(const DynamicLibrary& library);

/// "cuFFT 11.3.3, /usr/local/cuda/lib64/libcufft.so". number: the version as the library counts it, 11303; major: what the first number is
/// multiplied with, 1000 there, 10000 in other libraries.
std::string name_with_version(const std::string& name, std::size_t number, std::size_t major, const std::string& path);

}  // namespace damo::cuda_backend
