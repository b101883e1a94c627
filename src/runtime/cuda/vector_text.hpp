// What the text of every generated CUDA kernel begins with: DAMO_FUNCTION, and how vectors of elements are moved.
#pragma once
#include <string>

namespace damo {

/// in_place: an output is an input, so nothing promises that what is read is not written. types: what brings the names of the prelude's types.
std::string cuda_head(bool in_place, const std::string& types = "using namespace damo;\n");

}  // namespace damo
