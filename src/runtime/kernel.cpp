#include <damo/kernel.hpp>

#include <damo/error.hpp>

#include "runtime/backend.hpp"

namespace damo {
namespace {

[[noreturn]] void refuse_arguments(const LoadedKernel& kernel, const std::string& what, const std::string& remedy) {
  throw TypeError("launch of '" + kernel.name() + "': " + what, remedy);
}

void check_arguments(const LoadedKernel& kernel, const KernelArgument* arguments, std::size_t count) {
  const std::vector<std::size_t>& wanted = kernel.parameter_bytes();
  if (wanted.empty()) return;  // the compiler does not tell
  if (count != wanted.size()) {
    refuse_arguments(
        kernel,
        std::to_string(count) + " arguments are given, the kernel has " + std::to_string(wanted.size()) + " parameters",
        "give one argument a parameter, in order");
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (arguments[i].bytes() == wanted[i]) continue;
    refuse_arguments(
        kernel,
        "argument " + std::to_string(i + 1) + " of " + std::to_string(count) + " has " +
            std::to_string(arguments[i].bytes()) + " bytes, the kernel's parameter has " + std::to_string(wanted[i]),
        "pass a value of the parameter's own type: std::int32_t for int, float for float, an Array for a pointer");
  }
}

}  // namespace

const std::string& Kernel::name() const {
  static const std::string none = "(no kernel)";
  return loaded_ ? loaded_->name() : none;
}

void Kernel::launch_with(const LaunchConfig& config, const KernelArgument* arguments, std::size_t count) const {
  if (!loaded_) throw DeviceError("launch of an empty Kernel", "get one from ThunkContext::compile");
  const LoadedKernel& kernel = loaded_->resolved();
  check_arguments(kernel, arguments, count);
  check_launch(kernel, config);
  constexpr std::size_t kOnStack = 32;
  void* few[kOnStack];
  std::vector<void*> many;
  void** pointers = few;
  if (count > kOnStack) {
    many.resize(count);
    pointers = many.data();
  }
  for (std::size_t i = 0; i < count; ++i) pointers[i] = arguments[i].value();
  kernel.backend->launches.fetch_add(1, std::memory_order_relaxed);
  kernel.backend->launch(kernel, config, pointers, stream_ ? stream_->handle() : nullptr);
}

}  // namespace damo
