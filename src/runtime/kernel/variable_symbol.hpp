// The name that a C++ compiler gives to a variable in compiled code. See tests/runtime/kernel/kernel_scan_test.cpp.
#pragma once
#include <string>

namespace damo {

/// "space::table" -> "_ZN5space5tableE"; a name without a space stays.
std::string variable_symbol(const std::string& name);

}  // namespace damo
