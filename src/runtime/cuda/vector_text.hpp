// What the text of every generated CUDA kernel begins with: DAMO_FUNCTION, wait_first() and how vectors of elements are moved.
#pragma once
#include <string>

namespace damo {

/// types: what brings the names of the prelude's types.
std::string cuda_head(const std::string& types = "using namespace damo;\n");

}  // namespace damo
