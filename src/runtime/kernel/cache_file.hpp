// One file of the disk cache: a head that says what it is, then the payload.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace damo {

/// A file descriptor, closed at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();
  explicit operator bool() const { return number_ >= 0; }
  int number() const { return number_; }

 private:
  int number_;
};

/// The payload, if the file is whole and is the entry of that key. file_bytes: as the file system says.
std::optional<std::vector<std::byte>> read_cache_file(const Descriptor& file, std::size_t file_bytes,
                                                      const std::string& key);
/// False, with errno, if not all of it could be written.
bool write_cache_file(const Descriptor& file, std::span<const std::byte> payload, const std::string& key);

}  // namespace damo
