// A device whose compiler is the test's: it counts compiles, can be slow, fails on a source that contains "wrong".
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include <damo/error.hpp>

#include "runtime/memory/memory_pool.hpp"
#include "runtime/synchronous_backend.hpp"

namespace damo::testing {

class CountingCompiler final : public Compiler {
 public:
  std::string stamp_text = "counting 1";
  std::chrono::milliseconds delay{0};  ///< of each compile
  int together = 1;                    ///< each compile waits until so many run or have run at once, a minute at most: how soon threads begin is then nothing to a test
  int thread_count = 2;
  mutable std::atomic<int> compiles = 0, running = 0, most_running = 0;

  const std::string& stamp() const override { return stamp_text; }
  int threads() const override { return thread_count; }
  CompiledCode compile(const CompileRequest& request) const override {
    ++compiles;
    const int now = ++running;
    for (int most = most_running; most < now && !most_running.compare_exchange_weak(most, now);) {
    }
    for (const auto begin = std::chrono::steady_clock::now(); most_running < together && std::chrono::steady_clock::now() - begin < std::chrono::minutes(1);) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::this_thread::sleep_for(delay);
    --running;
    if (request.source.find("wrong") != std::string::npos) {
      throw CompileError("'" + request.file_name + "' does not compile", "line 1: " + request.source, request.source);
    }
    const std::string code = "code of " + request.source;
    const auto bytes = std::as_bytes(std::span(code));
    return {.bytes = {bytes.begin(), bytes.end()}, .log = {}};
  }
};

/// What it was loaded from, for the test to read.
class TextModule final : public LoadedModule {
 public:
  explicit TextModule(std::span<const std::byte> bytes)
      : text(reinterpret_cast<const char*>(bytes.data()), bytes.size()) {}
  std::shared_ptr<const LoadedKernel> kernel(const std::string&) const override { return nullptr; }
  std::pair<void*, std::size_t> global(const std::string&) const override { return {nullptr, 0}; }
  const std::string text;
};

class CountingBackend final : public SynchronousBackend {
 public:
  CountingBackend() : SynchronousBackend("counting", DeviceKind::kNull) {}
  ~CountingBackend() override { pool().free_cache(); }

  CountingCompiler counting;
  std::atomic<int> loads = 0, refused_loads = 0;  ///< refused_loads: how many of the next load() calls fail

  DeviceProperties properties() const override {
    DeviceProperties properties = host_properties();
    properties.max_shared_bytes = 48 << 10;
    return properties;
  }
  const Compiler& compiler() override { return counting; }
  const Dialect& dialect() override { throw InternalError("no dialect"); }
  std::shared_ptr<const LoadedModule> load(std::span<const std::byte> bytes, const std::string& name) override {
    ++loads;
    if (refused_loads > 0) {
      --refused_loads;
      throw DeviceError("'" + name + "' cannot be loaded");
    }
    return std::make_shared<TextModule>(bytes);
  }
  void launch(const LoadedKernel&, const LaunchConfig& config, void* const* arguments, void*) override {
    last_config = config;
    last_arguments = arguments;
    if (on_launch) on_launch(arguments);
  }

  LaunchConfig last_config;
  void* const* last_arguments = nullptr;
  std::function<void(void* const*)> on_launch;
};

}  // namespace damo::testing
