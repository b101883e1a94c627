// The symbols of a cubin's variables. The driver finds a variable by its symbol, and does not say which there are.
// See tests/runtime/cuda/cubin_variables_test.cpp.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace damo::cuda_backend {

/// Empty for code that is no cubin (PTX), and for a damaged one.
std::vector<std::string> cubin_variables(std::span<const std::byte> code);

}  // namespace damo::cuda_backend
