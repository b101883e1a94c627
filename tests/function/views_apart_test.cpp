// Reshapes that take the axes of views apart, read by kernels where they lie, against those of copies.
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>

#include <damo/damo.hpp>
#include "support/devices.hpp"
#include "support/errors.hpp"

namespace damo {
namespace {

class ViewsApart : public testing::OnEachDevice {
 protected:
  void expect_same(const Variable& x, const Shape& shape, const std::vector<Variable>& outputs) const {
    const Function f = function({x}, outputs, {.device = device()}), plain = function({x}, outputs, {.fuse = false, .rewrite = false, .disable = {"pass_contiguous"}, .device = device()});
    std::vector<double> values(static_cast<std::size_t>(shape.size()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * 2654435761u % 13u) - 6;
    const Array given = astype(Array::from(values, shape, device()), x.dtype());
    const Results found = f(given), expected = plain(given);
    for (std::size_t i = 0; i < outputs.size(); ++i) EXPECT_THAT(found[i].to_doubles(), ::testing::ContainerEq(expected[i].to_doubles())) << to_string(shape);
    for (const KernelInfo& kernel : f.kernels()) EXPECT_EQ(kernel.name.find("identity"), std::string::npos) << "a copy";
  }
};

TEST_P(ViewsApart, GroupsOfSlicedColumns) {
  for (DType dtype : {float32, bfloat16, int32}) {
    const Variable x = input({dtype, {kUnknown, 96}}, "x");
    for (std::int64_t first : {0, 8, 7}) {
      const Variable half = reshape(subtensor(x, {{}, {first, first + 48}}), {-1, 3, 16});
      for (std::int64_t rows : {1, 5, 130}) expect_same(x, {rows, 96}, {max(half, 2, keepdims), half - max(half, 2, keepdims)});
    }
  }
}

TEST_P(ViewsApart, OfTransposedAndReversedAxes) {
  const Shape shape{12, 30};
  const Variable x = input({float32, shape}, "x");
  expect_same(x, shape, {reshape(transpose(x), {5, 6, 4, 3}) * 2.0});
  expect_same(x, shape, {sum(reshape(flip(x, 1), {12, 5, 1, 6}), 3)});
  expect_same(x, shape, {reshape(subtensor(x, {{0, 12, 3}, {}}), {2, 2, 30}) + 1.0});
}

/// The gradient of a reshape compares its shape with x's at the call: that is not lost.
TEST_P(ViewsApart, ShapesThatACallShowsAreCompared) {
  const Variable x = input({float32, {kUnknown, 2, 3}}, "x"), wide = input({float32, {kUnknown, 12}}, "wide");
  const Variable y = reshape(x, {-1, 6}), g = subtensor(wide, {{}, {0, 6}});
  const Function f = function({x, wide}, {lop({y}, {g}, {x})[0] * 2.0}, {.device = device()});
  EXPECT_THAT(testing::error_of<ShapeError>([&] { f(Array::ones({4, 2, 3}, float32, device()), Array::ones({5, 12}, float32, device())); }), ::testing::HasSubstr("reshape: (5, 6) cannot become (4, 2, 3)"));
}

DAMO_ON_EACH_DEVICE(ViewsApart);

}  // namespace
}  // namespace damo
