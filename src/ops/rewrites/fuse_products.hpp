// fuse_products: what stands behind a contraction becomes part of the library's one call, where that saves a pass over the result:
//
//   alpha * dot(x, y), -dot(x, y), dot(x, y) / 8      alpha of the product: numbers, finite and not 0
//   cast(dot(x, y), float32) of 16-bit operands       the result as it was added up
//   alpha * dot(x, y) + beta * c                      c: a bias, a matrix, whatever broadcasts to the product; in c's memory where
//                                                     nobody else reads it
//   gelu_tanh(...)                                    of TF32 products, where the library has it (GPUs): its error of 1e-7 is less than theirs there,
//                                                     but 1 % of a result near -4 and all of one near -5. Its relu gives 0 for NaN: never
//
// A sum or an activation whose readers share a kernel with it stays with those: their kernel reads the product in any case. Where some reader is of another
// kernel, as a gradient's behind further products, the sum lies in memory in any case, and the library writes it. Condition: the product has this one
// reader, of the same dtype, and nothing in the types stretches it. Differences: 16-bit results are rounded once, not after each op.
// tests/linalg/fuse_products_test.cpp.
#pragma once
#include <damo/device.hpp>
#include <damo/graph.hpp>

namespace damo {

/// Asks for the device's library if there is a contraction.
FunctionGraph fuse_products(FunctionGraph graph, Device device);

/// Every float32 contraction and convolution may use TF32 (Options::tf32).
FunctionGraph use_tf32(FunctionGraph graph);

}  // namespace damo
