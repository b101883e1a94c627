// KernelCache: source in, loaded code out. One a device. Three levels: kernels that this process has loaded, the disk
// cache, the compiler. Each distinct request is compiled once, also when several threads ask for it at the same time:
// the later ones wait. A request that fails is forgotten, so that the next one tries again.
//
// A hit in memory costs one hash of the source and one comparison; SHA-256 is for the disk.
// Thread-safe. See tests/runtime/kernel/cache_test.cpp.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <damo/cache.hpp>

#include "runtime/backend.hpp"
#include "runtime/kernel/disk_cache.hpp"

namespace damo {

class KernelCache {
 public:
  using Module = std::shared_ptr<const LoadedModule>;

  /// Neither the disk nor the compiler is touched before the first get().
  explicit KernelCache(Backend& backend);
  KernelCache(const KernelCache&) = delete;
  KernelCache& operator=(const KernelCache&) = delete;
  ~KernelCache();

  /// Throws CompileError, DeviceError, or OptionError for an unsafe cache directory.
  Module get(const CompileRequest& request);
  /// As get() for each, in order; misses are compiled on up to compiler().threads() threads. All of them are finished
  /// before the error of the first that failed is thrown.
  std::vector<Module> get(std::span<const CompileRequest> requests);
  /// The same, and while any of them is compiled those of `maybe`, which may be asked for soon, on threads that would do nothing else. None of these is waited for, and none begins once
  /// the others are there; what fails of them says so when it is asked for.
  std::vector<Module> get(std::span<const CompileRequest> requests, std::vector<CompileRequest> maybe);
  /// Waits for what get() has begun of `maybe`.
  void settle();
  /// The request's code, loaded for the caller alone: its variables are no other's. From the disk or the compiler. log, if
  /// it is not null, gets the compiler's warnings, also where the code came from the disk.
  Module load_own(const CompileRequest& request, std::string* log = nullptr);
  /// The code and the warnings, not loaded. anew: compiled in any case, in place of what is on the disk.
  CompiledCode code(const CompileRequest& request, bool anew = false);

  /// What was found out by measuring, kept on the disk beside the code. text: all that it depends on but the compiler's stamp.
  std::optional<std::vector<std::byte>> finding(const std::string& text);
  void keep_finding(const std::string& text, std::span<const std::byte> bytes);

  /// Drops every module that is loaded: the device was reset. The next get() finds them on the disk.
  void forget();
  CacheStatistics statistics() const;
  /// Hexadecimal SHA-256 over everything that the compiled bytes depend on: files that the source includes are read.
  std::string key(const CompileRequest& request);

 private:
  struct Entry;
  using EntryPointer = std::shared_ptr<Entry>;

  EntryPointer find_or_insert(const CompileRequest& request, bool& inserted);
  std::string key(const CompileRequest& request, const std::string& includes);
  static std::exception_ptr take_first_error(std::span<const EntryPointer> own);
  void erase(const Entry& entry);
  /// Nothing if the entry is finished already.
  void finish(Entry& entry, Module module, std::exception_ptr error);
  /// Null if it failed.
  Module wait(const Entry& entry);
  bool load_from_disk(Entry& entry);
  void compile(Entry& entry);
  CompiledCode compile(const CompileRequest& request, const std::string& key);
  struct Wave;
  void compile_all(const std::shared_ptr<Wave>& wave);
  void help(Wave& wave);
  void compile_maybe(const CompileRequest& request);
  Module load(std::span<const std::byte> bytes, const std::string& name);
  std::string finding_key(const std::string& text);
  DiskCache& disk();

  Backend& backend_;
  mutable std::mutex mutex_;
  std::condition_variable finished_;
  std::unordered_multimap<std::size_t, EntryPointer> entries_;  // by hash of the request
  CacheStatistics statistics_;
  int helpers_ = 0;  // threads that may still compile
  std::mutex disk_mutex_;
  std::unique_ptr<DiskCache> disk_;
};

}  // namespace damo
