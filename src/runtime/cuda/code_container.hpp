// What the CUDA compiler hands to load(): machine code, or PTX, and the names that its entry points have in there. A
// kernel of a template is called "scale<float>" by the user and "_Z5scaleIfEvPT_f" in the code. Code without such names
// is stored bare, as NVRTC gave it. See tests/runtime/cuda/code_container_test.cpp.
#pragma once
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace damo::cuda_backend {

struct CodeContainer {
  std::map<std::string, std::string> lowered_names;  ///< the user's name -> the code's; those that differ
  std::vector<std::byte> code;                       ///< cubin, or PTX with its final NUL
};

std::vector<std::byte> pack(const CodeContainer& container);

/// Bytes that are no container are code alone. Throws DeviceError for a container cut short.
CodeContainer unpack(std::span<const std::byte> bytes);

}  // namespace damo::cuda_backend
