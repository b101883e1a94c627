// NumPy's files: .npy holds one array, .npz a zip archive of several.
//
//   npy::save("x.npy", x);                           Array y = npy::load("x.npy");
//   npz::save("both.npz", {{"x", x}, {"y", y}});     NamedArrays both = npz::load("both.npz");   both.at("x")
//
// Read are versions 1 to 3 in either byte order, C order and Fortran order (a transposed view of the elements, as numpy.load gives), with
// Damo's dtypes under any name that numpy.dtype() has for them on a 64-bit system ('<f4', 'f4', 'f', 'float32'); FileError names any other (complex, text, objects, records). Written is version 1, little-endian, C order. npy has no
// bfloat16 and no 8-bit floats: saving one is a TypeError (io/safetensors.hpp keeps it). Files are written whole or not at all: into a temporary file of the
// same folder, which takes the name's place when it is on the disk. A file that is not what its head says is a FileError, and so is one with bytes behind its array, which numpy.load does not look at; no more memory
// is taken than the file has elements for, and a compressed member grows as it is read. npz needs a build with libzip.
// Costs one pass over the file, and for npz::save a copy of all members in host memory. See tests/io/npy_test.cpp, npz_test.cpp.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include <damo/array.hpp>
#include <damo/io/file_error.hpp>

namespace damo {

/// Arrays by name, in the names' order.
class NamedArrays : public std::map<std::string, Array, std::less<>> {
 public:
  using map::map;
  /// FileError, with the names that there are, for one that is not there.
  const Array& at(std::string_view name) const;
  Array& at(std::string_view name);
};

namespace npy {
Array load(const std::string& path, Device device = Device());
void save(const std::string& path, const Array& array);
}  // namespace npy

namespace npz {
/// Members are called as in the archive, without ".npy".
NamedArrays load(const std::string& path, Device device = Device());
/// compressed: by deflate, as numpy.savez_compressed does.
void save(const std::string& path, const NamedArrays& arrays, bool compressed = false);
}  // namespace npz

}  // namespace damo
