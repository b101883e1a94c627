// Calls with arrays that do not fit: each names the input as the user named it, what it must be, what it was given.
#include <damo/damo.hpp>

#include <gmock/gmock.h>

#include "support/compiler_line.hpp"
#include "support/devices.hpp"
#include "support/test_ops.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class CallErrorOnEachDevice : public damo::testing::OnEachDevice {
 protected:
  void SetUp() override {
    OnEachDevice::SetUp();
    if (IsSkipped()) return;
    const auto x = matrix("x"), b = input({float32, {3}}, "b");
    f_.emplace(function({x, b}, {tanh(x) * 2.0 + b, x - 1.0}, {.device = device(), .name = "layer"}));
  }
  /// After each error the Function works as before.
  void TearDown() override {
    if (IsSkipped()) return;
    EXPECT_THAT(f_->call<2>(range({2, 3}), array({0, 0, 0}))[1].to_vector<float>(), ElementsAre(-1, 0, 1, 2, 3, 4));
  }
  template <class... Arrays>
  std::string error(const Arrays&... arrays) const {
    return error_of([&] { (*f_)(arrays...); });
  }
  std::string on() const { return " on " + device().name(); }
  std::optional<Function> f_;
};

TEST_P(CallErrorOnEachDevice, NamesAWrongNumberOfInputs) {
  EXPECT_THAT(error(range({2, 3})), StartsWith("the function takes 2 inputs, 1 was given: x float32 (?, ?), b float32 (3,)\n  in function layer built at "));
}

TEST_P(CallErrorOnEachDevice, NamesAWrongDtype) {
  const Array wrong = Array::zeros({2, 3}, float64, device());
  EXPECT_THAT(error(wrong, array({1, 2, 3})), StartsWith("input 0 (x) must be float32, it was given float64 (2, 3)" + on()));
  EXPECT_THAT(error(wrong, array({1, 2, 3})), AllOf(HasSubstr("in function layer built at "), HasSubstr("declare the input as float64")));
  EXPECT_THROW((*f_)(wrong, array({1, 2, 3})), TypeError);
}

TEST_P(CallErrorOnEachDevice, NamesAWrongRank) {
  EXPECT_THAT(error(range({6}), array({1, 2, 3})), StartsWith("input 0 (x) must have 2 axes, it was given float32 (6,)" + on()));
}

TEST_P(CallErrorOnEachDevice, NamesAWrongExtent) {
  EXPECT_THAT(error(range({2, 4}), array({1, 2, 3, 4})), StartsWith("input 1 (b) must be float32 (3,), it was given float32 (4,)" + on()));
  EXPECT_THROW((*f_)(range({2, 4}), array({1, 2, 3, 4})), ShapeError);
}

TEST_P(CallErrorOnEachDevice, NamesAWrongDevice) {
  const Array elsewhere = Array::zeros({2, 3}, float32, Device("null"));
  const std::string text = error(elsewhere, array({1, 2, 3}));
  EXPECT_THAT(text, StartsWith("input 0 (x) must be" + on() + ", it was given float32 (2, 3) on null"));
  EXPECT_THAT(text, HasSubstr(".to(Device(\"" + device().name() + "\"))"));
}

TEST_P(CallErrorOnEachDevice, NamesAnEmptyArray) {
  EXPECT_THAT(error(Array(), array({1, 2, 3})), AllOf(StartsWith("input 0 (x) is an empty Array"), HasSubstr("check the Array with if (array)")));
}

TEST_P(CallErrorOnEachDevice, SaysThatTheFunctionHasMoved) {
  const Variable x = vector("x");
  Function f = function({x}, {x + 1.0}, {.device = device()});
  const Function other = std::move(f);
  const std::string text = "the Function has been moved to another one\n  call that one";
  EXPECT_THAT(error_of([&] { f(array({1})); }), StartsWith(text));
  EXPECT_THAT(error_of([&] { static_cast<void>(f.name()); }), StartsWith(text));
  EXPECT_EQ(Array(other(array({1}))).to_doubles(), std::vector<double>{2});
}

TEST_P(CallErrorOnEachDevice, NamesInputsAndLineOfShapesThatDoNotBroadcast) {
  const std::string text = error(range({2, 4}), array({1, 2, 3}));
  EXPECT_THAT(text, StartsWith("add: cannot broadcast (2, 4) with (3,): last axis 4 against 3\n"
                               "  x float32 (2, 4), b float32 (3,)\n"));
  EXPECT_THAT(text, AllOf(HasSubstr("add built at "), HasSubstr("errors/call_test.cpp:"), HasSubstr("reshape or transpose one of them")));
}

TEST_P(CallErrorOnEachDevice, NamesTheSameUnfused) {
  const auto x = matrix("x"), y = matrix("y");
  const Function f = function({x, y}, {tanh(x) + y}, {.fuse = false, .device = device()});
  const std::string text = error_of([&] { f(range({2, 4}), range({3, 4})); });
  EXPECT_THAT(text, StartsWith("add: cannot broadcast (2, 4) with (3, 4): axis -2 2 against 3\n  x float32 (2, 4), y float32 (3, 4)\n"));
  EXPECT_THAT(text, HasSubstr("add built at "));
}

TEST_P(CallErrorOnEachDevice, NamesTheResultsThereAre) {
  const Array x = range({2, 3}), b = array({1, 2, 3});
  EXPECT_THAT(error_of([&] { [[maybe_unused]] const Array one = (*f_)(x, b); }), HasSubstr("the function has 2 results, not one"));
  EXPECT_THAT(error_of([&] { f_->call<3>(x, b); }), HasSubstr("call<3>: the function has 2 results"));
}

TEST_P(CallErrorOnEachDevice, NamesAProfileThatWasNotRecorded) {
  EXPECT_THAT(error_of([&] { f_->profile(); }), HasSubstr("Options{.profile = true}"));
}

/// An op of a program's, whose code throws what is no damo::Error.
struct ThrowingOp final : Op {
  enum class From : std::uint8_t { kThunk, kMakeThunk, kMemory, kInferShape, kNumber };
  explicit ThrowingOp(From from) : from(from) {}
  std::string name() const override { return "throwing"; }
  Props props() const override { return {{"from", std::int64_t{static_cast<int>(from)}}}; }
  Apply make_node(Inputs inputs) const override { return {*this, {inputs.at(0)}, {inputs.at(0).type()}}; }
  Shapes infer_shape(const Apply&, std::span<const Shape> inputs) const override {
    if (from == From::kInferShape && inputs[0] == Shape{2}) throw std::runtime_error("no budget");
    return {{inputs[0]}};
  }
  Thunk make_thunk(const Apply&, ThunkContext& context) const override {
    if (from == From::kMakeThunk) throw std::runtime_error("no budget");
    if (from == From::kMemory) context.foresee_memory([]() -> ThunkMemory { throw std::runtime_error("no budget"); });
    return [from = from] {
      if (from == From::kNumber) throw 42;
      if (from == From::kThunk) throw std::runtime_error("no budget");
    };
  }
  From from;
};

TEST_P(CallErrorOnEachDevice, NamesTheNodeOfWhatAProgramsOpThrows) {
  using From = ThrowingOp::From;
  const Variable x = vector("x");
  const auto call = [&](const Variable& y) { function({x}, {y * 2.0}, {.device = device()})(array({1, 2})); };
  for (From from : {From::kThunk, From::kMemory, From::kMakeThunk, From::kInferShape}) {
    const Variable y = make_op<ThrowingOp>(from)(x);
    const int line = __LINE__ - 1;
    const std::string text = error_of([&] { call(y); });
    EXPECT_THAT(text, StartsWith("throwing: its code threw an exception: no budget\n")) << static_cast<int>(from);
    EXPECT_THAT(text, HasSubstr("throwing built at ")) << static_cast<int>(from);
    EXPECT_THAT(text, damo::testing::names_line("call_test.cpp", line)) << static_cast<int>(from);
    if (from == From::kThunk || from == From::kMemory) EXPECT_THAT(text, HasSubstr("\n  x float32 (2,)\n"));
    try {
      call(y);
      FAIL();
    } catch (const GraphError& error) {
      EXPECT_THROW(std::rethrow_if_nested(error), std::runtime_error) << "the original comes along";
    }
  }
  EXPECT_THAT(error_of([&] { call(make_op<ThrowingOp>(From::kNumber)(x)); }), StartsWith("throwing: its code threw something that is no std::exception\n"));
}

DAMO_ON_EACH_DEVICE(CallErrorOnEachDevice);

}  // namespace
}  // namespace damo
