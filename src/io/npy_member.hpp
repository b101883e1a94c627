// One array in npy's form, wherever it lies: a file of its own or a member of an archive. See tests/io/npy_test.cpp.
#pragma once
#include <string>

#include "io/source.hpp"

namespace damo::io {

/// To its end, which must be the source's.
Array read_npy(Source& source, Device device);
/// The head of an array in C order; its elements follow. TypeError for bfloat16 and 8-bit floats.
std::string npy_head(const Array& array);

}  // namespace damo::io
