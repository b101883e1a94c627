// Mistakes with shared variables, updates and givens.
#include <damo/damo.hpp>

#include <gmock/gmock.h>

#include "support/devices.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class SharedMistakes : public ::testing::Test {
 protected:
  Options with(std::vector<Assignment> updates, std::vector<Assignment> givens = {}) const { return {.device = null_, .updates = std::move(updates), .givens = std::move(givens)}; }
  const Device null_{"null"};
  const Shared w_ = shared("w", Array::zeros({3}, float32, null_));
  const Variable x_ = vector("x");
};

TEST_F(SharedMistakes, NamesASharedVariableAmongTheInputs) {
  const std::string text = error_of([&] { function({x_, w_}, {x_ * w_}, with({})); });
  EXPECT_THAT(text, AllOf(StartsWith("function: input 1 (w float32 (3,)) is a shared variable"), HasSubstr("errors/shared_test.cpp:"), HasSubstr("leave it out")));
}

TEST_F(SharedMistakes, NamesAnUpdateOfWhatIsNotShared) {
  EXPECT_THAT(error_of([&] { function({x_}, {}, with({{x_, x_ * 2.0}})); }), AllOf(StartsWith("updates: x float32 (?,) is not a shared variable"), HasSubstr("shared(name, array)")));
  EXPECT_THAT(error_of([&] { Shared s(x_); }), StartsWith("Shared: x float32 (?,) is not a shared variable"));
}

TEST_F(SharedMistakes, NamesAVariableThatIsUpdatedTwice) {
  EXPECT_THAT(error_of([&] { function({}, {}, with({{w_, w_ * 2.0}, {w_, w_ + 1.0}})); }), AllOf(StartsWith("updates: w float32 (3,) is updated twice"), HasSubstr("one new value")));
}

TEST_F(SharedMistakes, NamesANewValueOfAnotherType) {
  const Variable wide = input({float64, {3}}, "wide"), high = input({float32, {3, 1}}, "high"), longer = input({float32, {4}}, "longer");
  EXPECT_THAT(error_of([&] { function({wide}, {}, with({{w_, wide}})); }), AllOf(StartsWith("updates: the new value of w float32 (3,) is wide float64 (3,)"), HasSubstr("cast(value, float32)")));
  EXPECT_THAT(error_of([&] { function({high}, {}, with({{w_, high}})); }), AllOf(StartsWith("updates: the new value of w float32 (3,) is high float32 (3, 1)"), HasSubstr("give it 1 axis")));
  EXPECT_THAT(error_of([&] { function({longer}, {}, with({{w_, longer}})); }), HasSubstr("w float32 (3,) is longer float32 (4,): axis 0 differs"));
}

TEST_F(SharedMistakes, NamesANewValueThatProvesTooLongInACallAndLeavesTheOld) {
  const Function f = function({x_}, {}, with({{w_, x_ * 2.0}})), copies = function({x_}, {}, with({{w_, x_}}));
  for (const Function& function : {f, copies}) {
    EXPECT_THAT(error_of([&] { function(Array::ones({4}, float32, null_)); }), AllOf(HasSubstr("updates: the new value of shared variable w float32 (3,) has shape (4,)"), HasSubstr("kUnknown")));
    EXPECT_EQ(w_.array().shape(), Shape{3});
  }
}

TEST_F(SharedMistakes, NamesAnEmptyVariable) {
  EXPECT_THAT(error_of([&] { function({}, {}, with({{Variable(), w_}})); }), StartsWith("updates: the variable is an empty Variable"));
  EXPECT_THAT(error_of([&] { function({}, {}, with({{w_, Variable()}})); }), StartsWith("updates: w float32 (3,): its new value is an empty Variable"));
}

TEST_F(SharedMistakes, NamesAVariableOnAnotherDeviceOnCpu) {
  const Shared there = shared("there", Array::zeros({3}, float32, cpu()));
  EXPECT_THAT(error_of([&] { function({}, {there + 1.0}, with({})); }),
              AllOf(StartsWith("shared variable there float32 (3,) is on cpu, the function runs on null"), HasSubstr("Device(\"cpu\")")));
}

TEST_F(SharedMistakes, NamesAValueThatCannotBeSet) {
  EXPECT_THAT(error_of([&] { w_.set(Array()); }), StartsWith("set: shared variable w float32 (3,) cannot be empty Array"));
  EXPECT_THAT(error_of([&] { w_.set(Array::zeros({3}, float64, null_)); }), AllOf(HasSubstr("cannot be float64 (3,) on null"), HasSubstr("convert it to float32")));
  EXPECT_THAT(error_of([&] { w_.set(Array::zeros({4}, float32, null_)); }), AllOf(HasSubstr("cannot be float32 (4,) on null"), HasSubstr("kUnknown")));
  EXPECT_THAT(error_of([&] { w_.set(Array::zeros({3, 1}, float32, null_)); }), HasSubstr("cannot be float32 (3, 1) on null"));
}

TEST_F(SharedMistakes, NamesAValueOnAnotherDeviceOnCpu) {
  EXPECT_THAT(error_of([&] { w_.set(Array::zeros({3}, float32, cpu())); }), AllOf(HasSubstr("cannot be float32 (3,) on cpu, the variable is on null"), HasSubstr(".to(Device(\"null\"))")));
}

TEST_F(SharedMistakes, NamesAVariableThatCannotBeMade) {
  EXPECT_THAT(error_of([&] { shared("w", Array()); }), StartsWith("shared: the value of w is an empty Array"));
  EXPECT_THAT(error_of([&] { shared("w", Array::zeros({3}, float32, null_), Shape{4}); }), AllOf(StartsWith("shared: w float32 (4,) cannot be float32 (3,) on null"), HasSubstr("kUnknown")));
}

TEST_F(SharedMistakes, NamesGivensThatDoNotFit) {
  const Variable y = vector("y", float64), z = matrix("z");
  const Variable known = input({float32, {3}}, "known"), other = input({float32, {4}}, "other");
  EXPECT_THAT(error_of([&] { function({y}, {x_ * 2.0}, with({}, {{x_, y}})); }), AllOf(StartsWith("givens: what replaces x float32 (?,) is y float64 (?,)"), HasSubstr("cast")));
  EXPECT_THAT(error_of([&] { function({z}, {x_ * 2.0}, with({}, {{x_, z}})); }), StartsWith("givens: what replaces x float32 (?,) is z float32 (?, ?)"));
  EXPECT_THAT(error_of([&] { function({other}, {known * 2.0}, with({}, {{known, other}})); }), HasSubstr("axis 0 differs"));
  EXPECT_THAT(error_of([&] { function({}, {x_ * 2.0}, with({}, {{x_, w_}, {x_, w_ * 2.0}})); }), StartsWith("givens: x float32 (?,) is replaced twice"));
  EXPECT_THAT(error_of([&] { function({x_}, {x_ * 2.0}, with({}, {{known, w_}})); }), AllOf(StartsWith("givens: known float32 (3,) is used by no output"), HasSubstr("allow_unused_inputs")));
  EXPECT_THAT(error_of([&] { function({x_}, {x_ * 2.0}, with({}, {{x_, w_}})); }), HasSubstr("input 0 (x float32 (?,)) is used by no output"));
}

TEST_F(SharedMistakes, NamesAPassThatLosesTheUpdates) {
  Options options = with({{w_, w_ * 2.0}});
  options.passes = {{"rebuild", [](const FunctionGraph& graph) {
                       FunctionGraph other;
                       other.add_output(other.add_input(graph.type(graph.outputs()[0])));
                       return other;
                     }}};
  EXPECT_THAT(error_of([&] { function({}, {}, options); }), AllOf(HasSubstr("the number of updates changed"), HasSubstr("in pass rebuild")));
}

}  // namespace
}  // namespace damo
