#include "runtime/memory/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <string>

#include <damo/error.hpp>

namespace damo {
namespace {

constexpr const char* kPrefix = "/damo-";

/// Blocks that the process has not freed when it ends normally are unlinked then: the system would keep them. A child of
/// fork() has these objects too, and the blocks are its parent's: whoever made a block unlinks it.
class Names {
 public:
  ~Names() {
    for (const auto& [name, maker] : makers_) unlink(name, maker);
  }
  void insert(const std::string& name) {
    const std::lock_guard lock(mutex_);
    makers_[name] = getpid();
  }
  /// Unlinks it too.
  void erase(const std::string& name) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = makers_.find(name);
    if (found == makers_.end()) return;
    unlink(name, found->second);
    makers_.erase(found);
  }

 private:
  static void unlink(const std::string& name, pid_t maker) {
    if (maker == getpid()) shm_unlink(name.c_str());
  }
  std::mutex mutex_;
  std::map<std::string, pid_t> makers_;
};

Names& names() {
  static Names names;
  return names;
}

std::string new_name() {
  std::random_device random;
  char text[64];
  std::snprintf(text, sizeof text, "%s%d-%08x%08x%08x", kPrefix, static_cast<int>(getpid()), random(), random(),
                random());
  return text;
}

/// Whether there is so much: pages of shared memory are memory, and a system that runs out of it ends processes, whosever they are.
bool may_have(int file, std::size_t bytes) {
  struct statvfs system;
  if (fstatvfs(file, &system) != 0 || bytes / system.f_frsize >= system.f_bavail) return false;
  std::ifstream memory("/proc/meminfo");
  for (std::string name; memory >> name;) {
    std::size_t kilobytes = 0;
    if (name == "MemAvailable:" && memory >> kilobytes) return bytes / 1024 < kilobytes;
  }
  return true;  // an old system, which does not say
}

/// Takes the pages now: with ftruncate alone a full /dev/shm would kill the process at a write. Piece by piece, because a
/// signal ends the call with nothing done, and a profiler's signals may come faster than all of it can.
bool take_pages(int file, std::size_t bytes) {
  constexpr std::size_t kPiece = std::size_t{16} << 20;
  for (std::size_t at = 0; at < bytes; at += kPiece) {
    const auto piece = static_cast<off_t>(std::min(kPiece, bytes - at));
    int error;
    do error = posix_fallocate(file, static_cast<off_t>(at), piece);
    while (error == EINTR);
    if (error != 0) return false;
  }
  return true;
}

/// Closed at its end.
class SharedFile {
 public:
  SharedFile(const std::string& name, int flags) : number(shm_open(name.c_str(), flags | O_RDWR | O_CLOEXEC, 0600)) {}
  SharedFile(const SharedFile&) = delete;
  ~SharedFile() {
    if (number >= 0) ::close(number);
  }
  void* map(std::size_t bytes) const {
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, number, 0);
    return memory == MAP_FAILED ? nullptr : memory;
  }
  const int number;
};

}  // namespace

void* SharedMemory::allocate(std::size_t bytes) {
  const std::string name = new_name();
  names().insert(name);  // first, so that whatever fails leaves nothing that only the system knows
  void* memory = nullptr;
  try {
    const SharedFile file(name, O_CREAT | O_EXCL);
    if (file.number < 0) {
      throw DeviceError(std::string("shared memory cannot be made: ") + std::strerror(errno),
                        "look at the permissions of /dev/shm");
    }
    if (may_have(file.number, bytes) && take_pages(file.number, bytes)) memory = file.map(bytes);
    if (memory != nullptr) {
      const std::lock_guard lock(mutex_);
      own_.insert_or_assign(memory, Block{name, bytes});
      return memory;
    }
  } catch (...) {
    if (memory != nullptr) munmap(memory, bytes);
    names().erase(name);
    throw;
  }
  names().erase(name);
  return nullptr;
}

void SharedMemory::release(void* memory) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = own_.find(memory);
  if (found == own_.end()) return;
  munmap(memory, found->second.bytes);
  names().erase(found->second.name);
  own_.erase(found);
}

std::pair<std::string, std::size_t> SharedMemory::find(const void* memory) const {
  const std::lock_guard lock(mutex_);
  auto after = own_.upper_bound(memory);
  if (after == own_.begin()) return {};
  const auto& [base, block] = *--after;
  const auto offset =
      static_cast<std::size_t>(static_cast<const std::byte*>(memory) - static_cast<const std::byte*>(base));
  return offset <= block.bytes ? std::pair(block.name, offset) : std::pair(std::string(), std::size_t{0});
}

void* SharedMemory::open(const std::string& name, std::size_t bytes) {
  if (!name.starts_with(kPrefix) || name.find('/', 1) != std::string::npos) {
    throw OptionError("'" + name + "' names no shared memory of Damo's", "give IpcHandle::parse what IpcHandle::text gave, whole");
  }
  const SharedFile file(name, 0);
  if (file.number < 0) {
    throw DeviceError("the memory of another process cannot be opened: " +
                          (errno == ENOENT ? "it is gone" : std::string(std::strerror(errno))),
                      "its process must keep it, and live, until the others have let go of it");
  }
  struct stat status {};
  const bool is_large_enough = fstat(file.number, &status) == 0 && static_cast<std::size_t>(status.st_size) >= bytes;
  void* const memory = is_large_enough ? file.map(bytes) : nullptr;
  if (memory == nullptr) {
    throw DeviceError("the memory of another process cannot be opened: it has " + std::to_string(status.st_size) +
                      " bytes, the handle speaks of " + std::to_string(bytes),
                      "ask the process that shares it for a new handle");
  }
  try {
    const std::lock_guard lock(mutex_);
    opened_.insert_or_assign(memory, Block{name, bytes});
  } catch (...) {
    munmap(memory, bytes);
    throw;
  }
  return memory;
}

void SharedMemory::close(void* memory) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = opened_.find(memory);
  if (found == opened_.end()) return;
  munmap(memory, found->second.bytes);
  opened_.erase(found);
}

}  // namespace damo
