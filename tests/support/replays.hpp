// Tests of replayed calls. On the CPU, which gains nothing by them, they are switched on: the log, what is set for
// which kernel, and memory are the same for all devices.
#pragma once
#include <cstdint>
#include <vector>

#include <damo/function.hpp>
#include "runtime/backend.hpp"
#include "support/devices.hpp"

namespace damo::testing {

class ReplayOnEachDevice : public OnEachDevice {
 protected:
  void SetUp() override {
    OnEachDevice::SetUp();
    if (IsSkipped()) return;
    least_ = backend().least_replayed.exchange(2);
  }
  void TearDown() override {
    if (!IsSkipped()) backend().least_replayed = least_;
  }
  Backend& backend() const { return device().backend(); }
  std::uint64_t replays() const { return backend().replays; }
  std::uint64_t set() const { return backend().replayed_values; }
  Options unfused(bool replay = true) const { return {.fuse = false, .device = device(), .replay = replay}; }
  static std::vector<float> values(const Array& array) { return array.to_vector<float>(); }

 private:
  int least_ = 0;
};

}  // namespace damo::testing
