#include "runtime/device_registry.hpp"

#include <charconv>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <damo/error.hpp>
#include <damo/log.hpp>

#include "graph/base/environment.hpp"
#include "runtime/memory/fork_safe_mutex.hpp"
#include "runtime/null/null_backend.hpp"
#if DAMO_HAS_CPU
#include "runtime/cpu/cpu_backend.hpp"
#endif
#if DAMO_HAS_CUDA && __has_include("runtime/cuda/cuda_backend.hpp")
#define DAMO_WITH_CUDA 1
#include "runtime/cuda/cuda_backend.hpp"
#else
#define DAMO_WITH_CUDA 0
#endif

namespace damo {
namespace {

struct Registry {
  std::mutex making;      // held while one is made
  ForkSafeMutex mutex;    // of the map: a child of fork() asks for its devices, too
  std::map<std::string, std::unique_ptr<Backend>, std::less<>> backends;

  /// Null: not made yet.
  Backend* find(std::string_view name) {
    const std::lock_guard lock(mutex);
    const auto found = backends.find(name);
    return found == backends.end() ? nullptr : found->second.get();
  }
};

Registry& registry() {
  static Registry* const registry = new Registry;
  return *registry;
}

int gpu_count() {
#if DAMO_WITH_CUDA
  return cuda_device_count();
#else
  return 0;
#endif
}

std::string why_no_gpu() {
#if DAMO_WITH_CUDA
  return cuda_problem().value_or("there is none");
#else
  return "this build of Damo has no CUDA back end";
#endif
}

/// "cuda:0, cuda:1, cpu, null".
std::string names_of_all() {
  std::string names;
  for (int i = 0; i < gpu_count(); ++i) names += "cuda:" + std::to_string(i) + ", ";
#if DAMO_HAS_CPU
  names += "cpu, ";
#endif
  return names + "null";
}

[[noreturn]] void refuse(const std::string& name, const std::string& why, const std::string& remedy) {
  throw DeviceError("no device '" + name + "': " + why + "; there are: " + names_of_all(), remedy);
}

/// The index of "cuda:1"; nothing for another name.
std::optional<int> cuda_index(std::string_view name) {
  if (!name.starts_with("cuda:")) return std::nullopt;
  int index = -1;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + 5, end, index);
  return error == std::errc() && stop == end && index >= 0 ? std::optional(index) : std::nullopt;
}

std::unique_ptr<Backend> make_cuda(const std::string& name, int index) {
#if DAMO_WITH_CUDA
  if (index < gpu_count()) return make_cuda_backend(index);
  if (gpu_count() == 0) {
    refuse(name, why_no_gpu(), "install NVIDIA's driver, or use the CPU: DAMO_DEVICE=cpu");
  }
  refuse(name, "this machine has " + std::to_string(gpu_count()) + " of them", "CUDA_VISIBLE_DEVICES can hide some");
#else
  (void)index;
  refuse(name, why_no_gpu(), "build Damo where the CUDA toolkit is, with -DDAMO_CUDA=ON");
#endif
}

std::unique_ptr<Backend> make_cpu() {
#if DAMO_HAS_CPU
  return make_cpu_backend();
#else
  refuse("cpu", "this build of Damo has no CPU back end",
         "build Damo where Clang, LLVM 19 and oneTBB are, with -DDAMO_CPU=ON");
#endif
}

std::unique_ptr<Backend> make(const std::string& name) {
  report_environment();
  if (name == "cpu") return make_cpu();
  if (name == "null") return make_null_backend();
  if (const auto index = cuda_index(name)) return make_cuda(name, *index);
  refuse(name, "the name is not known", "names are cpu, cuda, cuda:1 and null");
}

Backend& choose_default() {
  if (const std::string chosen = environment("DAMO_DEVICE"); !chosen.empty()) {
    try {
      return backend_named(chosen);
    } catch (Error& error) {
      error.add_where("DAMO_DEVICE is '" + chosen + "'");
      throw;
    }
  }
  if (gpu_count() > 0) return backend_named("cuda:0");
  Backend& cpu = backend_named("cpu");
  log(LogLevel::kInfo, "no GPU: " + why_no_gpu() + "; using the CPU");
  return cpu;
}

}  // namespace

Backend& default_backend() {
  static Backend& chosen = choose_default();  // an exception leaves the choice open
  return chosen;
}

Backend& backend_named(std::string_view name) {
  const std::string full = name == "cuda" ? "cuda:0" : std::string(name);
  Registry& all = registry();
  if (Backend* const found = all.find(full)) return *found;
  const std::lock_guard making(all.making);
  if (Backend* const found = all.find(full)) return *found;  // another thread has made it meanwhile
  std::unique_ptr<Backend> made = make(full);
  const std::lock_guard lock(all.mutex);
  return *all.backends.emplace(full, std::move(made)).first->second;
}

std::vector<Backend*> usable_backends() {
  std::vector<std::string> names;
  for (int i = 0; i < gpu_count(); ++i) names.push_back("cuda:" + std::to_string(i));
  names.push_back("cpu");
  std::vector<Backend*> usable;
  for (const std::string& name : names) {
    try {
      usable.push_back(&backend_named(name));
    } catch (const Error& error) {
      log(LogLevel::kDebug, name + " is left out: " + error.what());
    }
  }
  return usable;
}

}  // namespace damo
