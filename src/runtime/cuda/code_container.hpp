// What the CUDA compiler hands to load(): machine code, or PTX, and what it knows of the names in there. A kernel that
// the user calls "scale<float>" is "_Z5scaleIfEvPT_f" in the code; of each kernel the parameter types are kept where the
// compiler told them. Code of which nothing is known is stored bare, as NVRTC gave it.
// See tests/runtime/cuda/code_container_test.cpp.
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace damo::cuda_backend {

/// A kernel or a variable as the code has it.
struct CodeName {
  std::string lowered;
  bool is_kernel = true;
  std::optional<std::string> parameters;  ///< "float*, float const*, int"; nothing if unknown
};

struct CodeContainer {
  std::map<std::string, CodeName> names;  ///< by the user's name
  std::vector<std::byte> code;            ///< cubin, fatbin, or PTX with its final NUL
};

std::vector<std::byte> pack(const CodeContainer& container);

/// Bytes that are no container are code alone. Throws DeviceError for a container cut short.
CodeContainer unpack(std::span<const std::byte> bytes);

}  // namespace damo::cuda_backend
