// FaultyCpu: the CPU whose every call of the back end can fail, as the interface allows: no memory where null says so, an
// exception everywhere else. Calls that promise not to throw never fail.
#pragma once
#include <damo/error.hpp>

#include "faults/injection.hpp"
#include "runtime/cpu/cpu_backend.hpp"

namespace damo::faults {

class FaultyCompiler final : public Compiler {
 public:
  explicit FaultyCompiler(const Compiler& real) : real_(real) {}
  const std::string& stamp() const override { return real_.stamp(); }
  int threads() const override { return 1; }
  CompiledCode compile(const CompileRequest& request) const override {
    if (Injection::here(Kind::kBackend, "compile")) throw CompileError("'" + request.file_name + "' does not compile", "on purpose", request.source);
    return real_.compile(request);
  }

 private:
  const Compiler& real_;
};

class FaultyCpu final : public CpuBackend {
 public:
  FaultyCpu() : CpuBackend(1), compiler_(CpuBackend::compiler()) {}

  void* allocate(std::size_t bytes) override { return fails("allocate") ? nullptr : CpuBackend::allocate(bytes); }
  void* allocate_pinned(std::size_t bytes, PinnedOptions options) override { return fails("allocate_pinned") ? nullptr : CpuBackend::allocate_pinned(bytes, options); }
  void* allocate_shareable(std::size_t bytes) override { return fails("allocate_shareable") ? nullptr : CpuBackend::allocate_shareable(bytes); }
  void register_host(void* memory, std::size_t bytes, PinnedOptions options) override {
    may_fail("register_host");
    CpuBackend::register_host(memory, bytes, options);
  }
  void copy(void* to, const void* from, std::size_t bytes, CopyKind kind, void* stream) override {
    may_fail("copy");
    if (bytes < kMeasured) CpuBackend::copy(to, from, bytes, kind, stream);
  }
  void fill(void* to, const void* element, std::size_t element_bytes, std::size_t count, void* stream) override {
    may_fail("fill");
    if (element_bytes * count < kMeasured) CpuBackend::fill(to, element, element_bytes, count, stream);
  }
  std::pair<std::string, std::size_t> share(void* memory) override {
    may_fail("share");
    return CpuBackend::share(memory);
  }
  void* open_shared(const std::string& text, std::size_t bytes) override {
    may_fail("open_shared");
    return CpuBackend::open_shared(text, bytes);
  }
  void* create_stream(StreamOptions options) override {
    may_fail("create_stream");
    return CpuBackend::create_stream(options);
  }
  void synchronize(void* stream) override {
    may_fail("synchronize a stream");
    CpuBackend::synchronize(stream);
  }
  void synchronize() override {
    may_fail("synchronize");
    CpuBackend::synchronize();
  }
  void fork_streams() override {
    may_fail("fork_streams");
    CpuBackend::fork_streams();
  }
  void* create_event(EventOptions options) override {
    may_fail("create_event");
    return CpuBackend::create_event(options);
  }
  void record(void* event, void* stream) override {
    may_fail("record");
    CpuBackend::record(event, stream);
  }
  void wait(void* stream, void* event) override {
    may_fail("wait");
    CpuBackend::wait(stream, event);
  }
  void add_callback(void* stream, std::function<void()> function) override {
    may_fail("add_callback");
    CpuBackend::add_callback(stream, std::move(function));
  }
  void begin_capture(void* stream) override {
    may_fail("begin_capture");
    CpuBackend::begin_capture(stream);
  }
  std::unique_ptr<CapturedWork> end_capture(void* stream) override {
    if (fails("end_capture")) {  // a driver that fails here has ended the capture
      CpuBackend::abandon_capture(stream);
      throw DeviceError("end_capture fails on purpose");
    }
    return CpuBackend::end_capture(stream);
  }
  const Compiler& compiler() override { return compiler_; }
  std::shared_ptr<const LoadedModule> load(std::span<const std::byte> bytes, const std::string& name) override {
    may_fail("load");
    return CpuBackend::load(bytes, name);
  }
  void launch(const LoadedKernel& kernel, const LaunchConfig& config, void* const* arguments, void* stream) override {
    may_fail("launch");
    CpuBackend::launch(kernel, config, arguments, stream);
  }

 private:
  /// Of Device::measure_copy(), which would take longer than all the rest: nobody reads what it copies.
  static constexpr std::size_t kMeasured = std::size_t{256} << 20;
  static bool fails(const char* what) { return Injection::here(Kind::kBackend, what); }
  static void may_fail(const char* what) {
    if (fails(what)) throw DeviceError(std::string(what) + " fails on purpose");
  }
  FaultyCompiler compiler_;
};

}  // namespace damo::faults
