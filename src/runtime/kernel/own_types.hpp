// A program's own "typedef unsigned long uint64_t;": legal where the prelude declares no such name, and at odds with the
// preludes, which make it unsigned long long, as NVIDIA's headers for NVRTC do. They leave out what such a line names.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace damo {

/// Names of 64-bit types among the prelude's that the source defines as long, by typedef or using.
std::vector<std::string> own_types(std::string_view source);

/// The macro that makes a prelude leave the name out.
inline std::string own_type_macro(const std::string& name) { return "__DAMO_OWN_" + name; }

}  // namespace damo
