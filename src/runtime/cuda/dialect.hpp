// CUDA C as Damo generates it, for NVRTC with no header. Three schedules:
//   flat         all arrays dense: 16-byte vectors, several in flight, no index arithmetic
//   coordinates  broadcast and strided arrays: dense ones still move as vectors; coordinates by multiplication
//   tile         an array contiguous along another axis is read along that axis and turned in shared memory
// See tests/golden/ for the texts and docs/performance.md for the choices.
#pragma once
#include "runtime/kernel/dialect.hpp"

namespace damo {

const Dialect& cuda_dialect();

}  // namespace damo
