// Arrays that are turned along an axis of few places, as pictures whose colours become planes: on a GPU they go through tiles of another shape (Layout::tile_inner, tile_other).
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <utility>
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

/// Pictures of `colours` side by side, planes of them, what every position has and what every colour has; each lies somewhere else, and what comes of them is stored both ways.
class Pictures {
 public:
  Pictures(std::int64_t pictures, std::int64_t places, std::int64_t colours) : pictures_(pictures), places_(places), colours_(colours) {}

  void check(const Array& side_by_side, const Array& planes, const Array& mask, const Array& shift, Device device, const std::string& what) const {
    const Variable x = input({side_by_side.dtype(), {kUnknown, kUnknown, kUnknown}}, "x"), y = input({planes.dtype(), {kUnknown, kUnknown, kUnknown}}, "y");
    const Variable m = input({mask.dtype(), {kUnknown, kUnknown}}, "m"), s = input({shift.dtype(), {kUnknown}}, "s");
    const auto wide = [](const Variable& v) { return astype(v, float32); };
    const Variable turned = dimshuffle(wide(x), {0, 2, 1}) * expand_dims(wide(s), 1) + wide(y) * expand_dims(wide(m), 1);
    const Variable back = dimshuffle(wide(y), {0, 2, 1}) - wide(x) * wide(s) + expand_dims(wide(m), 2);
    const Function to_planes = function({x, y, m, s}, {turned, astype(turned, planes.dtype())}, {.device = device});
    const Function to_pictures = function({x, y, m, s}, {back, astype(contiguous(dimshuffle(y, {0, 2, 1})), side_by_side.dtype())}, {.device = device});
    const Results first = to_planes(side_by_side, planes, mask, shift), second = to_pictures(side_by_side, planes, mask, shift);
    const std::vector<double> xs = side_by_side.to_doubles(), ys = planes.to_doubles(), ms = mask.to_doubles(), ss = shift.to_doubles();
    const std::vector<double> found[] = {first[0].to_doubles(), first[1].to_doubles(), second[0].to_doubles(), second[1].to_doubles()};
    for (std::int64_t picture = 0; picture < pictures_; ++picture) {
      for (std::int64_t place = 0; place < places_; ++place) {
        for (std::int64_t c = 0; c < colours_; ++c) {
          const auto side = static_cast<std::size_t>((picture * places_ + place) * colours_ + c), plane = static_cast<std::size_t>((picture * colours_ + c) * places_ + place);
          const double mask_here = ms[static_cast<std::size_t>(picture * places_ + place)], shift_here = ss[static_cast<std::size_t>(c)];
          const double sum = xs[side] * shift_here + ys[plane] * mask_here;
          const std::string where = what + ", picture " + std::to_string(picture) + " place " + std::to_string(place) + " colour " + std::to_string(c);
          ASSERT_EQ(found[0][plane], sum) << where;
          ASSERT_EQ(found[1][plane], sum) << where;
          ASSERT_EQ(found[2][side], ys[plane] - xs[side] * shift_here + mask_here) << where;
          ASSERT_EQ(found[3][side], ys[plane]) << where;
        }
      }
    }
  }

 private:
  std::int64_t pictures_, places_, colours_;
};

/// Numbers from 0 to 6: sums of two products have 7 bits, which bfloat16 holds.
Array few(const Shape& shape, DType dtype, Device device, std::int64_t seed) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.size(); ++i) values.push_back(static_cast<double>((i * 5 + seed + i / 11) % 7));
  return astype(Array::from(values, shape, device), dtype);
}

TEST_P(FlatTiles, GiveTheSameWhereverArraysBeginAndHoweverTheyLie) {
  // Positions are a multiple of 16, of 4, of 2 and odd; less than a warp's, and some more than several.
  struct Case {
    std::int64_t pictures, places, colours;
    DType pixel, plane;
  };
  for (const auto& [pictures, places, colours, pixel, plane] : {Case{2, 1040, 3, uint8, float32}, {3, 516, 4, float32, bfloat16}, {2, 1030, 2, bfloat16, uint8}, {2, 1027, 3, float64, float32}, {2, 80, 15, float32, float32}}) {
    const Pictures all(pictures, places, colours);
    const std::string what = std::string(name(pixel)) + " " + std::string(name(plane)) + " " + std::to_string(places) + " places, " + std::to_string(colours) + " colours";
    const Array x = few({pictures, places, colours}, pixel, device(), 1), y = few({pictures, colours, places}, plane, device(), 2), m = few({pictures, places}, float32, device(), 3), s = few({colours}, float32, device(), 4);
    all.check(x, y, m, s, device(), what);
    // Behind one more element: no vector is aligned.
    const Array longer = few({1 + pictures * places * colours}, pixel, device(), 1);
    all.check(longer.slice({{1, {}}}).reshape({pictures, places, colours}), y, m, s, device(), what + ", behind an element");
    // One of more colours, planes from the last to the first, and every other position.
    all.check(few({pictures, places, colours + 1}, pixel, device(), 5).slice({{}, {}, {0, colours}}), y, m, s, device(), what + ", of one colour more");
    const Array backwards = few({pictures, colours, places}, plane, device(), 6).slice({{}, {{}, {}, -1}});
    all.check(x, backwards, m, s, device(), what + ", planes backwards");
    const Array thinned = few({pictures, colours, 2 * places}, plane, device(), 7).slice({{}, {}, {{}, {}, 2}});
    all.check(x, thinned, m, s, device(), what + ", every other position");
  }
}

/// Floats, in stretches of one kind: zeros and numbers about 1; edges, as denormals, the greatest and least, infinities and NaN; all bits at random; numbers near the least; and multiples of the divisors
/// and of half a unit, whose quotients are nearly halfway between two floats.
std::vector<float> floats_of_every_kind(std::size_t count, const std::vector<float>& divisors, std::uint32_t seed) {
  constexpr std::size_t kStretch = 96;  // more than a thread computes at once
  std::mt19937 random(seed);
  const std::uint32_t edges[] = {0, 1, 2, 0x007fffff, 0x00800000, 0x00800001, 0x00ffffff, 0x15000000, 0x157fffff, 0x15800000, 0x2b800000, 0x2b7fffff, 0x3f800000, 0x3f7fffff, 0x3f800001, 0x3fffffff,
                                 0x53800000, 0x53800001, 0x69800000, 0x69800001, 0x7f000000, 0x7f7fffff, 0x7f800000, 0x7fc00000, 0x437f0000, 0x4b7fffff};
  std::vector<float> all;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t bits = random();
    const std::uint32_t about_one = (bits & 0x80ffffffu) | 0x3f000000u;
    switch (i / kStretch % 5) {
      case 0: bits = bits % 7 == 0 ? bits << 31 : about_one; break;
      case 1: bits = edges[i % std::size(edges)] | (bits << 31); break;
      case 3: bits &= 0x8fffffffu; break;
      case 4: bits = std::bit_cast<std::uint32_t>(static_cast<float>((static_cast<double>(std::bit_cast<float>((bits & 0x7fffffu) | 0x3f800000u)) + 0x1p-24) * divisors[i % divisors.size()])); break;
      default: break;
    }
    all.push_back(std::bit_cast<float>(bits));
  }
  return all;
}

TEST_P(FlatTiles, DivideByWhatAPlaceHasToTheLastBit) {
  constexpr std::int64_t kPlaces = 4096;
  std::vector<float> divisors = {3, -3, 255, 0.1f, 0x1.fffffep+0f, 0x1.fffffep-1f, 0x1p-40f, 0x1p40f, 0x1p-41f, -0x1p41f, 0x1p-140f, 0x1.fffffep+127f, 0.0f, -0.0f, std::numeric_limits<float>::infinity(), std::nanf(""), 1.0f, 0x1.8p-20f};
  for (const float other : {0.3f, 1.7f, -0x1.fffffcp+3f, 0x1.000002p+0f, 0x1.924924p-3f, 0x1.7ffffep+11f}) divisors.push_back(other);
  for (std::size_t begin = 0; begin < divisors.size(); begin += 3) {
    const std::vector<float> by(divisors.begin() + static_cast<std::ptrdiff_t>(begin), divisors.begin() + static_cast<std::ptrdiff_t>(begin) + 3);
    const std::vector<float> values = floats_of_every_kind(kPlaces * 3, by, static_cast<std::uint32_t>(begin));
    std::vector<std::int16_t> whole;
    for (std::int64_t i = 0; i < kPlaces * 3; ++i) whole.push_back(static_cast<std::int16_t>(i * 31 % 65536 - 32768));
    const auto turned = [&](const Variable& dividend, const Variable& divisor, const Variable& quotient, const Array& x, const Array& y) {
      return astype(Array(function({dividend, divisor}, {contiguous(transpose(quotient))}, {.device = device()})(x, y)), float32).to(cpu()).to_vector<float>();
    };
    const Variable x = input({float32, {kUnknown, 3}}, "x"), w = input({int16, {kUnknown, 3}}, "w"), y = vector("y"), s = input({bfloat16, {kUnknown, 3}}, "s"), z = input({bfloat16, {3}}, "z");
    const Array numbers = Array::from(values, {kPlaces, 3}, device()), integers = Array::from(whole, {kPlaces, 3}, device()), divisor = Array::from(by, {3}, device());
    const Array short_numbers = astype(numbers, bfloat16), short_divisor = astype(divisor, bfloat16);
    const auto check = [&](const std::vector<float>& found, const Array& dividends, const Array& by_what, float first_by, DType rounded, const std::string& what) {
      const std::vector<float> from = astype(dividends, float32).to(cpu()).to_vector<float>(), to = astype(by_what, float32).to(cpu()).to_vector<float>();
      std::vector<float> exact;
      for (std::size_t k = 0; k < from.size(); ++k) exact.push_back(from[k] / first_by / to[k % 3]);
      exact = astype(astype(Array::from(exact), rounded), float32).to(cpu()).to_vector<float>();
      for (std::size_t k = 0; k < from.size(); ++k) {
        const float result = found[k % 3 * kPlaces + k / 3];
        if (std::isnan(exact[k]) && std::isnan(result)) continue;
        ASSERT_EQ(std::bit_cast<std::uint32_t>(result), std::bit_cast<std::uint32_t>(exact[k])) << what << ": " << from[k] << " by " << to[k % 3] << " is " << exact[k] << ", found " << result;
      }
    };
    check(turned(x, y, x / y, numbers, divisor), numbers, divisor, 1, float32, "numbers");
    check(turned(w, y, astype(w, float32) / y, integers, divisor), integers, divisor, 1, float32, "integers");
    check(turned(w, y, astype(w, float32) / -255.0 / y, integers, divisor), integers, divisor, -255, float32, "parts of 255");
    check(turned(s, z, s / z, short_numbers, short_divisor), short_numbers, short_divisor, 1, bfloat16, "numbers of 16 bits");
  }
}

DAMO_ON_EACH_DEVICE(FlatTiles);

}  // namespace
}  // namespace damo
