// What the text of every generated CUDA kernel begins with: DAMO_FUNCTION, wait_first() and how vectors of elements are moved.
#pragma once
#include <string>

namespace damo {

/// types: what brings the names of the prelude's types.
std::string cuda_head(const std::string& types = "using namespace damo;\n");
/// divide(n, magic, shift): a place below 2^31 through an extent, with ArgumentBlock's magic numbers of it; exact, in three instructions where a quotient of variables takes some twenty.
extern const char* const kCudaDividePlaces;

/// widened(vector): one of 16-bit floats as floats; narrowed<T>(vector): one of floats as T. Pair by pair, in the words that the vector is moved in.
extern const char* const kCudaHalves;

}  // namespace damo
