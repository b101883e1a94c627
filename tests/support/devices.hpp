// Tests that run on every kind of device: derive the fixture from OnEachDevice and write TEST_P; the names then end in
// /cpu and /cuda. A device that is not there skips the test and says what is missing.
//
//   class FunctionOnEachDevice : public damo::testing::OnEachDevice {};
//   TEST_P(FunctionOnEachDevice, AddsTwoVectors) { ... function(..., options()) ... }
//   DAMO_ON_EACH_DEVICE(FunctionOnEachDevice);
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <damo/array.hpp>
#include <damo/device.hpp>
#include <damo/error.hpp>
#include "support/errors.hpp"

namespace damo {
struct Options;  // of a layer that not all of these tests have
}

namespace damo::testing {

class OnEachDevice : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    try {
      device_ = Device(GetParam());
    } catch (const DeviceError& error) {
      const bool gpu = GetParam().starts_with("cuda");
      GTEST_SKIP() << (gpu ? "needs a GPU: " : "needs the CPU back end: ") << error.what();
    }
  }
  Device device() const { return *device_; }
  /// For function().
  template <class FunctionOptions = Options>
  FunctionOptions options() const {
    return {.device = device()};
  }

  /// Float values on the device.
  Array array(const std::vector<float>& values, const Shape& shape) const { return Array::from(values, shape, device()); }
  Array array(const std::vector<float>& values) const { return Array::from(values, device()); }
  /// first, first + 1, ...
  Array range(const Shape& shape, float first = 0) const {
    std::vector<float> values(static_cast<std::size_t>(shape.size()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<float>(i);
    return Array::from(values, shape, device());
  }

 private:
  std::optional<Device> device_;
};

inline std::string device_label(const ::testing::TestParamInfo<std::string>& info) {
  return info.param.substr(0, info.param.find(':'));
}

}  // namespace damo::testing

#define DAMO_ON_EACH_DEVICE(Fixture) \
  INSTANTIATE_TEST_SUITE_P(, Fixture, ::testing::Values("cpu", "cuda:0"), damo::testing::device_label)
