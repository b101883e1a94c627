// Arrays that lie across each other, as transposed ones: on a GPU they go through tiles, of which a thread moves neighbours together where elements are narrow (cuda/schedule.hpp, tile_vector).
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <damo/damo.hpp>
#include "support/devices.hpp"

namespace damo {
namespace {

class TurnedTiles : public testing::OnEachDevice {};

/// Whole numbers from 0 to 62: sums of two have at most 7 bits, which bfloat16 holds.
Array numbers(const Shape& shape, DType dtype, Device device, std::int64_t step) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.size(); ++i) values.push_back(static_cast<double>(i * step % 63));
  return astype(Array::from(values, shape, device), dtype);
}

/// y = x^T + row + column + z, of each picture; z lies as the result does.
class Sum {
 public:
  explicit Sum(DType turned, DType others, Device device)
      : x_(input({turned, {kUnknown, kUnknown, kUnknown}}, "x")), z_(input({others, {kUnknown, kUnknown, kUnknown}}, "z")), row_(input({others, {kUnknown}}, "row")), column_(input({turned, {kUnknown, 1}}, "column")) {
    const auto wide = [](const Variable& v) { return astype(v, float32); };
    const Variable sum = (wide(dimshuffle(x_, {0, 2, 1})) + wide(z_)) * 2.0 - wide(row_) * wide(column_);
    f_.emplace(function({x_, z_, row_, column_}, {sum, astype(contiguous(dimshuffle(x_, {0, 2, 1})), others)}, {.device = device}));
  }
  void check(const Array& x, const Array& z, const Array& row, const Array& column, const std::string& what) const {
    const Results found = (*f_)(x, z, row, column);
    const std::int64_t pictures = x.shape()[0], inner = x.shape()[1], other = x.shape()[2];
    const std::vector<double> xs = x.to_doubles(), zs = z.to_doubles(), rows = row.to_doubles(), columns = column.to_doubles(), sums = found[0].to_doubles(), turned = found[1].to_doubles();
    for (std::int64_t picture = 0; picture < pictures; ++picture) {
      for (std::int64_t t = 0; t < other; ++t) {
        for (std::int64_t j = 0; j < inner; ++j) {
          const auto at = static_cast<std::size_t>((picture * other + t) * inner + j), from = static_cast<std::size_t>((picture * inner + j) * other + t);
          const std::string where = what + ", picture " + std::to_string(picture) + " element " + std::to_string(t) + ", " + std::to_string(j);
          ASSERT_EQ(sums[at], (xs[from] + zs[at]) * 2 - rows[static_cast<std::size_t>(j)] * columns[static_cast<std::size_t>(t)]) << where;
          ASSERT_EQ(turned[at], xs[from]) << where;
        }
      }
    }
  }

 private:
  Variable x_, z_, row_, column_;
  std::optional<Function> f_;
};

TEST_P(TurnedTiles, HoldWhateverLiesAcross) {
  for (const auto& [turned, others] : {std::pair{bfloat16, bfloat16}, {float16, float32}, {uint8, bfloat16}, {float32, int16}, {float32, float32}}) {
    const Sum sum(turned, others, device());
    for (const auto& [pictures, inner, other] : {std::tuple<std::int64_t, std::int64_t, std::int64_t>{2, 64, 64}, {1, 130, 66}, {3, 34, 258}, {1, 65, 70}, {2, 70, 33}, {1, 200, 18}, {1, 16, 100}}) {
      const std::string what = std::string(name(turned)) + " and " + std::string(name(others)) + " of " + std::to_string(inner) + " x " + std::to_string(other);
      const Array x = numbers({pictures, inner, other}, turned, device(), 5), z = numbers({pictures, other, inner}, others, device(), 11), row = numbers({inner}, others, device(), 13);
      const Array column = numbers({other, 1}, turned, device(), 17);
      sum.check(x, z, row, column, what);
      const Array wider = numbers({pictures, inner, other + 1}, turned, device(), 7), higher = numbers({pictures, other, inner + 2}, others, device(), 3), longer = numbers({inner + 1}, others, device(), 19);
      sum.check(wider.slice({{}, {}, {0, other}}), z, row, column, what + ", rows that begin at odd places");
      sum.check(wider.slice({{}, {}, {1, {}}}), higher.slice({{}, {}, {0, inner}}), longer.slice({{1, {}}}), column, what + ", behind an element");
      sum.check(x, higher.slice({{}, {}, {2, {}}}), longer.slice({{1, {}}}), column, what + ", a row behind an element");
      sum.check(x, z.slice({{}, {{}, {}, -1}}), longer.slice({{0, inner}}), column, what + ", backwards");
    }
  }
}

DAMO_ON_EACH_DEVICE(TurnedTiles);

}  // namespace
}  // namespace damo
