// RawParameter: a C declaration of a kernel's parameter, read: "strided const float* x" -> float32, pointer, "x".
#pragma once
#include <string>
#include <string_view>

#include <damo/dtype.hpp>
#include <damo/error.hpp>

namespace damo {

struct RawParameter {
  std::string name;
  std::string declaration;  ///< as C reads it: without the word strided
  DType dtype = float32;
  bool is_pointer = false;
  bool is_const = false;
  bool is_strided = false;

  friend bool operator==(const RawParameter&, const RawParameter&) = default;
};

/// Throws GraphError, naming the declaration and the types there are, for what it cannot read.
RawParameter parse_parameter(std::string_view declaration);

/// Of a parameter that generated text declares. Throws GraphError for a name that means something else there.
void require_parameter_name(const std::string& name);

/// "in RawKernel doubler at model.cpp:12": of what a kernel's definition is refused for.
std::string in_kernel(const std::string& kernel, SourceLine where);

}  // namespace damo
