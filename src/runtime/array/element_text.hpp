// The elements of an array as NumPy writes them: shortest digits that read back, at most eight decimals, all of one
// width; one exponent form for all if any element asks for it. Used by to_string(Array).
// See tests/runtime/array/array_print_test.cpp.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include <damo/dtype.hpp>

namespace damo {

/// One text an element, padded to a common width.
std::vector<std::string> element_texts(DType dtype, const std::byte* elements, std::size_t count);

/// One element alone: "1.5", "True", "1e+20"; no limit on the decimals.
std::string element_text(DType dtype, const std::byte* element);

}  // namespace damo
