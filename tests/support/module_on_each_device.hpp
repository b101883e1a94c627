// Tests of one text of CUDA C on every kind of device: derive the fixture from ModuleOnEachDevice with the text.
//
//   struct StridedOnEachDevice : damo::testing::ModuleOnEachDevice {
//     StridedOnEachDevice() : ModuleOnEachDevice(kSource) {}
//   };
#pragma once
#include <optional>

#include <damo/module.hpp>

#include "support/devices.hpp"

namespace damo::testing {

class ModuleOnEachDevice : public OnEachDevice {
 protected:
  explicit ModuleOnEachDevice(const char* source) : source_(source) {}
  void SetUp() override {
    OnEachDevice::SetUp();
    if (!IsSkipped()) module_.emplace(device(), source_);
  }
  Kernel kernel(const char* name) const { return module_->kernel(name); }

 private:
  const char* source_;
  std::optional<Module> module_;
};

}  // namespace damo::testing
