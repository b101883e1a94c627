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

bool can_be_replaced(const std::string& path) {
  const int kept = errno;
  struct stat status{};
  const bool can = ::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode);
  errno = kept;
  return can;
}

}  // namespace

AtomicFile::AtomicFile(std::string format, const std::string& path)
    : format_(std::move(format)), path_(path), target_(target_of(path)), folder_(folder_of(target_)),
      directory_(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
      file_(directory_ && can_be_replaced(target_) ? create_temporary(directory_.number(), temporary_name_, 0666) : Descriptor(-1)) {
  if (!file_) fail(can_be_replaced(target_) ? std::strerror(errno) : "it is a folder or a device");
  // From here on nothing throws: a constructor that fails leaves no one to remove the file.
  struct stat before{};
  if (::stat(target_.c_str(), &before) == 0 && fchmod(file_.number(), before.st_mode & 07777) != 0) {}  // of another owner's: the usual rights
}

AtomicFile::~AtomicFile() {
  if (!is_committed_) unlinkat(directory_.number(), temporary_name_.c_str(), 0);
}

void AtomicFile::fail(const std::string& reason) const {
  throw FileError(format_ + ": cannot write " + path_ + ": " + reason);
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
