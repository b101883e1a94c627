// The kernel cache on disk: compiled kernels of earlier processes, so that a second run compiles nothing. Damo keeps it
// by itself; this header is for looking into it (`damo cache`) and for emptying it.
//
//   DAMO_CACHE_DIR     where; else $XDG_CACHE_HOME/damo, else ~/.cache/damo
//   DAMO_CACHE_LIMIT   bytes, or with K, M, G: "200M"; default 1G; the least recently used go first; 0: no disk cache
//   DAMO_DUMP          a directory: the source of each kernel that is compiled or loaded is written there
// Its files are executed: a directory that others can write to is refused with OptionError.
// See tests/runtime/kernel/cache_test.cpp.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <damo/device.hpp>

namespace damo {

struct CacheEntry {
  std::string name;  ///< 64 hexadecimal digits
  std::size_t bytes = 0;
  std::chrono::system_clock::time_point last_used;
};

/// What one device's kernels have cost in this process.
struct CacheStatistics {
  std::uint64_t memory_hits = 0;
  std::uint64_t disk_hits = 0;
  std::uint64_t compiles = 0;
  double compile_milliseconds = 0;  ///< summed over threads
  double load_milliseconds = 0;     ///< reading the disk cache and loading code, summed over threads
};

/// Where the cache is or would be; nothing is created. Empty: there is none (no home directory, or DAMO_CACHE_LIMIT=0).
std::string cache_directory();
/// Most recently used first. Throws OptionError for a directory that is not safe.
std::vector<CacheEntry> cache_entries();
/// Deletes every entry; kernels that this process has loaded stay. Throws OptionError as cache_entries does.
void clear_cache();
CacheStatistics cache_statistics(Device device = Device());

}  // namespace damo
