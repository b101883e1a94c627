#include "io/gzip.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#if DAMO_HAS_ZLIB
#include <zlib.h>
#endif

namespace damo::io {
namespace {

#if DAMO_HAS_ZLIB

constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // zlib counts in int

class GzipSource final : public Source {
 public:
  GzipSource(std::string format, const std::string& path) : Source(std::move(format), path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    file_ = file < 0 ? nullptr : gzdopen(file, "rb");
    if (file_ == nullptr) {
      if (file >= 0) ::close(file);
      fail(std::string("cannot be opened: ") + std::strerror(errno));
    }
    gzbuffer(file_, 1 << 17);
  }
  ~GzipSource() override { gzclose(file_); }

 private:
  std::uint64_t bytes_left() const override { return kUnknownLength; }
  std::size_t read_some(std::span<std::byte> to) override {
    const int count = gzread(file_, to.data(), static_cast<unsigned>(std::min(to.size(), kMostAtOnce)));
    int code = Z_OK;
    std::string_view reason = gzerror(file_, &code);
    if (const std::size_t at = reason.find(": "); at != std::string_view::npos) reason.remove_prefix(at + 2);  // "<fd:3>: "
    if (count < 0 || code != Z_OK) {  // of a file that was cut off gzread gives what there is, and says so here
      if (count <= 0 || static_cast<std::size_t>(count) < to.size()) fail("cannot be unpacked: " + std::string(reason));
    }
    return static_cast<std::size_t>(count);
  }
  gzFile file_;
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
  throw FileError(format + ": " + path + " is compressed: this build of Damo has no zlib", "install zlib1g-dev and build again, or unpack it: gunzip -k " + path);
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
