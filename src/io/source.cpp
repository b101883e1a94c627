#include "io/source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>

#include "graph/base/characters.hpp"
#include "io/file_kind.hpp"

namespace damo::io {

static_assert(std::endian::native == std::endian::little, "files are read as this machine has its numbers: least byte first");

void Source::fail_at(std::uint64_t offset, const std::string& message) const {
  throw FileError(printable(format_ + ": " + name_ + ": byte " + std::to_string(offset) + ": " + message));
}

void Source::fail_short(std::string_view what, std::uint64_t wanted, std::uint64_t found) const {
  fail("expected " + std::to_string(wanted) + " bytes of " + std::string(what) + ", the file ends after " + std::to_string(found));
}

void Source::read(std::span<std::byte> to, std::string_view what) {
  const std::size_t wanted = to.size();
  if (const std::uint64_t left = bytes_left(); left < wanted) fail_short(what, wanted, left);
  std::size_t found = 0;
  while (found < wanted) {
    const std::size_t count = read_some(to.subspan(found));
    if (count == 0) fail_short(what, wanted, found);
    found += count;
  }
  offset_ += wanted;
}

std::vector<std::byte> Source::read_bytes(std::uint64_t count, std::string_view what) {
  const std::uint64_t begin = offset_;
  if (const std::uint64_t left = bytes_left(); left < count) fail_short(what, count, left);
  std::uint64_t step = bytes_left() == kUnknownLength ? std::uint64_t{1} << 20 : count;
  std::vector<std::byte> bytes;
  while (bytes.size() < count) {
    const std::size_t have = bytes.size();
    bytes.resize(static_cast<std::size_t>(std::min(count, have + step)));
    std::size_t end = have;
    while (end < bytes.size()) {
      const std::size_t got = read_some(std::span(bytes).subspan(end));
      if (got == 0) fail_short(what, count, end);
      end += got;
      offset_ = begin + end;
    }
    step = bytes.size();  // so that growing costs a copy an element
  }
  return bytes;
}

Array Source::read_array(DType dtype, const Shape& shape, bool order_is_foreign, Device device) {
  const std::string what = "elements, " + std::string(damo::name(dtype)) + " " + to_string(shape);
  const std::uint64_t begin = offset_, count = static_cast<std::uint64_t>(shape.size()) * itemsize(dtype);
  const auto finish = [&](std::span<std::byte> bytes) {
    if (order_is_foreign) reverse_bytes(bytes, itemsize(dtype));
    if (dtype == bool_) require_bools(*this, bytes, begin);
  };
  if (const std::uint64_t left = bytes_left(); left < count) fail_short(what, count, left);
  if (device.is_host() && bytes_left() != kUnknownLength) {  // straight to their place
    Array array = Array::empty(shape, dtype, device);
    const std::span bytes(static_cast<std::byte*>(array.data()), static_cast<std::size_t>(count));
    read(bytes, what);
    finish(bytes);
    return array;
  }
  std::vector<std::byte> bytes = read_bytes(count, what);
  finish(bytes);
  return Array::from_bytes(bytes.data(), static_cast<std::size_t>(shape.size()), dtype, shape, device);
}

void Source::require_end() {
  std::byte more;
  if (bytes_left() == 0 || read_some(std::span(&more, 1)) == 0) return;
  fail("expected the end of the file, more bytes follow");
}

Shape Source::checked_shape(std::span<const std::int64_t> extents, DType dtype) const {
  if (extents.size() > static_cast<std::size_t>(kMaxRank)) {
    fail("expected at most " + std::to_string(kMaxRank) + " axes, found " + std::to_string(extents.size()));
  }
  std::int64_t bytes = static_cast<std::int64_t>(itemsize(dtype));
  bool is_too_large = false, is_empty = false;
  for (const std::int64_t extent : extents) {
    if (extent < 0) fail("expected extents of 0 and more, found " + std::to_string(extent));
    is_empty = is_empty || extent == 0;
    is_too_large = __builtin_mul_overflow(bytes, std::max<std::int64_t>(extent, 1), &bytes) || is_too_large;
  }
  const Shape shape(extents);
  if (is_too_large) fail("expected a shape that memory can have, found " + to_string(shape));
  return shape;
}

FileSource::FileSource(std::string format, const std::string& path)
    : Source(std::move(format), path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  struct stat status{};
  if (!file_ || fstat(file_.number(), &status) != 0) fail(std::string("cannot be opened: ") + std::strerror(errno));
  if (const std::string_view kind = other_kind(status.st_mode); !kind.empty()) fail("expected a file, found " + std::string(kind));
  size_ = static_cast<std::uint64_t>(status.st_size);
}

std::size_t FileSource::read_some(std::span<std::byte> to) {
  ssize_t count;
  do count = ::read(file_.number(), to.data(), to.size());
  while (count < 0 && errno == EINTR);
  if (count < 0) fail(std::string("cannot be read: ") + std::strerror(errno));
  return static_cast<std::size_t>(count);
}

void require_bools(const Source& source, std::span<const std::byte> bytes, std::uint64_t offset) {
  const auto found = std::find_if(bytes.begin(), bytes.end(), [](std::byte byte) { return byte > std::byte{1}; });
  if (found == bytes.end()) return;
  source.fail_at(offset + static_cast<std::uint64_t>(found - bytes.begin()),
                 "expected a bool, 0 or 1, found " + std::to_string(std::to_integer<int>(*found)));
}

void require_elements(const std::string& format, const Array& array, const std::string& name) {
  if (!array) throw TypeError(format + ": " + (name.empty() ? std::string() : "'" + printable(name, kMostOfAName) + "' is ") + "an empty Array" + (name.empty() ? " has nothing to save" : ""), "check the Array with if (array)");
}

std::span<const std::byte> host_bytes(const Array& array, std::vector<std::byte>& storage) {
  if (array.size() == 0) return {};
  if (array.device().is_host() && array.is_contiguous()) return {static_cast<const std::byte*>(array.data()), array.nbytes()};
  storage.resize(array.nbytes());
  array.to_host(storage.data());
  return storage;
}

void reverse_bytes(std::span<std::byte> bytes, std::size_t itemsize) {
  for (std::size_t at = 0; itemsize > 1 && at < bytes.size(); at += itemsize) std::reverse(bytes.begin() + at, bytes.begin() + at + itemsize);
}

}  // namespace damo::io
