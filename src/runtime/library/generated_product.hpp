// Matrix products by a kernel of Damo's own, from one text for all back ends: for integers, and where there is no library. Any
// strides, any dtypes but bool. float16 and bfloat16 are added up in float32; integers modulo 2^32, or 2^64 for 64-bit results,
// which gives what the result's dtype holds of the exact value, modulo its own range.
#pragma once
#include <memory>

#include "runtime/backend.hpp"
#include "runtime/library/matrix_product.hpp"

namespace damo {

/// What computes it.
CompileRequest generated_product_code(const MatrixProduct& product);
/// Compiles, or takes from the kernel cache, at once. For a product without bias and activation.
std::shared_ptr<PreparedProduct> generated_product(Backend& backend, const MatrixProduct& product);

}  // namespace damo
