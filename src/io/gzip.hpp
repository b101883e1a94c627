// Files compressed by gzip, as IDX sets come. Both ways throw FileError where the build has no zlib. See tests/io/idx_test.cpp.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "io/atomic_file.hpp"
#include "io/source.hpp"

namespace damo::io {

/// The file's bytes, unpacked if it begins as gzip's files do.
std::unique_ptr<Source> open_maybe_compressed(const std::string& format, const std::string& path);
/// Packs the bytes of the parts, one after another, into the file.
void write_compressed(AtomicFile& file, std::initializer_list<std::span<const std::byte>> parts);

}  // namespace damo::io
