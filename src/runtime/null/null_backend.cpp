#include "runtime/null/null_backend.hpp"

#include <damo/error.hpp>

#include "runtime/memory/memory_pool.hpp"
#include "runtime/null/dialect.hpp"

namespace damo {
namespace {

class NullCompiler final : public Compiler {
 public:
  const std::string& stamp() const override {
    static const std::string stamp = "null 1";
    return stamp;
  }
  CompiledCode compile(const CompileRequest& request) const override {
    const auto bytes = std::as_bytes(std::span(request.source));
    return {.bytes = {bytes.begin(), bytes.end()}, .log = {}};
  }
  int threads() const override { return 1; }
};

class NullKernel final : public LoadedKernel {
 public:
  NullKernel(const std::string& name, Backend& owner) {
    name_ = name;
    backend = &owner;
  }
};

class NullModule final : public LoadedModule {
 public:
  explicit NullModule(Backend& backend) : backend_(backend) {}
  std::shared_ptr<const LoadedKernel> kernel(const std::string& name) const override {
    return std::make_shared<NullKernel>(name, backend_);
  }
  std::pair<void*, std::size_t> global(const std::string&) const override { return {nullptr, 0}; }

 private:
  Backend& backend_;
};

}  // namespace

NullBackend::NullBackend() : SynchronousBackend("null", DeviceKind::kNull) {}
NullBackend::~NullBackend() { pool().free_cache(); }

DeviceProperties NullBackend::properties() const {
  DeviceProperties properties = host_properties();
  properties.description = "a device that runs nothing";
  properties.architecture = "null";
  properties.multiprocessors = 1;
  return properties;
}

const Compiler& NullBackend::compiler() {
  static const NullCompiler compiler;
  return compiler;
}

const Dialect& NullBackend::dialect() { return null_dialect(); }

std::shared_ptr<const LoadedModule> NullBackend::load(std::span<const std::byte>, const std::string&) {
  return std::make_shared<NullModule>(*this);
}

void NullBackend::launch(const LoadedKernel& kernel, const LaunchConfig& config, void* const* arguments, void* stream) {
  if (!is_launch_noted(stream, kernel, config, arguments)) ++launches_;
}

std::unique_ptr<Backend> make_null_backend() { return std::make_unique<NullBackend>(); }

}  // namespace damo
