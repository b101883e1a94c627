// Arrays that are turned along an axis of few places, as pictures whose colours become planes: on a GPU they go through tiles of another shape (Layout::tile_inner, tile_other).
#include <cstdint>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "support/devices.hpp"

namespace damo {
namespace {

class FlatTiles : public testing::OnEachDevice {};

/// Small whole numbers, which every dtype has.
double element(std::int64_t i) { return static_cast<double>(i * 7 % 113); }

Array elements(const Shape& shape, DType dtype, Device device) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.size(); ++i) values.push_back(element(i));
  return astype(Array::from(values, shape, device), dtype);
}

TEST_P(FlatTiles, TurnColoursIntoPlanesAndBack) {
  for (const DType dtype : {uint8, bfloat16, float32, float64}) {
    for (const auto& [pictures, places, colours] : {std::tuple<std::int64_t, std::int64_t, std::int64_t>{2, 5000, 3}, {1, 513, 2}, {3, 300, 7}, {2, 129, 15}, {1, 1024, 8}}) {
      const Variable x = input({dtype, {kUnknown, kUnknown, colours}}, "x"), planes = input({dtype, {kUnknown, colours, kUnknown}}, "planes"), shift = input({float32, {colours}}, "shift");
      const Array given = elements({pictures, places, colours}, dtype, device()), turned = elements({pictures, colours, places}, dtype, device()), shifts = elements({colours}, float32, device());
      const Function to_planes = function({x, shift}, {dimshuffle(astype(x, float32) * 2.0 + shift, {0, 2, 1}) + 0.0}, {.device = device()}), back = function({planes}, {contiguous(dimshuffle(planes, {0, 2, 1}))}, {.device = device()});
      const std::vector<double> found = Array(to_planes(given, shifts)).to_doubles(), colour = Array(back(turned)).to_doubles();
      for (std::int64_t picture = 0; picture < pictures; ++picture) {
        for (std::int64_t place = 0; place < places; ++place) {
          for (std::int64_t c = 0; c < colours; ++c) {
            const std::int64_t last = (picture * places + place) * colours + c, first = (picture * colours + c) * places + place;
            ASSERT_EQ(found[static_cast<std::size_t>(first)], element(last) * 2 + element(c)) << name(dtype) << " " << colours << " colours, picture " << picture << " place " << place << " colour " << c;
            ASSERT_EQ(colour[static_cast<std::size_t>(last)], element(first)) << name(dtype) << " " << colours << " colours, picture " << picture << " place " << place << " colour " << c;
          }
        }
      }
    }
  }
}

DAMO_ON_EACH_DEVICE(FlatTiles);

}  // namespace
}  // namespace damo
