// Stand-ins for the dialects, so that a test of devices links where they are not written yet. Weak: the library's own
// win. Include it in one file of a folder.
#pragma once
#include <cstdlib>

namespace damo {

class Dialect;
__attribute__((weak)) const Dialect& cpu_dialect() { std::abort(); }
__attribute__((weak)) const Dialect& cuda_dialect() { std::abort(); }
__attribute__((weak)) const Dialect& null_dialect() { std::abort(); }

}  // namespace damo
