// Source: the bytes of a file, front to back, whatever they are packed in; and arrays of them. Every error names the format, the file and
// the byte at which it was found. Memory is taken for what the file can hold, not for what its head says. See tests/io/npy_test.cpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <damo/array.hpp>
#include <damo/io/file_error.hpp>

#include "runtime/kernel/cache_file.hpp"

namespace damo::io {

/// Bytes of a name in a file that an error shows at most: longer ones were damaged, or are meant to do damage.
inline constexpr std::size_t kMostOfAName = 200;
/// Of a text that is not what it should be.
inline constexpr std::size_t kMostOfAText = 40;

class Source {
 public:
  /// format: "npy". name: the file, and the member if it is one of an archive's; errors show it as a terminal may.
  Source(std::string format, std::string name) : format_(std::move(format)), name_(std::move(name)) {}
  Source(const Source&) = delete;
  virtual ~Source() = default;

  /// All of these bytes. what: "the head", for the FileError if the file ends before.
  void read(std::span<std::byte> to, std::string_view what);
  template <class T>
  T read_number(std::string_view what) {
    T number;
    read(std::as_writable_bytes(std::span(&number, 1)), what);
    return number;
  }
  /// So many bytes; memory is taken as they come where the source cannot tell how many there are.
  std::vector<std::byte> read_bytes(std::uint64_t count, std::string_view what);
  /// Elements in C order. order_is_foreign: their bytes are to be reversed.
  Array read_array(DType dtype, const Shape& shape, bool order_is_foreign, Device device);
  /// FileError unless everything has been read.
  void require_end();

  std::uint64_t offset() const { return offset_; }
  const std::string& name() const { return name_; }
  /// "npy: x.npy: byte 10: message".
  [[noreturn]] void fail(const std::string& message) const { fail_at(offset_, message); }
  [[noreturn]] void fail_at(std::uint64_t offset, const std::string& message) const;
  /// A shape's elements; FileError if there are negative extents, too many axes or more elements than a number counts.
  Shape checked_shape(std::span<const std::int64_t> extents, DType dtype) const;

 protected:
  /// Up to so many bytes, 0 at the end.
  virtual std::size_t read_some(std::span<std::byte> to) = 0;
  /// How many bytes follow, or kUnknownLength where they are compressed.
  virtual std::uint64_t bytes_left() const = 0;
  static constexpr std::uint64_t kUnknownLength = ~std::uint64_t{0};

 private:
  [[noreturn]] void fail_short(std::string_view what, std::uint64_t wanted, std::uint64_t found) const;
  std::string format_, name_;
  std::uint64_t offset_ = 0;
};

/// A plain file. FileError, with the system's reason, if it cannot be opened or is none.
class FileSource final : public Source {
 public:
  FileSource(std::string format, const std::string& path);
  std::uint64_t size() const { return size_; }
  /// The next read begins there.
  std::uint64_t bytes_left() const override { return size_ - offset(); }

 private:
  std::size_t read_some(std::span<std::byte> to) override;
  Descriptor file_;
  std::uint64_t size_ = 0;
};

/// What is between 1 and 0 in a file of bools: FileError, for C++ knows no third.
void require_bools(const Source& source, std::span<const std::byte> bytes, std::uint64_t offset);

/// The elements in C order in host memory: the array's own where they lie so, else a copy in storage.
std::span<const std::byte> host_bytes(const Array& array, std::vector<std::byte>& storage);
/// Throws TypeError for an empty Array, which has no elements to save; before the file that is there is touched. name: of a tensor among others.
void require_elements(const std::string& format, const Array& array, const std::string& name = {});
/// Each element's bytes in reverse order, in place.
void reverse_bytes(std::span<std::byte> bytes, std::size_t itemsize);

}  // namespace damo::io
