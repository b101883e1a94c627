// NoiseOnEachDevice: arrays of random values on each device, the same in every run.
#pragma once
#include <cstdlib>
#include <random>
#include <vector>

#include <damo/array_math.hpp>
#include "support/devices.hpp"

namespace damo::testing {

class NoiseOnEachDevice : public OnEachDevice {
 protected:
  explicit NoiseOnEachDevice(unsigned seed) : random_(seed) {}

  /// From -2 to 2; whole numbers from -9 to 9 where the dtype is not floating, not below 0 where it has no sign.
  Array noise(const Shape& shape, DType dtype = float32) {
    std::vector<float> values(static_cast<std::size_t>(shape.size()));
    std::uniform_real_distribution<float> uniform(-2, 2);
    std::uniform_int_distribution<int> whole(-9, 9);
    for (float& value : values) value = is_floating(dtype) ? uniform(random_) : static_cast<float>(is_signed(dtype) ? whole(random_) : std::abs(whole(random_)));
    const Array array = Array::from(values, shape, device());
    return dtype == float32 ? array : astype(array, dtype);
  }
  int pick(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }

  std::mt19937 random_;
};

}  // namespace damo::testing
