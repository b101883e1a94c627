// Expressions that name a kernel, as NVRTC takes them: "scale", "space::scale<float>" and, where several kernels share
// a name,
// "(void (*)(float*))scale" or "static_cast<void (*)(float*)>(scale)". See
// tests/runtime/kernel/name_expression_test.cpp.
#pragma once
#include <string>
#include <string_view>

namespace damo {

/// Whether more than a name and its template's arguments is written.
bool has_cast(std::string_view expression);

/// The name alone, with its spaces and its template's arguments: "space::scale<float>". Empty if there is none.
std::string_view name_in(std::string_view expression);

/// "(void (*)(float*))scale" of "scale" and "float*". Unnamed namespaces are left out: what is in one is found without
/// it.
std::string with_cast(std::string_view name, std::string_view parameters);

}  // namespace damo
