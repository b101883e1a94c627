// DiskCache: compiled code in files, one an entry, shared by processes. Each file says what it is (magic, format,
// key, length, checksum); one that does not fit is deleted and counts as absent. Files appear whole, by rename, so two
// processes that write the same entry are both right. Nothing is forced to the disk: after a crash of the machine a
// file may lack its contents, and the checksum finds that.
//
// A directory that cannot be made, read or written costs the process one warning line, then Damo goes on without.
// Thread-safe. See tests/runtime/kernel/disk_cache_test.cpp.
#pragma once
#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <damo/cache.hpp>

namespace damo {

class DiskCache {
 public:
  /// Creates the directory (0700) if need be. limit_bytes 0 or directory empty: a cache that holds nothing.
  /// Throws OptionError where others than the user (or root) own the directory or can write to it.
  DiskCache(std::string directory, std::size_t limit_bytes);
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;
  ~DiskCache();

  bool is_usable() const { return directory_descriptor_ >= 0; }
  /// key: 64 hexadecimal digits. Nothing if absent or damaged. A hit counts as use.
  std::optional<std::vector<std::byte>> load(const std::string& key);
  void store(const std::string& key, std::span<const std::byte> payload);
  void remove(const std::string& key);
  /// Most recently used first.
  std::vector<CacheEntry> entries() const;
  void clear();

 private:
  void open_directory();
  void evict();

  std::string directory_;
  std::size_t limit_bytes_;
  int directory_descriptor_ = -1;  // entries are opened relative to it: what was checked is what is used
  std::mutex eviction_mutex_;
  std::size_t unaccounted_bytes_ = 0;  // stored since the last count of the directory
  bool counted_ = false;
};

/// DAMO_CACHE_DIR, else $XDG_CACHE_HOME/damo, else ~/.cache/damo; empty if none of the three is set.
std::string cache_directory_of_environment();
/// DAMO_CACHE_LIMIT. Throws OptionError for what is no number of bytes.
std::size_t cache_limit_of_environment();

}  // namespace damo
