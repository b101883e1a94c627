// AtomicFile: a file that is written whole or not at all. Bytes go to a temporary file of the same folder; commit() brings them to the disk
// and lets the temporary one take the name's place, in one step. Whoever opens the name finds the old file or the new one; after a
// crash, a full disk or an error the old one. A link keeps pointing where it did: what it points to is replaced. The old file's rights
// are the new one's. See tests/io/atomic_file_test.cpp.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "runtime/kernel/cache_file.hpp"

namespace damo::io {

class AtomicFile {
 public:
  /// Throws FileError, with the system's reason: "npy: cannot write x.npy: No space left on device".
  AtomicFile(std::string format, const std::string& path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();  ///< without commit() the temporary file goes

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  /// For a library that writes by itself: the descriptor, or the name, under which it may also make a new file.
  int descriptor() const { return file_.number(); }
  std::string temporary() const { return folder_ + "/" + temporary_name_; }
  void commit();
  [[noreturn]] void fail(const std::string& reason) const;

 private:
  std::string format_, path_, target_, folder_, temporary_name_;
  NoFileSizeSignal no_signal_;  // libraries write to it, too
  Descriptor directory_, file_;
  bool is_committed_ = false;
};

}  // namespace damo::io
