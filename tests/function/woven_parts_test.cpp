// Arrays that are put between each other, computed and copied ones, against those that are put together part by part.
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>

#include <damo/damo.hpp>
#include "support/devices.hpp"

namespace damo {
namespace {

class WovenPartsOnEachDevice : public testing::OnEachDevice {};

TEST_P(WovenPartsOnEachDevice, LieBetweenEachOther) {
  for (DType dtype : {float32, bfloat16, float64, int8, bool_}) {
    for (const Shape& shape : {Shape{1, 5}, Shape{3, 64}, Shape{33, 131}, Shape{7, 1024}}) {
      const Variable x = input({dtype, shape}, "x"), y = input({dtype, shape}, "y");
      const auto computed = [](const Variable& a, const Variable& b) { return a.dtype() == bool_ ? a & b : maximum(a, b); };
      for (int count : {2, 3, 4, 5}) {
        const std::vector<Variable> all{computed(x, y), y, flip(x, 1), computed(flip(y, 0), x), x};
        const std::vector<Variable> parts(all.begin(), all.begin() + count), outputs{stack(parts, 2), stack({x, y}, 2), reshape(stack(parts, 2), {-1})};
        const Function f = function({x, y}, outputs, {.device = device()}), plain = function({x, y}, outputs, {.fuse = false, .device = device()});
        std::vector<double> values(static_cast<std::size_t>(2 * shape.size()));
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * 2654435761u % 11u) - 5;
        Shape twice = shape;
        twice[0] *= 2;
        const Array given = astype(Array::from(values, twice, device()), dtype), first = given.slice({{0, shape[0]}}), second = given.slice({{shape[0], twice[0]}});
        const Results found = f(first, second), expected = plain(first, second);
        const std::vector<double> x_values = astype(first, float64).to_doubles(), y_values = astype(second, float64).to_doubles(), pairs = astype(found[1], float64).to_doubles();
        for (std::size_t k = 0; k < pairs.size(); ++k) ASSERT_EQ(pairs[k], (k % 2 == 0 ? x_values : y_values)[k / 2]) << name(dtype) << " " << to_string(shape) << " at " << k;
        for (std::size_t i = 0; i < outputs.size(); ++i) EXPECT_EQ(astype(found[i], float64).to_doubles(), astype(expected[i], float64).to_doubles()) << name(dtype) << " " << to_string(shape) << " " << count;
      }
    }
  }
}

DAMO_ON_EACH_DEVICE(WovenPartsOnEachDevice);

}  // namespace
}  // namespace damo
