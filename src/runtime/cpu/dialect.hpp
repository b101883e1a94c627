// C++ as Damo generates it for the CPU compiler: loops that Clang vectorises, on the embedded prelude. A kernel is given
// a range of blocks and walks them row by row; an array contiguous along another axis is first turned in a small buffer.
// See tests/golden/ for the texts and docs/performance.md for the choices.
#pragma once
#include "runtime/kernel/dialect.hpp"

namespace damo {

const Dialect& cpu_dialect();

}  // namespace damo
