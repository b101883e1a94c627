// Ops of a user's that describe their kernels, beside Damo's own.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "support/devices.hpp"

namespace damo {
namespace {

using ::testing::HasSubstr;
using testing::error_of;

struct LogCosh final : KernelOp {
  std::string name() const override { return "log_cosh"; }
  void lower(KernelBuilder& k) const override {
    const auto size = k.step("fabs(x0)", {k.input(0)});
    k.output(k.step("x0 + log1p(exp(-2 * x0)) - T(0.6931471805599453)", {size}));
  }
  Gradients gradient(const Apply& node, std::span<const Variable> g) const override { return g[0] * tanh(node.input(0)); }
};
const auto log_cosh = make_op<LogCosh>();

/// Two inputs that broadcast, and an int result.
struct Sector final : KernelOp {
  std::string name() const override { return "sector"; }
  Apply make_node(Inputs in) const override {
    in.require_count(2);
    const Shape dims[] = {in.at(0).dims(), in.at(1).dims()};
    return {*this, {in.at(0), in.at(1)}, {{int32, output_shape(dims)}}};
  }
  void lower(KernelBuilder& k) const override { k.output(k.step("(x0 > 0) + 2 * (x1 > 0)", {k.input(0), k.input(1)}, int32)); }
};
const auto sector = make_op<Sector>();

/// Along the last of two axes.
struct MeanOfSquares final : KernelOp {
  std::string name() const override { return "mean_of_squares"; }
  std::optional<std::uint32_t> reduced_axes() const override { return 0b10; }
  void lower(KernelBuilder& k) const override {
    k.output(k.join({.element = "x0 * x0", .neutral = "0", .reduce = "a + b", .post = "a / T(n)"}, {k.input(0)}));
  }
};
const auto mean_of_squares = make_op<MeanOfSquares>();

class KernelOpOnEachDevice : public testing::OnEachDevice {
 protected:
  Options options(bool fuse = true) const { return {.fuse = fuse, .device = device()}; }
  Array noise(const Shape& shape) const {
    std::vector<float> values(static_cast<std::size_t>(shape.size()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i) * 1.7f) * 3;
    return Array::from(values, shape, device());
  }
};

TEST_P(KernelOpOnEachDevice, ComputesWhatItDescribes) {
  const Variable x = matrix("x"), y = vector("y");
  const Function f = function({x, y}, {log_cosh(x), sector(x, y), mean_of_squares(x)}, options());
  const Array a = noise({5, 70}), b = noise({70});
  const auto [cosh, sectors, squares] = f.call<3>(a, b);
  const std::vector<float> from = a.to_vector<float>(), other = b.to_vector<float>(), cosh_got = cosh.to_vector<float>(), squares_got = squares.to_vector<float>();
  const std::vector<std::int32_t> sectors_got = sectors.to_vector<std::int32_t>();
  ASSERT_EQ(squares.shape(), (Shape{5, 1}));
  for (std::size_t row = 0; row < 5; ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < 70; ++i) {
      const double value = from[row * 70 + i];
      EXPECT_NEAR(cosh_got[row * 70 + i], std::log(std::cosh(value)), 1e-6);
      EXPECT_EQ(sectors_got[row * 70 + i], (value > 0) + 2 * (other[i] > 0));
      sum += value * value;
    }
    EXPECT_NEAR(squares_got[row], sum / 70, 1e-5);
  }
}

TEST_P(KernelOpOnEachDevice, FusesAsBuiltInOpsDo) {
  const Variable x = matrix("x");
  const Function rows = function({x}, {log_cosh(2.0 * x) + 1.0}, options());
  EXPECT_EQ(rows.kernels().size(), 1u) << rows.explain();
  const Variable rms = log_cosh(x) / sqrt(mean_of_squares(log_cosh(x)) + 1e-6);
  const Function norm = function({x}, {rms}, options()), unfused = function({x}, {rms}, options(false));
  EXPECT_EQ(norm.kernels().size(), 1u) << norm.explain();
  EXPECT_GT(unfused.kernels().size(), 3u);
  const Array a = noise({7, 300});
  const std::vector<float> got = Array(norm(a)).to_vector<float>(), expected = Array(unfused(a)).to_vector<float>();
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 1e-5);
}

TEST_P(KernelOpOnEachDevice, HasTheGradientThatItGives) {
  const Variable x = vector("x");
  const Function f = function({x}, {grad(sum(log_cosh(x)), {x})[0]}, options());
  const std::vector<float> got = Array(f(array({-1, 0, 2}))).to_vector<float>();
  EXPECT_NEAR(got[0], std::tanh(-1.0), 1e-6);
  EXPECT_NEAR(got[1], 0, 1e-6);
  EXPECT_NEAR(got[2], std::tanh(2.0), 1e-6);
}

TEST_P(KernelOpOnEachDevice, ComputesSixteenBitsInFloat) {
  const Variable x = vector("x", float16);
  const Function f = function({x}, {log_cosh(x)}, options());
  EXPECT_NEAR(Array(f(astype(array({300}), float16))).to_doubles()[0], 300 - std::log(2.0), 0.25) << "e^600 is no float16";
}

struct Wrong final : KernelOp {
  explicit Wrong(int how) : how_(how) {}
  std::string name() const override { return "wrong"; }
  Props props() const override { return {{"how", std::int64_t{how_}}}; }
  Apply make_node(Inputs in) const override {
    if (how_ != 4) return KernelOp::make_node(in);
    return {*this, {in.at(0)}, {in.at(0).type(), in.at(0).type()}};
  }
  void lower(KernelBuilder& k) const override {
    if (how_ == 0) return;
    if (how_ == 1) k.output(k.step("x0 > 0", {k.input(0)}, bool_));
    if (how_ == 2) k.output(k.input(0)), k.output(k.input(0));
    if (how_ == 3) k.output(k.input(1));
    if (how_ == 5) k.output(k.step("x0 + nothing", {k.input(0)}));
    if (how_ == 6) k.output(k.step("T(1)", {}));
    if (how_ == 7) k.output(k.join({.element = "x0", .neutral = "0", .reduce = "a + b"}, {k.input(0)}));
    if (how_ == 8) k.output(k.step("x0", {{77, float32}}));
    if (how_ == 9) k.output({k.input(0).number, float64});
  }
  int how_;
};

/// Of rows: a value of each element for one of the row, and a text that does not compile.
struct WrongRows final : KernelOp {
  explicit WrongRows(int how) : how_(how) {}
  std::string name() const override { return "wrong_rows"; }
  Props props() const override { return {{"how", std::int64_t{how_}}}; }
  std::optional<std::uint32_t> reduced_axes() const override { return 0b1; }
  Scans scans() const override { return how_ == 3 ? Scans::kForward : Scans::kNo; }
  void lower(KernelBuilder& k) const override {
    const auto x = k.input(0);
    if (how_ == 0) k.output(k.step("x0 * 2", {x}));
    if (how_ == 1) k.output(k.step("x0 - x1", {x, k.join({.element = "x0", .neutral = "0", .reduce = "a + b"}, {x})}));
    if (how_ == 2) k.output(k.join({.element = "x0", .neutral = "0", .reduce = "a + nothing"}, {x}));
    if (how_ == 3) k.output(k.scan({.element = "x0", .neutral = "0", .reduce = "a + b"}, {k.scan({.element = "x0", .neutral = "0", .reduce = "a + b"}, {x})}));
    if (how_ == 4) k.output(x);
  }
  int how_;
};

TEST_P(KernelOpOnEachDevice, SaysWhatIsWrongWithADescriptionOfRows) {
  const Variable x = vector("x");
  for (bool fuse : {false, true}) {
    const auto error = [&](int how) { return error_of([&] { function({x}, {make_op<WrongRows>(how)(x * 2.0) * 2.0}, options(fuse)); }); };
    for (int how : {0, 1, 4}) EXPECT_THAT(error(how), HasSubstr("wrong_rows: lower gave a value of each element, reduced_axes() says that there is one of each row"));
    EXPECT_THAT(error(2), HasSubstr("nothing"));
    EXPECT_THAT(error(2), HasSubstr("kernel_op_test.cpp"));
    EXPECT_THAT(error(3), HasSubstr("wrong_rows: lower has a scan of what another scan gave"));
  }
}

TEST_P(KernelOpOnEachDevice, SaysWhatIsWrongWithADescription) {
  const Variable x = vector("x");
  const auto error = [&](int how) { return error_of([&] { function({x}, {make_op<Wrong>(how)(x) * 2.0}, options()); }); };
  EXPECT_THAT(error(0), HasSubstr("wrong: lower gave no output"));
  EXPECT_THAT(error(1), HasSubstr("wrong: lower gave bool, make_node declared float32"));
  EXPECT_THAT(error(2), HasSubstr("wrong: lower gave a second output"));
  EXPECT_THAT(error(3), HasSubstr("wrong: lower asks for input 1 of 1"));
  EXPECT_THAT(error(4), HasSubstr("wrong: a KernelOp has one output, make_node declared 2"));
  EXPECT_THAT(error(5), HasSubstr("nothing"));
  EXPECT_THAT(error(5), HasSubstr("kernel_op_test.cpp"));
  EXPECT_THAT(error(6), HasSubstr("wrong: a step of lower reads no value"));
  for (int how : {8, 9}) EXPECT_THAT(error(how), HasSubstr("wrong: lower has a value that is none of its kernel's"));
  EXPECT_THAT(error(7), HasSubstr("wrong: lower has a join, reduced_axes() says that nothing is reduced"));
  EXPECT_THAT(error_of([&] { mean_of_squares(x); }), HasSubstr("mean_of_squares: x has 1 axis, fewer than are reduced"));
  EXPECT_THAT(error_of([&] { sector(input({float32, {3}}), input({float32, {4}})); }), HasSubstr("sector: "));
}
DAMO_ON_EACH_DEVICE(KernelOpOnEachDevice);

}  // namespace
}  // namespace damo
