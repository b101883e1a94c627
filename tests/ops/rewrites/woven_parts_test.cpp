// Which parts that lie between each other are one kernel's. The values: tests/function/woven_parts_test.cpp.
#include "ops/rewrites/woven_parts.hpp"

#include <gmock/gmock.h>

#include <damo/ops/math.hpp>
#include <damo/ops/reduce.hpp>
#include <damo/ops/shape.hpp>
#include "support/graphs.hpp"

namespace damo {
namespace {

using damo::testing::fused;
using damo::testing::nodes_text;
using damo::testing::OpaqueOp;
using ::testing::HasSubstr;
using ::testing::Not;

class WovenParts : public ::testing::Test {
 protected:
  std::string text(const Variable& y) const { return nodes_text(fused({x_, y_}, {y})); }
  const OpHandle<OpaqueOp> opaque_ = make_op<OpaqueOp>("custom");
  const Variable x_ = input({float32, {64, 32}}, "x"), y_ = input({float32, {64, 32}}, "y");
};

TEST_F(WovenParts, AreMadeByOneKernel) {
  EXPECT_THAT(text(stack({x_ * 2.0, exp(y_)}, 2)), HasSubstr("fused(exp mul)")) << "of other arrays";
  EXPECT_THAT(text(stack({x_ * 2.0, y_}, 2)), HasSubstr("fused(identity mul)")) << "what would be copied";
  EXPECT_THAT(text(stack({x_, y_}, 2)), HasSubstr("fused(identity identity)"));
  EXPECT_THAT(text(stack({x_ * 2.0, exp(opaque_(y_))}, 2)), HasSubstr("fused(exp mul)")) << "which waits for the later one";
}

TEST_F(WovenParts, AreFewBytesSideBySide) {
  EXPECT_THAT(text(concatenate({x_ * 2.0, y_}, 1)), Not(HasSubstr("identity"))) << "rows of a part";
  EXPECT_THAT(text(stack({x_, y_}, 0)), Not(HasSubstr("identity")));
  EXPECT_THAT(text(concatenate({reshape(x_, {256, 8}) * 2.0, reshape(y_, {256, 8})}, 1)), Not(HasSubstr("identity"))) << "a sector";
  EXPECT_THAT(text(concatenate({reshape(x_, {512, 4}) * 2.0, reshape(y_, {512, 4})}, 1)), HasSubstr("identity"));
}

TEST_F(WovenParts, ThatOthersWriteStayTheirs) { EXPECT_THAT(text(stack({x_ * 2.0, sum(reshape(y_, {64, 32, 1}), 2)}, 2)), Not(HasSubstr("identity"))); }

}  // namespace
}  // namespace damo
