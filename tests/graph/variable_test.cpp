#include <damo/variable.hpp>

#include <set>
#include <sstream>
#include <thread>
#include <type_traits>

#include <gmock/gmock.h>

#include "support/devices.hpp"
#include "support/test_ops.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using damo::testing::OpaqueOp;
using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(Variable, KnowsWhatItIs) {
  const auto op = make_op<OpaqueOp>();
  const Variable x = matrix("x"), c = constant(2.0f), y = op(x, c);
  EXPECT_TRUE(x.is_input() && !x.has_owner() && !x.is_constant());
  EXPECT_TRUE(c.is_constant() && !c.is_input() && !c.has_owner());
  EXPECT_TRUE(y.has_owner() && !y.is_input() && !y.is_constant());
  EXPECT_EQ(c.constant()->scalar().as_double(), 2);
  EXPECT_EQ(y.owner().input(0).id(), x.id());
  EXPECT_EQ(y.dims(), (Shape{kUnknown, kUnknown}));
}

TEST(Variable, HasAnIdOfItsOwnAmongAnyNumberOfOutputs) {
  std::vector<Variable> held;
  std::set<std::size_t> ids;
  for (int i = 0; i < 8; ++i) {
    const auto op = make_op<OpaqueOp>("many", 1000);
    for (const Variable& output : op.outputs({vector("x")})) {
      held.push_back(output);
      ids.insert(output.id());
    }
  }
  EXPECT_EQ(ids.size(), held.size());
  EXPECT_EQ(held[5].id(), held[5].owner().output(5).id()) << "however one comes by it";
}

// "if (x > y)" and "where(!isnan(x), ...)" would ask whether an expression is there, and it always is.
template <class T>
concept AsksOfExpressions = requires(T (*expression)()) { static_cast<bool>(expression()); } || requires(T (*expression)()) { !expression(); };
// !mask is a question of the handle too, whose answer is no number: what takes elements refuses it.
static_assert(std::is_convertible_v<decltype(!std::declval<const Variable&>()), bool> && std::is_convertible_v<decltype(!std::declval<const Array&>()), bool>);
static_assert(!std::is_constructible_v<Operand, IsEmpty>);
static_assert(!AsksOfExpressions<Variable> && !AsksOfExpressions<Array> && std::is_constructible_v<bool, const Variable&> && std::is_constructible_v<bool, const Array&>);

TEST(Variable, IsEmptyByDefault) {
  const Variable empty;
  EXPECT_FALSE(empty);
  EXPECT_FALSE(empty.has_owner() || empty.is_input() || empty.is_constant());
  EXPECT_EQ(empty.name(), "");
  EXPECT_FALSE(empty.where());
  EXPECT_EQ(describe(empty), "(empty)");
  EXPECT_EQ(error_of([&] { empty.type(); }), "an empty Variable has no type\n  assign it before it is used");
}

TEST(Variable, CopiesAreTheSame) {
  Variable x = vector("x");
  const Variable copy = x, other = vector("x");
  EXPECT_TRUE(copy.is_same(x));
  EXPECT_FALSE(copy.is_same(other));
  x = x;
  EXPECT_TRUE(copy.is_same(x));
  const Variable moved = std::move(x);
  EXPECT_TRUE(moved.is_same(copy));
}

TEST(Variable, OutputsOfANodeDiffer) {
  const auto two = make_op<OpaqueOp>("two", 2);
  const Variable x = vector("x");
  const std::vector<Variable> y = two.outputs({x});
  ASSERT_EQ(y.size(), 2u);
  EXPECT_FALSE(y[0].is_same(y[1]));
  EXPECT_NE(y[0].id(), y[1].id());
  EXPECT_EQ(y[1].index(), 1);
  y[1].set_name("second");
  EXPECT_EQ(y[0].name(), "");
  EXPECT_EQ(y[0].owner().output(1).name(), "second");
  EXPECT_EQ(error_of([&] { y[0].owner().output(2); }), "op two has no output 2: it has 2\n  count them from 0");
}

TEST(Variable, RemembersTheUsersLine) {
  const auto op = make_op<OpaqueOp>();
  const Variable x = vector("x"), y = op(x); const int line = __LINE__;
  EXPECT_THAT(to_string(x.where()), EndsWith("variable_test.cpp:" + std::to_string(line)));
  EXPECT_EQ(y.where().line, line);
  EXPECT_EQ(y.owner().where().line, line);
}

TEST(Variable, DescribesItself) {
  const auto op = make_op<OpaqueOp>("soft");
  const Variable x = matrix("x");
  EXPECT_EQ(describe(x), "x float32 (?, ?)");
  EXPECT_EQ(describe(op(x)), "soft float32 (?, ?)");
  std::ostringstream out;
  out << x << ", " << op(x);
  EXPECT_EQ(out.str(), "x float32 (?, ?), soft float32 (?, ?)");
  EXPECT_EQ(describe(vector()), "input float32 (?,)");
  EXPECT_EQ(describe(constant(2.5)), "2.5 float64 ()");
  EXPECT_EQ(describe(Variable(op(x)).set_name("y")), "y float32 (?, ?)");
}

TEST(Variable, HasTheRankOfItsFunction) {
  EXPECT_EQ(scalar().rank(), 0);
  EXPECT_EQ(vector().rank(), 1);
  EXPECT_EQ(matrix().rank(), 2);
  EXPECT_EQ(tensor3().rank(), 3);
  EXPECT_EQ(tensor4("t", int8).rank(), 4);
  EXPECT_EQ(tensor4("t", int8).dtype(), int8);
}

TEST(Variable, RefusesAnExtentThatIsNone) {
  EXPECT_THAT(error_of([] { input({float32, {2, -5}}); }), HasSubstr("extents are 0 or more, or kUnknown: (2, -5)"));
}

TEST(Variable, RefusesAConstantWhoseBytesDoNotFill) {
  EXPECT_EQ(error_of([] { constant(ConstantData{{float32, {2}}, std::vector<std::byte>(7)}); }),
            "a constant of type float32 (2,) does not have 7 bytes\n  give all extents, and the elements' bytes in C order");
  EXPECT_THROW(constant(ConstantData{{float32, {kUnknown}}, std::vector<std::byte>(4)}), ShapeError);
}

TEST(Variable, HasNoOwnerToGiveWhereNothingComputesIt) {
  EXPECT_EQ(error_of([] { vector().owner(); }), "this Variable has no owner: it is an input, a constant or a shared variable\n  ask has_owner() first");
}

TEST(Operand, RefusesAnEmptyVariable) {
  const auto op = make_op<OpaqueOp>();
  const std::string text = error_of([&] { op(Variable()); });
  EXPECT_THAT(text, HasSubstr("an empty Variable was given to an op"));
  EXPECT_THAT(text, HasSubstr("variable_test.cpp:"));
}

TEST(Operand, MakesAConstantOfANumber) {
  EXPECT_EQ(Operand(3).as(int8).constant()->scalar().as_int(), 3);
  EXPECT_EQ(Operand(3).as(float64).dtype(), float64);
  EXPECT_EQ(Operand(true).number().dtype(), bool_);
  EXPECT_EQ(Operand(1.5f).number().dtype(), float64);
  EXPECT_TRUE(Operand(1).promotable().weak);
  EXPECT_FALSE(Operand(vector()).promotable().weak);
}

TEST(Variable, ChainsOfAMillionNodesAreBuiltAndFreed) {
  const auto op = make_op<OpaqueOp>();
  const Variable x = vector("x");
  Variable y = x;
  for (int i = 0; i < 1'000'000; ++i) y = op(y);
  y = x;  // frees the chain: a recursive release overflows the stack
  EXPECT_TRUE(y.is_same(x));
}

TEST(Variable, IsSharedByThreads) {
  const auto op = make_op<OpaqueOp>();
  const Variable x = vector("x"), y = op(x);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        const Variable z = op(y, x);
        EXPECT_TRUE(z.owner().input(0).is_same(y));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace damo
