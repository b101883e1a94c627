#include <gtest/gtest.h>

#include <damo/damo.hpp>

namespace damo {
namespace {

/// Notes where its input's elements lie and whether they are contiguous.
struct Witness final : Op {
  explicit Witness(const void** address, bool* contiguous) : address_(address), contiguous_(contiguous) {}
  std::string name() const override { return "witness"; }
  Apply make_node(Inputs inputs) const override { return {*this, {inputs.at(0)}, {{float32, {1}}}}; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    const Cell& in = context.storage(node.input(0));
    return [this, &in] {
      *address_ = in.array().data();
      *contiguous_ = in.array().is_contiguous();
    };
  }
  const void** address_;
  bool* contiguous_;
};

class ContiguousTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!DAMO_HAS_CPU) GTEST_SKIP() << "needs the CPU back end";
  }
  const void* address_ = nullptr;
  bool contiguous_ = false;
};

TEST_F(ContiguousTest, HandsOnWhatIsContiguousWithoutACopyOnCpu) {
  const Variable x = matrix("x");
  const Function f = function({x}, {make_op<Witness>(&address_, &contiguous_)(contiguous(x))}, {.device = cpu()});
  const Array a = Array::ones({3, 4}, float32, cpu());
  f(a);
  EXPECT_EQ(address_, a.data());
  f(a.transpose());
  EXPECT_NE(address_, a.data());
  EXPECT_TRUE(contiguous_);
  f(a);
  EXPECT_EQ(address_, a.data());
}

TEST_F(ContiguousTest, GivesTheValuesOfAStridedInputOnCpu) {
  const Variable x = matrix("x");
  const Function f = function({x}, {contiguous(x)}, {.device = cpu()});
  const Array a = Array::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3}, cpu());
  EXPECT_EQ(Array(f(a.transpose())).to_vector<float>(), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  const Array same = f(a);
  EXPECT_FALSE(same.shares_buffer_with(a));
  EXPECT_EQ(same.to_vector<float>(), a.to_vector<float>());
}

/// The input of a pass-through is a temporary: its memory must not be given away before the pass-through was read.
TEST_F(ContiguousTest, KeepsAPassedTemporaryAliveOnCpu) {
  const Variable x = vector("x");
  const Variable kept = contiguous(x + 1.0);
  const Variable other = contiguous(contiguous(x * 2.0) * 3.0);
  const Function f = function({x}, {contiguous(other) + kept}, {.fuse = false, .device = cpu()});
  EXPECT_EQ(Array(f(Array::ones({1000}, float32, cpu()))).to_vector<float>(), std::vector<float>(1000, 8.0f));
}

}  // namespace
}  // namespace damo
