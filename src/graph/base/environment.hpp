// Environment variables that switch something on. See tests/graph/base/environment_test.cpp.
#pragma once

namespace damo {

/// Whether the variable is 1. Unset, empty or 0: no. Throws OptionError for anything else: a switch that was meant to be
/// on and is not would go unnoticed.
bool is_switched_on(const char* variable);

}  // namespace damo
