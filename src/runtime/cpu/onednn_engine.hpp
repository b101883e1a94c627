// Matrix products of bfloat16 and int8 by oneDNN (onednn_library.hpp) with the processor's own instructions, on as many threads as kernels use.
//
// A result is made in tiles that follow from sizes alone, one call of the library each, shared out among the pool's threads: the same bits whatever the number of threads.
//
// bfloat16 is added up in float32 and rounded once, after alpha, beta and bias. The instructions (VDPBF16PS, and those of tiles) take denormals for 0, operands as well as sums.
// So the least size in each strip of A and of B is looked up first: where the two say that nothing which comes up on the way can be a denormal, that makes no difference; else the
// tile's operands are widened and it is multiplied in float32, which loses nothing. int8 is exact modulo 2^32. See tests/runtime/cpu/onednn_engine_test.cpp.
#pragma once
#include <memory>

#include "runtime/cpu/worker_pool.hpp"
#include "runtime/library/matrix_product.hpp"

namespace damo {
class Backend;
}

namespace damo::cpu_backend {

/// Opens the library when it is asked for one of its dtypes. It takes none where there is no library, where the processor lacks the instructions, or where DAMO_CPU_ISA keeps to a level,
/// of which none has them. int8 gives int32, and is no dtype that it wants operands copied for.
std::unique_ptr<MatrixEngine> make_onednn_engine(const Backend& backend, const WorkerPool& workers);

}  // namespace damo::cpu_backend
