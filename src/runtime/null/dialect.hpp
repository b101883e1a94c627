// The text that the null device "compiles": the steps alone, enough for tests to look at.
#pragma once
#include "runtime/kernel/dialect.hpp"

namespace damo {

const Dialect& null_dialect();

}  // namespace damo
