#include "runtime/kernel/cache.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <list>
#include <system_error>
#include <thread>
#include <utility>

#include <damo/log.hpp>
#include <damo/version.hpp>

#include "runtime/kernel/include_digest.hpp"
#include "runtime/kernel/of_this_process.hpp"
#include "runtime/kernel/sha256.hpp"
#include "runtime/kernel/source_dump.hpp"

namespace damo {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

std::size_t hash_of(const CompileRequest& request) {
  const std::hash<std::string_view> hash;
  std::size_t value = hash(request.source) + static_cast<std::size_t>(request.kind);
  for (const auto* texts : {&request.kernels, &request.flags}) {
    for (const std::string& text : *texts) value = value * 0x9e3779b97f4a7c15u + hash(text);
  }
  if (request.kind == SourceKind::kCudaC) value += hash(request.options.text());
  return value;
}

/// In all that the code depends on. The file's name is in CUDA C's line tables and assertions.
bool equal(const CompileRequest& a, const CompileRequest& b) {
  if (a.kind == SourceKind::kCudaC && a.file_name != b.file_name) return false;
  return a.kind == b.kind && a.source == b.source && a.kernels == b.kernels && a.flags == b.flags && a.options == b.options;
}

std::string name_of(const CompileRequest& request) {
  const bool one = !request.kernels.empty() && request.kernels.front() != kAllKernels;
  return one ? request.kernels.front() : request.file_name;
}

/// Of a thread that asked for code: they may go on with what it does not wait for.
class Helpers {
 public:
  /// Throws std::system_error if there are no more threads.
  void begin(std::function<void()> work) {
    helpers_.remove_if([](const Helper& helper) { return helper.has_ended->load(std::memory_order_acquire); });
    auto has_ended = std::make_shared<std::atomic<bool>>(false);
    std::jthread thread([has_ended, work = std::move(work)] {
      work();
      has_ended->store(true, std::memory_order_release);
    });
    helpers_.push_back({std::move(has_ended), std::move(thread)});
  }

 private:
  struct Helper {
    std::shared_ptr<std::atomic<bool>> has_ended;
    std::jthread thread;
  };
  std::list<Helper> helpers_;
};

}  // namespace

/// is_done and module are guarded by the cache's mutex; the rest is the business of the call that made the entry.
struct KernelCache::Entry {
  CompileRequest request;
  std::optional<std::string> includes;  // include_digest; null: the code is not kept
  std::size_t hash = 0;
  std::string key;
  pid_t process = getpid();
  bool is_done = false;
  Module module;
  std::exception_ptr error;
};

/// What one get() has to compile.
struct KernelCache::Wave {
  std::vector<EntryPointer> misses;
  std::vector<CompileRequest> maybe;
  std::atomic<std::size_t> next = 0, next_maybe = 0, left = 0;  // left: misses that are not finished
};

KernelCache::KernelCache(Backend& backend) : backend_(backend) {}
KernelCache::~KernelCache() { settle(); }

KernelCache::Module KernelCache::get(const CompileRequest& request) {
  return std::move(get(std::span(&request, 1)).front());
}

std::vector<KernelCache::Module> KernelCache::get(std::span<const CompileRequest> requests) { return get(requests, {}); }

std::vector<KernelCache::Module> KernelCache::get(std::span<const CompileRequest> requests, std::vector<CompileRequest> maybe) {
  std::vector<EntryPointer> entries(requests.size()), own;
  own.reserve(requests.size());  // so that no entry is made that is not in it
  try {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      bool inserted = false;
      entries[i] = find_or_insert(requests[i], inserted);
      if (inserted) own.push_back(entries[i]);
    }
    const auto wave = std::make_shared<Wave>();
    wave->misses = own;
    wave->maybe = std::move(maybe);
    std::erase_if(wave->misses, [&](const EntryPointer& entry) { return load_from_disk(*entry); });
    // The longest first, so that none of them is begun when the others have ended.
    std::stable_sort(wave->misses.begin(), wave->misses.end(), [](const EntryPointer& a, const EntryPointer& b) { return a->request.source.size() > b->request.source.size(); });
    std::stable_sort(wave->maybe.begin(), wave->maybe.end(), [](const CompileRequest& a, const CompileRequest& b) { return a.source.size() > b.source.size(); });
    compile_all(wave);
  } catch (...) {  // no memory to go on; whoever waits for an entry must not wait for ever
    for (const EntryPointer& entry : own) finish(*entry, nullptr, std::current_exception());
    throw;
  }
  std::vector<Module> modules(requests.size());
  for (std::size_t i = 0; i < entries.size(); ++i) modules[i] = wait(*entries[i]);
  if (std::exception_ptr error = take_first_error(own)) std::rethrow_exception(std::move(error));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    // Another thread's request failed. Its error is that thread's to add to: this one gets its own by trying again.
    if (!modules[i]) modules[i] = get(requests[i]);
  }
  return modules;
}

/// Leaves none in the entries, which other threads may hold the longest.
std::exception_ptr KernelCache::take_first_error(std::span<const EntryPointer> own) {
  std::exception_ptr first;
  for (const EntryPointer& entry : own) {
    std::exception_ptr error = std::exchange(entry->error, nullptr);
    if (!first) first = std::move(error);
  }
  return first;
}

KernelCache::EntryPointer KernelCache::find_or_insert(const CompileRequest& request, bool& inserted) {
  std::optional<std::string> includes = include_digest(request);
  const std::size_t hash = hash_of(request) + std::hash<std::string>()(includes.value_or(""));
  const std::lock_guard lock(mutex_);
  const auto [first, last] = entries_.equal_range(hash);
  for (auto at = first; at != last; ++at) {
    if (!includes || !equal(at->second->request, request) || at->second->includes != includes) continue;
    if (!at->second->is_done && at->second->process != getpid()) {  // fork() was called while a thread, which is not in this process, compiled it
      entries_.erase(at);
      break;
    }
    ++statistics_.memory_hits;
    return at->second;
  }
  auto entry = std::make_shared<Entry>();
  entry->request = request;
  entry->includes = std::move(includes);
  entry->hash = hash;
  entries_.emplace(hash, entry);
  inserted = true;
  return entry;
}

void KernelCache::forget() {
  std::unordered_multimap<std::size_t, EntryPointer> dropped;  // outlives the lock: its modules are unloaded then
  const std::lock_guard lock(mutex_);
  dropped.swap(entries_);
}

void KernelCache::erase(const Entry& entry) {
  const auto [first, last] = entries_.equal_range(entry.hash);
  const auto found = std::find_if(first, last, [&](const auto& pair) { return pair.second.get() == &entry; });
  if (found != last) entries_.erase(found);
}

void KernelCache::finish(Entry& entry, Module module, std::exception_ptr error) {
  {
    const std::lock_guard lock(mutex_);
    if (entry.is_done) return;
    entry.module = std::move(module);
    entry.error = std::move(error);
    entry.is_done = true;
    if (entry.error || !entry.includes) erase(entry);
  }
  finished_.notify_all();
}

KernelCache::Module KernelCache::wait(const Entry& entry) {
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [&] { return entry.is_done; });
  return entry.module;
}

KernelCache::Module KernelCache::load(std::span<const std::byte> bytes, const std::string& name) {
  const auto begin = Clock::now();
  Module module = backend_.load(bytes, name);
  const std::lock_guard lock(mutex_);
  statistics_.load_milliseconds += milliseconds_since(begin);
  return module;
}

/// True if the entry is finished, by a hit or by an error that no compile would mend.
bool KernelCache::load_from_disk(Entry& entry) {
  try {
    entry.key = key(entry.request, entry.includes.value_or(""));
    dump_source(entry.request, entry.key, backend_.kind());
    if (!entry.includes) return false;
    const auto begin = Clock::now();
    const auto bytes = disk().load(entry.key);
    if (!bytes) return false;
    const double reading = milliseconds_since(begin);
    Module module;
    try {
      module = load(*bytes, name_of(entry.request));
    } catch (const Error& error) {
      // Whole, yet not loadable: written by a build that stamps alike. Compiling again mends it.
      log(LogLevel::kDebug, "kernel cache: " + entry.key + " cannot be loaded and is deleted: " + error.what());
      disk().remove(entry.key);
      return false;
    }
    {
      const std::lock_guard lock(mutex_);
      ++statistics_.disk_hits;
      statistics_.load_milliseconds += reading;
    }
    finish(entry, std::move(module), nullptr);
  } catch (...) {
    finish(entry, nullptr, std::current_exception());
  }
  return true;
}

void KernelCache::compile(Entry& entry) {
  try {
    const CompiledCode code = compile(entry.request, entry.key);
    Module module = load(code.bytes, name_of(entry.request));
    if (entry.includes) disk().store(entry.key, code.bytes);  // after load: what cannot be loaded is not kept
    finish(entry, std::move(module), nullptr);
  } catch (...) {
    finish(entry, nullptr, std::current_exception());
  }
}

CompiledCode KernelCache::compile(const CompileRequest& request, const std::string& key) {
  const auto begin = Clock::now();
  CompiledCode code = backend_.compiler().compile(request);
  const double spent = milliseconds_since(begin);
  {
    const std::lock_guard lock(mutex_);
    ++statistics_.compiles;
    statistics_.compile_milliseconds += spent;
  }
  char figure[32];
  std::snprintf(figure, sizeof figure, "%.1f ms", spent);
  log(LogLevel::kDebug, backend_.name() + ": compiled '" + name_of(request) + "' in " + figure + ", key " + key);
  if (!code.log.empty()) log(LogLevel::kWarning, "compiling '" + name_of(request) + "': " + code.log);
  return code;
}

/// On disk such an entry is the log, a NUL, the code: under a key of its own.
CompiledCode KernelCache::code(const CompileRequest& request, bool anew) {
  const std::optional<std::string> includes = include_digest(request);
  const std::string key = Sha256().update_field("with log").update_field(this->key(request, includes.value_or(""))).hex();
  dump_source(request, key, backend_.kind());
  const auto begin = Clock::now();
  if (const auto bytes = anew || !includes ? std::nullopt : disk().load(key)) {
    const auto end = std::find(bytes->begin(), bytes->end(), std::byte{0});
    if (end != bytes->end()) {
      const std::lock_guard lock(mutex_);
      ++statistics_.disk_hits;
      statistics_.load_milliseconds += milliseconds_since(begin);
      return {.bytes = {end + 1, bytes->end()},
              .log = std::string(reinterpret_cast<const char*>(bytes->data()), static_cast<std::size_t>(end - bytes->begin()))};
    }
  }
  CompiledCode code = compile(request, key);
  std::erase(code.log, '\0');
  if (!includes) return code;
  const auto log_bytes = std::as_bytes(std::span(code.log.c_str(), code.log.size() + 1));
  std::vector<std::byte> payload(log_bytes.begin(), log_bytes.end());
  payload.insert(payload.end(), code.bytes.begin(), code.bytes.end());
  disk().store(key, payload);
  return code;
}

KernelCache::Module KernelCache::load_own(const CompileRequest& request, std::string* log) {
  CompiledCode code = this->code(request);
  Module module;
  try {
    module = load(code.bytes, name_of(request));
  } catch (const Error& error) {
    damo::log(LogLevel::kDebug, "'" + name_of(request) + "' cannot be loaded and is compiled again: " + error.what());
    code = this->code(request, /*anew=*/true);
    module = load(code.bytes, name_of(request));
  }
  if (log) *log = std::move(code.log);
  return module;
}

void KernelCache::compile_all(const std::shared_ptr<Wave>& wave) {
  const std::size_t count = wave->misses.size();
  if (count == 0) return;
  wave->left = count;
  std::size_t i = wave->next++;  // this thread's first: a helper that took the only one would leave it idle, and no thread for `maybe`
  const std::size_t useful = std::min(static_cast<std::size_t>(std::max(backend_.compiler().threads(), 1)), count + wave->maybe.size());
  thread_local OfThisProcess<Helpers> helpers;
  try {
    for (std::size_t begun = 1; begun < useful; ++begun) {
      {
        const std::lock_guard lock(mutex_);
        ++helpers_;
      }
      try {
        helpers->begin([this, wave] { help(*wave); });
      } catch (...) {
        const std::lock_guard lock(mutex_);
        --helpers_;
        throw;
      }
    }
  } catch (const std::exception&) {
    // No more threads, or no memory for one: those that there are, and this one, do it all.
  }
  for (; i < count; i = wave->next++) {
    compile(*wave->misses[i]);
    --wave->left;
  }
}

/// In a thread of its own.
void KernelCache::help(Wave& wave) {
  for (std::size_t i; (i = wave.next++) < wave.misses.size();) {
    compile(*wave.misses[i]);
    --wave.left;
  }
  for (std::size_t i; wave.left > 0 && (i = wave.next_maybe++) < wave.maybe.size();) compile_maybe(wave.maybe[i]);
  const std::lock_guard lock(mutex_);
  --helpers_;
  finished_.notify_all();  // under the lock: who waits may be about to destroy this
}

/// Another thread that asks for it meanwhile waits for it, as for any other; if it fails that thread tries again, and has the error.
void KernelCache::compile_maybe(const CompileRequest& request) {
  EntryPointer entry;
  try {
    bool inserted = false;
    entry = find_or_insert(request, inserted);
    if (inserted && !load_from_disk(*entry)) compile(*entry);
  } catch (...) {
    if (entry) finish(*entry, nullptr, std::current_exception());
  }
}

void KernelCache::settle() {
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [&] { return helpers_ == 0; });
}

std::string KernelCache::finding_key(const std::string& text) {
  Sha256 digest;
  digest.update_field("damo " DAMO_VERSION).update_field(backend_.compiler().stamp()).update_field("finding").update_field(text);
  return digest.hex();
}

std::optional<std::vector<std::byte>> KernelCache::finding(const std::string& text) { return disk().load(finding_key(text)); }
void KernelCache::keep_finding(const std::string& text, std::span<const std::byte> bytes) { disk().store(finding_key(text), bytes); }

DiskCache& KernelCache::disk() {
  const std::lock_guard lock(disk_mutex_);
  if (!disk_) disk_ = std::make_unique<DiskCache>(cache_directory_of_environment(), cache_limit_of_environment());
  return *disk_;
}

std::string KernelCache::key(const CompileRequest& request) { return key(request, include_digest(request).value_or("")); }

std::string KernelCache::key(const CompileRequest& request, const std::string& includes) {
  Sha256 digest;
  digest.update_field("damo " DAMO_VERSION).update_field(backend_.compiler().stamp());
  digest.update_field(request.kind == SourceKind::kCudaC ? "CUDA C" : "generated").update_field(request.source);
  for (const auto* texts : {&request.kernels, &request.flags}) {
    digest.update_field(std::to_string(texts->size()));
    for (const std::string& text : *texts) digest.update_field(text);
  }
  if (request.kind == SourceKind::kCudaC) digest.update_field(request.options.text()).update_field(request.file_name).update_field(includes);
  else if (!request.options.contract) digest.update_field("no contraction");
  return digest.hex();
}

CacheStatistics KernelCache::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

std::string cache_directory() {
  return cache_limit_of_environment() == 0 ? std::string() : cache_directory_of_environment();
}

std::vector<CacheEntry> cache_entries() {
  return DiskCache(cache_directory_of_environment(), cache_limit_of_environment()).entries();
}

void clear_cache() { DiskCache(cache_directory_of_environment(), cache_limit_of_environment()).clear(); }

CacheStatistics cache_statistics(Device device) { return device.backend().cache().statistics(); }

}  // namespace damo
