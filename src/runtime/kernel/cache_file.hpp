// One file of the disk cache: a head that says what it is, then the payload.
#pragma once
#include <csignal>
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

/// While it lives a write beyond the limit of file sizes (ulimit -f) fails in this thread as one to a full disk does, and does not end the process.
class NoFileSizeSignal {
 public:
  NoFileSizeSignal();
  ~NoFileSizeSignal();
  NoFileSizeSignal(const NoFileSizeSignal&) = delete;
  NoFileSizeSignal& operator=(const NoFileSizeSignal&) = delete;

 private:
  sigset_t signal_, before_;
};

/// What names of create_temporary begin with.
inline constexpr const char* kTemporaryPrefix = ".new-";
/// A new file of a directory, to be filled and renamed; its name is random: processes of several containers may share the
/// directory and have the same number. Follows no link. Without number, with errno, if there can be none.
Descriptor create_temporary(int directory, std::string& name, unsigned mode);
/// False, with errno, if not all of it could be written.
bool write_all(const Descriptor& file, std::span<const std::byte> bytes);

/// The payload, if the file is whole and is the entry of that key. file_bytes: as the file system says.
std::optional<std::vector<std::byte>> read_cache_file(const Descriptor& file, std::size_t file_bytes,
                                                      const std::string& key);
/// False, with errno, if not all of it could be written.
bool write_cache_file(const Descriptor& file, std::span<const std::byte> payload, const std::string& key);

}  // namespace damo
