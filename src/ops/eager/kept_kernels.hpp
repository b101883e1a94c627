// KeptKernels: what one device's back end keeps of kernels that CUDA C is written for, by a key that says all about one. For Companions.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include <damo/device.hpp>
#include <damo/module.hpp>

namespace damo {

template <class Key, class Made>
class KeptKernels {
 public:
  explicit KeptKernels(Backend& backend) : device_(&backend) {}
  /// make: from a CompileKernel to a Made; called once for each key. Thread-safe.
  template <class Make>
  const Made& of(const Key& key, Make make) {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<const Made>& made = all_[key];
    if (!made) made = std::make_unique<const Made>(make([this](std::string_view source, std::string_view name) { return compiled(source, name); }));
    return *made;
  }

 private:
  Kernel compiled(std::string_view source, std::string_view name) const {
    ModuleOptions options;
    if (name.find_first_of("<(") != std::string_view::npos) options.kernels = {std::string(name)};
    return Module(device_, std::string(source).c_str(), options).kernel(name);
  }
  Device device_;
  std::mutex mutex_;
  std::map<Key, std::unique_ptr<const Made>> all_;
};

}  // namespace damo
