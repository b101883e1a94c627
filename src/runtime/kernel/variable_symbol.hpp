// Variables' names in a program and in compiled code. See tests/runtime/kernel/variable_symbol_test.cpp.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace damo {

/// "space::table" -> "_ZN5space5tableE"; a name without a space stays.
std::string variable_symbol(const std::string& name);

/// "_Z4maskIfE" -> "mask<float>", "_ZL4mask" -> "mask": as the program says it, unnamed namespaces left out. A symbol that
/// is not mangled stays.
std::string variable_name(const std::string& symbol);

/// The one symbol whose variable has the name, but for blanks, or whose name ends in "::name"; empty if there is none, or
/// there are several.
std::string find_variable(const std::vector<std::string>& symbols, std::string_view name);

}  // namespace damo
