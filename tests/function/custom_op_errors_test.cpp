// Mistakes in an Op of the user's own, that the executor notices.
#include <damo/damo.hpp>

#include <functional>

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
  EXPECT_THAT(text, HasSubstr("careless: infer_shape gave output 0 the shape (3,), make_node declared float32 (?, ?)"));
  EXPECT_THAT(text, HasSubstr("careless built at"));
}

/// Its rules are the test's.
class RuledOp final : public Op {
 public:
  struct Rules {
    std::function<Shapes(const Shape&)> shape = [](const Shape& x) { return std::vector{x}; };
    std::function<void(Cell&)> run = [](Cell&) {};
    std::function<Op::Layout(const Op::Layout&)> view = {};
    int view_of = -1, passes = -1, outputs = 1;
    DType dtype = float32;
    Shape dims = {kUnknown};
  };
  explicit RuledOp(Rules rules) : rules_(std::move(rules)) {}
  std::string name() const override { return "ruled"; }
  Apply make_node(Inputs in) const override {
    return {*this, {in.begin(), in.end()}, std::vector<TensorType>(static_cast<std::size_t>(rules_.outputs), {rules_.dtype, rules_.dims})};
  }
  Shapes infer_shape(const Apply&, std::span<const Shape> in) const override { return rules_.shape(in[0]); }
  int view_of(int) const override { return rules_.view_of; }
  int passes_through(int) const override { return rules_.passes; }
  Layout view_layout(const Apply&, std::span<const Layout> inputs) const override { return rules_.view(inputs[0]); }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    Cell& y = context.storage(node.output());
    return [&y, run = rules_.run] { run(y); };
  }

 private:
  Rules rules_;
};

class CustomOpErrorsOnEachDevice : public damo::testing::OnEachDevice {
 protected:
  /// The error of a call, the op being read by another one.
  std::string error_of_call(RuledOp::Rules rules) const {
    const auto x = vector("x");
    const auto op = make_op<RuledOp>(std::move(rules));
    const Function f = function({x}, {op(x) + 1.0}, {.device = device()});
    return error_of([&] { f(array({1, 2, 3, 4})); });
  }
  std::string error_of_view(Op::Layout layout) const {
    return error_of_call({.view = [=](const Op::Layout&) { return layout; }, .view_of = 0});
  }
};

TEST_P(CustomOpErrorsOnEachDevice, NameAViewThatLeavesItsInput) {
  for (const Op::Layout& layout : {Op::Layout{{4}, {1}, 1}, Op::Layout{{4}, {1}, -1}, Op::Layout{{2}, {4}, 0}, Op::Layout{{4}, {-1}, 0},
                                   Op::Layout{{1}, {1}, 1000000000}, Op::Layout{{3}, {std::int64_t{1} << 62}, 0}}) {
    const std::string text = error_of_view(layout);
    EXPECT_THAT(text, HasSubstr("ruled: view_layout gave shape " + to_string(layout.shape)));
    EXPECT_THAT(text, HasSubstr("which reaches beyond its input of shape (4,)"));
    EXPECT_THAT(text, HasSubstr("ruled built at"));
  }
  EXPECT_THAT(error_of_view({{-2}, {1}, 0}), HasSubstr("view_layout gave output 0 an extent of -2"));
  EXPECT_THAT(error_of_view({{2, 2}, {2, 1}, 0}), HasSubstr("view_layout gave output 0 the shape (2, 2), make_node declared float32 (?,)"));
  EXPECT_THAT(error_of_view({{2}, {2, 1}, 0}), HasSubstr("view_layout gave 2 strides for 1 axis"));
  EXPECT_EQ(error_of_view({{4}, {-1}, 3}), "nothing thrown");
  EXPECT_EQ(error_of_view({{4}, {0}, 3}), "nothing thrown");
  EXPECT_EQ(error_of_view({{0}, {1}, 100}), "nothing thrown") << "a view without elements looks at nothing";
}

TEST_P(CustomOpErrorsOnEachDevice, BlameTheOpThatGaveAnImpossibleShape) {
  const auto shape_of = [&](std::int64_t extent) {
    return error_of_call({.shape = [=](const Shape&) { return std::vector{Shape{extent}}; }});
  };
  EXPECT_THAT(shape_of(-5), HasSubstr("ruled: infer_shape gave output 0 an extent of -5"));
  EXPECT_THAT(shape_of(kUnknown), HasSubstr("ruled: infer_shape gave output 0 an extent of -1"));
  EXPECT_THAT(shape_of(std::int64_t{1} << 62), HasSubstr("ruled: infer_shape gave output 0 the shape (4611686018427387904,), more than any memory holds"));
  EXPECT_THAT(shape_of(-5), HasSubstr("ruled built at"));
}

TEST_P(CustomOpErrorsOnEachDevice, BlameAThunkThatResizesWhatWasSized) {
  EXPECT_THAT(error_of_call({.run = [](Cell& y) { y.resize({2}); }}), HasSubstr("ruled: the thunk resized output 0 to (2,), which infer_shape had sized"));
  EXPECT_EQ(error_of_call({.run = [](Cell& y) { y.resize(y.shape()); }}), "nothing thrown");
  EXPECT_THAT(error_of_call({.shape = [](const Shape&) { return std::nullopt; }, .run = [](Cell& y) { y.resize({2, 2}); }}),
              HasSubstr("ruled: the thunk gave output 0 the shape (2, 2), make_node declared float32 (?,)"));
}

DAMO_ON_EACH_DEVICE(CustomOpErrorsOnEachDevice);

TEST(CustomOpErrors, NameAnInputThatIsNotThere) {
  const auto x = vector("x");
  const auto error = [&](RuledOp::Rules rules) { return error_of([&] { make_op<RuledOp>(rules)(x); }); };
  EXPECT_THAT(error({.view_of = 1}), HasSubstr("ruled: output 0 is a view of input 1, which is not there: the node has 1"));
  EXPECT_THAT(error({.view_of = -3}), HasSubstr("output 0 is a view of input -3"));
  EXPECT_THAT(error({.passes = 7}), HasSubstr("ruled: output 0 may be input 7, which is not there"));
  EXPECT_THAT(error({.view_of = 0, .outputs = 2}), HasSubstr("output 0 is a view and the op has 2 outputs"));
  EXPECT_THAT(error({.passes = 0, .dtype = float64}), HasSubstr("output 0 may be input 0, their types differ: float64 (?,) and float32 (?,)"));
  EXPECT_THAT(error({.view_of = 1}), HasSubstr("custom_op_errors_test.cpp:"));
}

}  // namespace
}  // namespace damo
