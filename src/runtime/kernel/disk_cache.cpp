#include "runtime/kernel/disk_cache.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include <damo/error.hpp>
#include <damo/log.hpp>

#include "runtime/kernel/cache_file.hpp"

namespace damo {
namespace {

constexpr std::size_t kKeyDigits = 64;
constexpr time_t kTouchAfter = 60;        // seconds: a process that loads often writes no inode each time
constexpr time_t kAbandonedAfter = 3600;  // a temporary file that old belongs to a process that died

/// Once a process: a full disk would otherwise be reported for every kernel.
void warn_once(const std::string& what) {
  static std::atomic<bool> warned = false;
  if (warned.exchange(true)) return;
  log(LogLevel::kWarning, "kernel cache: " + what + "; kernels will be compiled again by the next process");
}

std::string system_text() { return std::strerror(errno); }

bool is_key(std::string_view name) {
  return name.size() == kKeyDigits && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_temporary(std::string_view name) { return name.starts_with(kTemporaryPrefix); }

/// As mkdir -p, each part 0700.
bool create_directories(const std::string& path) {
  for (std::size_t at = 1; at != std::string::npos;) {
    at = path.find('/', at);
    if (mkdir(path.substr(0, at).c_str(), 0700) != 0 && errno != EEXIST) return false;
    if (at != std::string::npos) ++at;
  }
  return true;
}

void refuse_unsafe(const std::string& directory, const struct stat& status) {
  const std::string head = "the kernel cache '" + directory + "' is not safe, and its files are executed: ";
  const std::string other = "or set DAMO_CACHE_DIR to a directory of your own";
  if (status.st_uid != geteuid() && status.st_uid != 0) {
    throw OptionError(
        head + "user " + std::to_string(status.st_uid) + " owns it, this process is user " + std::to_string(geteuid()),
        "run as its owner, " + other);
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    throw OptionError(head + "users other than its owner can write to it",
                      "run: chmod go-w " + directory + ", " + other);
  }
}

struct File {
  std::string name;
  std::size_t bytes;
  timespec used;
};

/// Files of the directory that wanted(name) names.
template <class Wanted>
std::vector<File> list(int directory, Wanted wanted) {
  std::vector<File> files;
  const int descriptor = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);  // its own position
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(descriptor >= 0 ? fdopendir(descriptor) : nullptr, closedir);
  if (!stream) return files;
  while (const dirent* entry = readdir(stream.get())) {
    struct stat status;
    if (!wanted(std::string_view(entry->d_name))) continue;
    if (fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;  // another process evicts
    files.push_back({entry->d_name, static_cast<std::size_t>(status.st_size), status.st_mtim});
  }
  return files;
}

bool older(const timespec& a, const timespec& b) {
  return std::pair(a.tv_sec, a.tv_nsec) < std::pair(b.tv_sec, b.tv_nsec);
}

}  // namespace

DiskCache::DiskCache(std::string directory, std::size_t limit_bytes)
    : directory_(std::move(directory)), limit_bytes_(limit_bytes) {
  if (!directory_.empty() && limit_bytes_ > 0) open_directory();
}

DiskCache::~DiskCache() {
  if (directory_descriptor_ >= 0) close(directory_descriptor_);
}

void DiskCache::open_directory() {
  if (!create_directories(directory_)) {
    return warn_once("cannot make '" + directory_ + "' (" + system_text() + ")");
  }
  const int descriptor = open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return warn_once("cannot open '" + directory_ + "' (" + system_text() + ")");
  struct stat status;
  fstat(descriptor, &status);
  try {
    refuse_unsafe(directory_, status);
  } catch (...) {
    close(descriptor);
    throw;
  }
  directory_descriptor_ = descriptor;
}

std::optional<std::vector<std::byte>> DiskCache::load(const std::string& key) {
  if (!is_usable()) return std::nullopt;
  const Descriptor file(openat(directory_descriptor_, key.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));  // a fifo would block
  if (!file) return std::nullopt;
  struct stat status;
  if (fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  auto payload = read_cache_file(file, static_cast<std::size_t>(status.st_size), key);
  if (!payload) {
    log(LogLevel::kDebug, "kernel cache: " + key + " is damaged or of another format; deleted");
    remove(key);
    return std::nullopt;
  }
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (now.tv_sec - status.st_mtim.tv_sec >= kTouchAfter) futimens(file.number(), nullptr);
  return payload;
}

void DiskCache::store(const std::string& key, std::span<const std::byte> payload) {
  if (!is_usable() || payload.size() > limit_bytes_) return;
  const int directory = directory_descriptor_;
  std::string temporary;
  const auto write = [&] {
    const Descriptor file = create_temporary(directory, temporary, 0600);
    return file && write_cache_file(file, payload, key);
  };
  if (!write() || renameat(directory, temporary.c_str(), directory, key.c_str()) != 0) {
    const int why = errno;
    unlinkat(directory, temporary.c_str(), 0);  // before anything that needs memory
    return warn_once("cannot write to '" + directory_ + "' (" + std::strerror(why) + ")");
  }
  const std::lock_guard lock(eviction_mutex_);
  unaccounted_bytes_ += payload.size();
  // Counting reads the whole directory: at the first store, then each time that 1/16 of the limit was added.
  if (!counted_ || unaccounted_bytes_ > limit_bytes_ / 16) evict();
}

void DiskCache::evict() {
  counted_ = true;
  unaccounted_bytes_ = 0;
  const time_t now = time(nullptr);
  for (const File& file : list(directory_descriptor_, is_temporary)) {
    if (now - file.used.tv_sec > kAbandonedAfter) unlinkat(directory_descriptor_, file.name.c_str(), 0);
  }
  std::vector<File> files = list(directory_descriptor_, is_key);
  std::size_t total = 0;
  for (const File& file : files) total += file.bytes;
  if (total <= limit_bytes_) return;
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return older(a.used, b.used); });
  // Below the limit by an eighth, so that the next store does not evict again; the newest stays in any case.
  for (std::size_t i = 0; i + 1 < files.size() && total > limit_bytes_ - limit_bytes_ / 8; ++i) {
    unlinkat(directory_descriptor_, files[i].name.c_str(), 0);
    total -= files[i].bytes;
  }
}

void DiskCache::remove(const std::string& key) {
  if (is_usable()) unlinkat(directory_descriptor_, key.c_str(), 0);
}

std::vector<CacheEntry> DiskCache::entries() const {
  std::vector<CacheEntry> entries;
  if (!is_usable()) return entries;
  std::vector<File> files = list(directory_descriptor_, is_key);
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return older(b.used, a.used); });
  for (File& file : files) {
    const auto since = std::chrono::seconds(file.used.tv_sec) + std::chrono::nanoseconds(file.used.tv_nsec);
    entries.push_back({std::move(file.name), file.bytes,
                       std::chrono::system_clock::time_point(
                           std::chrono::duration_cast<std::chrono::system_clock::duration>(since))});
  }
  return entries;
}

void DiskCache::clear() {
  if (!is_usable()) return;
  for (const File& file :
       list(directory_descriptor_, [](std::string_view name) { return is_key(name) || is_temporary(name); })) {
    unlinkat(directory_descriptor_, file.name.c_str(), 0);
  }
}

}  // namespace damo
