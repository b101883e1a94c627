// PreparedKernel: a kernel whose argument types are fixed, so that a call checks none of them and allocates nothing: the
// addresses of the arguments go straight to the device's launch. From Kernel::prepare (kernel.hpp).
//
//   const auto scale = module.kernel("scale").prepare<Array, float, int>();
//   scale({.grid = {4}, .block = {256}}, x, 2.0f, 1000);
//   const auto launch = scale.with({.grid = {4}, .block = {256}});   // the shape of the launch fixed too
//   launch(x, 2.0f, 1000);
//
// An Array's address is passed, whatever its dtype, layout and device: these are the caller's care. The limits of a
// launch are still looked at. See tests/runtime/module/prepared_kernel_test.cpp.
#pragma once
#include <tuple>
#include <utility>

#include <damo/kernel.hpp>

namespace damo {

namespace detail {

/// Where a prepared call finds an argument's bytes.
template <class T>
struct PreparedValue {
  explicit PreparedValue(const T& value) : value(&value) {}
  void* address() const { return const_cast<T*>(value); }
  const T* value;
};
template <>
struct PreparedValue<Array> {
  explicit PreparedValue(const Array& array) : data(array.data()) {}
  void* address() const { return const_cast<void**>(&data); }
  void* data;
};
template <class T>
  requires HasArgumentHook<T>
struct PreparedValue<T> {
  explicit PreparedValue(const T& value) : argument(value) {}
  void* address() const { return argument.value(); }
  KernelArgument argument;
};

/// Throws TypeError where the kernel's parameters do not take such arguments.
void check_prepared(const LoadedKernel& kernel, const KernelArgument* arguments, std::size_t count);
/// Looks at the limits of the launch, not at the arguments.
void launch_prepared(const LoadedKernel& kernel, const LaunchConfig& config, void* const* arguments, void* stream);

template <class T>
KernelArgument prepared_type() {
  if constexpr (HasArgumentHook<T>) return KernelArgument::of_type<void*>();
  else return KernelArgument::of_type<T>();
}

}  // namespace detail

template <class... Arguments>
class PreparedKernel {
 public:
  static_assert(!(std::is_base_of_v<HostArgument, Arguments> || ...),
                "a prepared call copies nothing: pass an Array in place of In, Out, InOut");

  const std::string& name() const { return kernel_.name(); }

  void operator()(const LaunchConfig& config, const Arguments&... arguments) const {
    launch(config, config.stream ? detail::stream_handle(*config.stream) : stream_, arguments...);
  }

  /// The prepared kernel with the launch's shape fixed.
  auto with(LaunchConfig config) const {
    void* const stream = config.stream ? detail::stream_handle(*config.stream) : stream_;
    return [self = *this, config = std::move(config), stream](const Arguments&... arguments) {
      self.launch(config, stream, arguments...);
    };
  }

 private:
  friend class Kernel;
  explicit PreparedKernel(const Kernel& kernel)
      : kernel_(kernel), loaded_(&kernel.loaded()), stream_(kernel.stream_ ? detail::stream_handle(*kernel.stream_) : nullptr) {
    const std::array<KernelArgument, sizeof...(Arguments)> types = {detail::prepared_type<Arguments>()...};
    detail::check_prepared(*loaded_, types.data(), types.size());
  }
  void launch(const LaunchConfig& config, void* stream, const Arguments&... arguments) const {
    launch_values(config, stream, std::tuple<detail::PreparedValue<Arguments>...>(arguments...),
                  std::index_sequence_for<Arguments...>());
  }
  template <std::size_t... I>
  void launch_values(const LaunchConfig& config, void* stream,
                     const std::tuple<detail::PreparedValue<Arguments>...>& values, std::index_sequence<I...>) const {
    void* const addresses[sizeof...(I) + 1] = {std::get<I>(values).address()..., nullptr};
    detail::launch_prepared(*loaded_, config, addresses, stream);
  }

  Kernel kernel_;  // keeps the code loaded and the stream alive
  const LoadedKernel* loaded_;
  void* stream_;
};

template <class... Arguments>
PreparedKernel<Arguments...> Kernel::prepare() const {
  return PreparedKernel<Arguments...>(*this);
}

}  // namespace damo
