// PendingKernel: stands in a Kernel until its code is loaded. ThunkContext::compile gives a Kernel at once, and the
// sources of all thunks are compiled together later; then resolve() puts the loaded kernel in.
#pragma once
#include <memory>
#include <string>
#include <utility>

#include <damo/error.hpp>

#include "runtime/backend.hpp"

namespace damo {

class PendingKernel final : public LoadedKernel {
 public:
  PendingKernel(std::string name, Backend& owner) {
    name_ = std::move(name);
    backend = &owner;
  }

  void resolve(std::shared_ptr<const LoadedKernel> loaded) { loaded_ = std::move(loaded); }
  const LoadedKernel& resolved() const override {
    if (loaded_) return *loaded_;
    throw DeviceError("kernel '" + name_ + "' is launched before it is compiled",
                      "launch it in the thunk: kernels are compiled together when every make_thunk has returned");
  }

 private:
  std::shared_ptr<const LoadedKernel> loaded_;
};

}  // namespace damo
