// The text of generated kernels for the device that runs none.
#pragma once

namespace damo {

class Dialect;  // runtime/kernel/dialect.hpp
const Dialect& null_dialect();

}  // namespace damo
