#include "io/gzip.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <vector>

#if DAMO_HAS_ZLIB
#include <zlib.h>
#else
#include "graph/base/characters.hpp"
#endif

namespace damo::io {
namespace {

#if DAMO_HAS_ZLIB

constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // zlib counts in int

/// Members one after another, as gzread() takes them; but what follows the last one, which gzread() passes over, is refused.
class GzipSource final : public Source {
 public:
  GzipSource(const std::string& format, const std::string& path) : Source(format, path), file_(format, path), packed_(std::size_t{1} << 17) {
    if (inflateInit2(&stream_, MAX_WBITS + 16) != Z_OK) throw std::bad_alloc();  // 16: with gzip's head and checksum
  }
  ~GzipSource() override { inflateEnd(&stream_); }

 private:
  std::uint64_t bytes_left() const override { return kUnknownLength; }
  std::size_t read_some(std::span<std::byte> to) override {
    const std::size_t wanted = std::min(to.size(), kMostAtOnce);
    stream_.next_out = reinterpret_cast<Bytef*>(to.data());
    stream_.avail_out = static_cast<uInt>(wanted);
    while (stream_.avail_out > 0) {
      if (stream_.avail_in == 0 && !refill()) {
        if (is_between_members_) break;
        if (members_ > 0 && stream_.total_in < 2) fail_behind_members();  // too little for a member's first mark
        fail_to_unpack("unexpected end of file");
      }
      if (is_between_members_) {
        inflateReset(&stream_);
        is_between_members_ = false;
      }
      const int code = inflate(&stream_, Z_NO_FLUSH);
      if (code == Z_MEM_ERROR) throw std::bad_alloc();
      if (code == Z_STREAM_END) is_between_members_ = true, ++members_;
      else if (code != Z_OK && members_ > 0 && stream_.total_out == 0) fail_behind_members();
      else if (code != Z_OK) fail_to_unpack(stream_.msg ? stream_.msg : "it is damaged");
    }
    return wanted - stream_.avail_out;
  }
  /// Whether there was more.
  bool refill() {
    const std::size_t count = std::min<std::uint64_t>(packed_.size(), file_.size() - file_.offset());
    if (count == 0) return false;
    file_.read(std::span(packed_).first(count), "packed bytes");
    stream_.next_in = reinterpret_cast<Bytef*>(packed_.data());
    stream_.avail_in = static_cast<uInt>(count);
    return true;
  }
  [[noreturn]] void fail_behind_members() const { fail("expected the end of the file or another gzip member, other bytes follow"); }
  [[noreturn]] void fail_to_unpack(const std::string& reason) const { fail("cannot be unpacked: " + reason); }

  FileSource file_;
  std::vector<std::byte> packed_;
  z_stream stream_{};
  int members_ = 0;
  bool is_between_members_ = false;
};

#endif

bool is_compressed(const std::string& format, const std::string& path) {
  FileSource source(format, path);
  if (source.size() < 2) return false;
  return source.read_number<std::uint16_t>("gzip's mark") == 0x8b1f;
}

}  // namespace

std::unique_ptr<Source> open_maybe_compressed(const std::string& format, const std::string& path) {
  if (!is_compressed(format, path)) return std::make_unique<FileSource>(format, path);
#if DAMO_HAS_ZLIB
  return std::make_unique<GzipSource>(format, path);
#else
  throw FileError(format + ": " + printable(path) + " is compressed: this build of Damo has no zlib", "install zlib1g-dev and build again, or unpack it: gunzip -k " + printable(path));
#endif
}

void write_compressed(AtomicFile& file, std::initializer_list<std::span<const std::byte>> parts) {
#if DAMO_HAS_ZLIB
  const int copy = fcntl(file.descriptor(), F_DUPFD_CLOEXEC, 0);
  const gzFile packed = copy < 0 ? nullptr : gzdopen(copy, "wb6");
  if (packed == nullptr) {
    if (copy >= 0) ::close(copy);
    file.fail(std::strerror(errno));
  }
  int failed = 0;
  errno = 0;
  for (std::span<const std::byte> part : parts) {
    while (!part.empty() && failed == 0) {
      const std::size_t step = std::min(part.size(), kMostAtOnce);
      if (gzwrite(packed, part.data(), static_cast<unsigned>(step)) != static_cast<int>(step)) failed = errno ? errno : EIO;
      part = part.subspan(step);
    }
  }
  errno = 0;
  if (gzclose_w(packed) != Z_OK && failed == 0) failed = errno ? errno : EIO;
  if (failed != 0) file.fail(std::strerror(failed));
#else
  (void)parts;
  file.fail("its name ends in .gz, and this build of Damo has no zlib");
#endif
}

}  // namespace damo::io
