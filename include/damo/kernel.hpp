// Kernel: compiled device code, ready to launch. From Module::kernel (module.hpp) or ThunkContext::compile (thunk.hpp).
// Cheap to copy; loaded as long as a copy lives.
//
//   kernel({.grid = {32}, .block = {256}}, x, y, 2.0f, n);      // or kernel.launch(...), the same
//   kernel.launch_1d(n, x, y, 2.0f, n);                         // one thread for each of n elements
//   auto prepared = kernel.prepare<Array, Array, float, int>(); // types fixed once: no checks later
//
// Each argument is checked against the type that the kernel declares (see kernel_argument.hpp for what may be passed): a
// wrong number, dtype, device or layout is an error before anything runs. Of code that came without types (a ready
// cubin) the sizes are checked.
// See tests/runtime/module/kernel_test.cpp.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <damo/array.hpp>
#include <damo/device.hpp>
#include <damo/host_argument.hpp>
#include <damo/kernel_argument.hpp>
#include <damo/launch_config.hpp>
#include <damo/parameter_type.hpp>

namespace damo {

class LoadedKernel;  // src/runtime/backend.hpp
template <class... Arguments>
class PreparedKernel;  // prepared_kernel.hpp

/// What the compiler made of a kernel. On the CPU registers, local and constant bytes are 0: nobody counts them there.
struct KernelAttributes {
  int registers = 0;                ///< a thread
  std::size_t shared_bytes = 0;     ///< a block, declared in the kernel's text; dynamic ones come on top
  std::size_t local_bytes = 0;      ///< a thread: spills and arrays
  std::size_t constant_bytes = 0;   ///< of the module, the user's
  int max_threads_per_block = 0;
  int ptx_version = 0;              ///< 90 for PTX of compute_90; 0: unknown
  int binary_version = 0;           ///< 90 for code of sm_90; 0: unknown
};

/// How many threads of a kernel the device holds at once.
struct Occupancy {
  int blocks_per_multiprocessor = 0;  ///< 0: such a block does not fit
  double fraction = 0;                ///< threads so held by the most that a multiprocessor can hold
};

class Kernel {
 public:
  Kernel() = default;
  Kernel(std::shared_ptr<const LoadedKernel> loaded, Stream stream) : loaded_(std::move(loaded)), stream_(std::move(stream)) {}

  explicit operator bool() const { return loaded_ != nullptr; }
  const std::string& name() const;
  /// Throws DeviceError for an empty Kernel.
  Device device() const;

  /// Throws DeviceError for a launch beyond the device's limits, naming the limit, and for memory of another device;
  /// TypeError for arguments that do not fit the kernel's parameters. Returns when the work is queued; with an Out or
  /// InOut when it is done.
  template <class... Arguments>
  void operator()(const LaunchConfig& config, const Arguments&... arguments) const {
    const std::array<KernelArgument, sizeof...(Arguments)> values = {KernelArgument::of_call(arguments)...};
    launch_with(config, values.data(), values.size());
  }
  template <class... Arguments>
  void launch(const LaunchConfig& config, const Arguments&... arguments) const {
    (*this)(config, arguments...);
  }
  /// The same with as many arguments as are known only at run time.
  void launch_arguments(const LaunchConfig& config, std::span<const KernelArgument> arguments) const {
    launch_with(config, arguments.data(), arguments.size());
  }
  /// One thread for each of count elements, in blocks of at most 256 as suggested_block() has them; nothing for count 0.
  /// The kernel looks itself whether its thread is one of the count. Throws DeviceError past the device's largest grid.
  template <class... Arguments>
  void launch_1d(std::int64_t count, const Arguments&... arguments) const {
    if (count == 0) return;
    (*this)(config_1d(count), arguments...);
  }

  /// The kernel for arguments of these types: checked here, once, against the parameters. Arrays are checked to be passed
  /// to a pointer; their dtype, layout and device are the caller's care.
  template <class... Arguments>
  PreparedKernel<Arguments...> prepare() const;

  KernelAttributes attributes() const;
  /// As the kernel declares them; empty if nobody knows.
  std::vector<ParameterType> parameters() const;
  /// Of blocks of so many threads. On the CPU a core runs one block at a time, whatever its size.
  Occupancy occupancy(int block, std::size_t shared_bytes = 0) const;
  /// Threads of a block that fill the device best; on the CPU 256, or the kernel's own limit.
  int suggested_block(std::size_t shared_bytes = 0) const;

 private:
  template <class... Arguments>
  friend class PreparedKernel;
  void launch_with(const LaunchConfig& config, const KernelArgument* arguments, std::size_t count) const;
  LaunchConfig config_1d(std::int64_t count) const;
  const LoadedKernel& loaded() const;

  std::shared_ptr<const LoadedKernel> loaded_;
  std::optional<Stream> stream_;
};

}  // namespace damo

#include <damo/prepared_kernel.hpp>
