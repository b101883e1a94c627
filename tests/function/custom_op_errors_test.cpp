// Mistakes in an Op of the user's own, that the executor notices.
#include <damo/damo.hpp>

#include <gmock/gmock.h>

#include "support/devices.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using ::testing::HasSubstr;

class CarelessOp : public Op {
 public:
  std::string name() const override { return "careless"; }
  Apply make_node(Inputs in) const override { return {*this, {in.at(0)}, {in.at(0).type()}}; }
};
struct NoThunkOp final : CarelessOp {
  Thunk make_thunk(const Apply&, ThunkContext&) const override { return {}; }
};
struct WrongRankOp final : CarelessOp {
  Shapes infer_shape(const Apply&, std::span<const Shape>) const override { return {{Shape{3}}}; }
  Thunk make_thunk(const Apply&, ThunkContext&) const override { return [] {}; }
};

TEST(CustomOpErrors, NameAnEmptyThunk) {
  const auto x = matrix("x");
  const std::string text = error_of([&] { function({x}, {make_op<NoThunkOp>()(x)}, {.device = Device("null")}); });
  EXPECT_THAT(text, HasSubstr("make_thunk gave an empty Thunk"));
  EXPECT_THAT(text, HasSubstr("careless built at"));
}

TEST(CustomOpErrors, NameAShapeThatIsNotOfTheDeclaredType) {
  const auto x = matrix("x");
  const Function f = function({x}, {make_op<WrongRankOp>()(x)}, {.device = Device("null")});
  const std::string text = error_of([&] { f(Array::ones({2, 2}, float32, Device("null"))); });
  EXPECT_THAT(text, HasSubstr("infer_shape gave (3,) for an output that make_node declared float32 (?, ?)"));
  EXPECT_THAT(text, HasSubstr("careless built at"));
}

}  // namespace
}  // namespace damo
