// The text of generated kernels for the CPU.
#pragma once

namespace damo {

class Dialect;  // runtime/kernel/dialect.hpp
const Dialect& cpu_dialect();

}  // namespace damo
