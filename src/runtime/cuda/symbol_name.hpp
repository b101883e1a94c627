// SymbolName: what a C++ compiler made of a name, read back. See tests/runtime/cuda/symbol_name_test.cpp.
#pragma once
#include <optional>
#include <string>

namespace damo::cuda_backend {

/// "_Z5scalePfi" -> name "scale", parameters "float*, int"; "_Z5scaleIfEvPT_" -> "scale<float>", "float*".
/// A name that is not mangled stays, without parameters.
struct SymbolName {
  std::string name;
  std::optional<std::string> parameters;
};
SymbolName read_symbol(const std::string& symbol);

/// Of the symbol of a variable that is a template over a kernel's type, damo_signature<void (float*, int)>: "float*, int".
std::optional<std::string> read_signature(const std::string& symbol);

}  // namespace damo::cuda_backend
