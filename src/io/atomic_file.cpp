#include "io/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

#include <damo/io/file_error.hpp>

#include "graph/base/characters.hpp"
#include "io/file_kind.hpp"

namespace damo::io {
namespace {

std::string target_of(const std::string& path) {
  std::error_code none;
  const auto real = std::filesystem::canonical(path, none);
  return none ? path : real.string();
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

/// What stands there that no file may replace; empty: a file or nothing.
std::string_view obstacle_at(const std::string& path) {
  const int kept = errno;
  struct stat status{};
  const std::string_view obstacle = ::stat(path.c_str(), &status) == 0 ? other_kind(status.st_mode) : std::string_view();
  errno = kept;
  return obstacle;
}

}  // namespace

AtomicFile::AtomicFile(std::string format, const std::string& path)
    : format_(std::move(format)), path_(path), target_(target_of(path)), folder_(folder_of(target_)),
      directory_(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
      file_(directory_ && obstacle_at(target_).empty() ? create_temporary(directory_.number(), temporary_name_, 0666) : Descriptor(-1)) {
  if (!file_) {
    const std::string_view obstacle = obstacle_at(target_);
    fail(obstacle.empty() ? std::strerror(errno) : "it is " + std::string(obstacle));
  }
  // From here on nothing throws: a constructor that fails leaves no one to remove the file.
  struct stat before{};
  if (::stat(target_.c_str(), &before) == 0 && fchmod(file_.number(), before.st_mode & 07777) != 0) {}  // of another owner's: the usual rights
}

AtomicFile::~AtomicFile() {
  if (!is_committed_) unlinkat(directory_.number(), temporary_name_.c_str(), 0);
}

void AtomicFile::fail(const std::string& reason) const {
  throw FileError(printable(format_ + ": cannot write " + path_ + ": " + reason));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  errno = 0;
  if (!write_all(file_, bytes)) fail(std::strerror(errno ? errno : EIO));
}

void AtomicFile::commit() {
  // By its name: a library may have put a file of its own there.
  const Descriptor written(openat(directory_.number(), temporary_name_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!written || fsync(written.number()) != 0) fail(std::strerror(errno));
  const std::string name = target_.substr(target_.rfind('/') + 1);  // npos + 1 is 0
  if (renameat(directory_.number(), temporary_name_.c_str(), directory_.number(), name.c_str()) != 0) fail(std::strerror(errno));
  is_committed_ = true;
  fsync(directory_.number());  // the name itself: where a file system cannot, the file is whole all the same
}

}  // namespace damo::io
