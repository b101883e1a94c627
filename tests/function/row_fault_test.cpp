// Users' rows that the processor stops: each call ends with a DeviceError that names the row and the user's line, and the
// next call is right, as with a RawKernel (tests/runtime/cpu/kernel_fault_test.cpp).
#include <damo/damo.hpp>

#include <limits>
#include <sstream>

#include <gmock/gmock.h>

#include "support/devices.hpp"

namespace damo::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int32_t kLeastInt32 = std::numeric_limits<std::int32_t>::min();

class RowFaultOnCpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!DAMO_HAS_CPU) GTEST_SKIP() << "needs the CPU back end";
  }
  static Array ints(const std::vector<std::int32_t>& values) { return Array::from(values, cpu()); }
  /// The error of a call with values of which one makes the row fault; the process can go on.
  static std::string fault_of(const Elementwise& row, const std::vector<std::int32_t>& x, const std::vector<std::int32_t>& y) {
    const Variable a = vector("a", int32), b = vector("b", int32);
    const Function f = function({a, b}, {row(a, b) + 1}, {.device = cpu()});
    std::string text = error_of([&] { f(ints(x), ints(y)); });
    EXPECT_EQ(Array(f(ints({7}), ints({2})) ).size(), 1);
    EXPECT_THAT(error_of([&] { f(ints(x), ints(y)); }), HasSubstr("row_fault_test.cpp")) << "again";
    const Variable v = vector("v");
    EXPECT_THAT(Array(function({v}, {v * 2.0}, {.device = cpu()})(Array::from(std::vector<float>{1, 2}, cpu()))).to_vector<float>(), ElementsAre(2, 4));
    return text;
  }
};

const Elementwise& cut_div() {
  static const Elementwise row{{.name = "cut_div", .doc = "C's division", .code = "x0 / x1"}};
  return row;
}

std::string at_line(const Elementwise& row) { return "row_fault_test.cpp:" + std::to_string(row.row().line); }

TEST_F(RowFaultOnCpu, ADivisionByZeroNamesTheRow) {
  std::vector<std::int32_t> x(1000, 8), y(1000, 2);
  y[777] = 0;
  const std::string text = fault_of(cut_div(), x, y);
  EXPECT_THAT(text, AllOf(HasSubstr("integer division by zero at"), HasSubstr("cut_div"), HasSubstr(at_line(cut_div()))));
}

TEST_F(RowFaultOnCpu, ASumOfRowsDividesNothingBehindTheirEnds) {
  const Variable a = matrix("a", int32), b = matrix("b", int32);
  const Function f = function({a, b}, {sum(cut_div()(a, b), 1)}, {.device = cpu()});
  for (const std::int64_t length : {5, 40, 100, 600, 1001}) {
    const Array x = Array::full({3, length}, 9, int32, cpu());
    EXPECT_THAT(Array(f(x, Array::full({3, length}, 4, int32, cpu()))).to_doubles(), ::testing::Each(2.0 * static_cast<double>(length))) << length;
    std::vector<std::int32_t> y(static_cast<std::size_t>(3 * length), 4);
    y.back() = 0;
    EXPECT_THAT(error_of([&] { f(x, Array::from(y, {3, length}, cpu())); }), HasSubstr("integer division by zero")) << length;
  }
}

TEST_F(RowFaultOnCpu, TheLeastIntegerDividedByMinusOneNamesTheRow) {
  EXPECT_THAT(fault_of(cut_div(), {1, kLeastInt32}, {1, -1}), AllOf(HasSubstr("integer division by zero"), HasSubstr("or of the smallest integer by -1"), HasSubstr(at_line(cut_div()))));
}

TEST_F(RowFaultOnCpu, ARemainderByZeroNamesTheRow) {
  static const Elementwise row{{.name = "cut_mod", .doc = "C's remainder", .code = "x0 % x1"}};
  EXPECT_THAT(fault_of(row, {5, 5}, {1, 0}), AllOf(HasSubstr("integer division by zero"), HasSubstr(at_line(row))));
}

TEST_F(RowFaultOnCpu, AReadOfNullNamesTheRow) {
  static const Elementwise row{{.name = "null_row", .doc = "reads null", .code = "x0 == 5 ? *(volatile T*)(nullptr) : x1"}};
  EXPECT_THAT(fault_of(row, {5, 5}, {1, 0}), AllOf(HasSubstr("read of address 0x0, next to a null pointer"), HasSubstr(at_line(row))));
  static const Elementwise plain{{.name = "plain_null_row", .doc = "reads null", .code = "x0 == 5 ? *(T*)(nullptr) : x1"}};
  EXPECT_THAT(fault_of(plain, {5, 5}, {1, 0}), HasSubstr("address 0x0, next to a null pointer"));
}

TEST_F(RowFaultOnCpu, ATrapNamesTheRow) {
  static const Elementwise row{{.name = "trap_row", .doc = "gives up", .code = "x0 == 5 ? (__builtin_trap(), x0) : x1"}};
  EXPECT_THAT(fault_of(row, {5, 5}, {1, 0}), AllOf(HasSubstr("it reached code that can't be reached"), HasSubstr(at_line(row))));
}

TEST_F(RowFaultOnCpu, RecursionWithoutAnEndNamesTheRow) {
  static const Elementwise row{{.name = "deep_row",
                                .doc = "calls itself",
                                .code = "x0 == 5 ? ([](auto self, T n) -> T { volatile T kept[64]; kept[n & 63] = n; return self(self, n + 1) + kept[n & 7]; })"
                                        "([](auto self, T n) -> T { volatile T kept[64]; kept[n & 63] = n; return self(self, n + 1) + kept[n & 7]; }, x0) : x1"}};
  EXPECT_THAT(fault_of(row, {5, 5}, {1, 0}), AllOf(HasSubstr("the thread's stack is full"), HasSubstr("row_fault_test.cpp")));
}

TEST_F(RowFaultOnCpu, ArithmeticOnArraysSurvivesToo) {
  EXPECT_THAT(error_of([] { apply_elementwise(cut_div().row(), {ints({1, 2}), ints({1, 0})}); }), AllOf(HasSubstr("integer division by zero"), HasSubstr(at_line(cut_div()))));
  EXPECT_THAT(apply_elementwise(cut_div().row(), {ints({6, 8}), ints({3, -4})}).to_vector<std::int32_t>(), ElementsAre(2, -2));
}

TEST_F(RowFaultOnCpu, AFaultInManyThreadsIsOneError) {
  const std::int64_t n = 3'000'000;
  const Variable a = vector("a", int32), b = vector("b", int32);
  const Function f = function({a, b}, {cut_div()(a, b)}, {.device = cpu()});
  EXPECT_THAT(error_of([&] { f(Array::full({n}, 1, int32, cpu()), Array::zeros({n}, int32, cpu())); }), HasSubstr("integer division by zero"));
  EXPECT_EQ(Array(f(Array::full({n}, 6, int32, cpu()), Array::full({n}, 2, int32, cpu()))).to_vector<std::int32_t>()[2'999'999], 3);
}

TEST_F(RowFaultOnCpu, BuiltInDivisionsNeverFault) {
  const Variable a = vector("a", int32), b = vector("b", int32);
  const Function f = function({a, b}, {int_div(a, b), mod(a, b)}, {.device = cpu()});
  const Results results = f(ints({5, kLeastInt32, kLeastInt32, -7, 0}), ints({0, -1, 0, 2, 0}));
  EXPECT_THAT(results[0].to_vector<std::int32_t>(), ElementsAre(0, kLeastInt32, 0, -4, 0));
  EXPECT_THAT(results[1].to_vector<std::int32_t>(), ElementsAre(0, 0, 0, 1, 0));
}

TEST_F(RowFaultOnCpu, AUsersSignedOverflowWraps) {
  static const Elementwise row{{.name = "grows", .doc = "whether x + y is greater than x, and the sum", .code = "x0 + x1 > x0 ? x0 + x1 : x1"}};
  const Variable a = vector("a", int32), b = vector("b", int32);
  std::vector<std::int32_t> x(37, std::numeric_limits<std::int32_t>::max()), y(37, 5);
  EXPECT_THAT(Array(function({a, b}, {row(a, b)}, {.device = cpu()})(ints(x), ints(y))).to_vector<std::int32_t>(), ::testing::Each(5));
}

TEST_F(RowFaultOnCpu, AUsersConversionOutOfRangeSaturates) {
  static const Elementwise row{{.name = "to_int", .doc = "a C cast", .code = "T((int)x0)"}};
  const Variable v = vector("v", float64);
  std::vector<double> values(37, 1e30);
  values[1] = std::numeric_limits<double>::quiet_NaN();
  const auto got = Array(function({v}, {row(v)}, {.device = cpu()})(Array::from(values, cpu()))).to_vector<double>();
  EXPECT_EQ(got[0], 2147483647.0);
  EXPECT_EQ(got[1], 0);
  EXPECT_EQ(got[36], 2147483647.0);
}

}  // namespace
}  // namespace damo::testing
