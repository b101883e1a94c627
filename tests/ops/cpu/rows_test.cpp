// Every built-in row in every dtype that its code runs in: compiled by the CPU compiler into a loop, run on special and
// random values, compared with row_reference.cpp. float16 and bfloat16 compute in float and add nothing here.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "support/row_reference.hpp"
#include "runtime/cpu/compile_support.hpp"
#include "support/row_source.hpp"

namespace damo::testing {
namespace {

namespace cpu = cpu_backend;

std::string loops_of(DType dtype) {
  std::string text = "namespace damo {\n";
  for (const ElementwiseRow* row : rows_computed_in(dtype)) {
    const std::string name(row->name), result = type_text(result_of(*row, dtype));
    text += row_function(*row, dtype) + "extern \"C\" void k_" + name +
            "(void* const* a, const LaunchFrame*, i64 first, i64 last) {\n";
    for (int i = 0; i < arity(*row); ++i) {
      const std::string type = "const " + input_type(*row, dtype, i) + "*";
      text += "  " + type + " __restrict x" + std::to_string(i) + " = *(" + type + " const*)a[" + std::to_string(i) +
              "];\n";
    }
    text += "  " + result + "* __restrict y = *(" + result +
            "* const*)a[3];\n  for (i64 i = first; i < last; ++i) y[i] = " + row_call(*row) + ";\n}\n";
  }
  return text + "}\n";
}

std::unique_ptr<cpu::LoadedObject> compiled(DType dtype) {
  const std::string text = loops_of(dtype);
  const cpu::CompileOutput output = cpu::compile({.source = text, .file_name = "rows.cpp"});
  EXPECT_TRUE(output.ok) << output.log;
  EXPECT_EQ(output.log, "") << "no warnings either";
  return std::make_unique<cpu::LoadedObject>(output.object, "rows");
}

/// Distance in units of the last place of T at want; a wrong NaN, infinity or sign of zero is a million or more.
template <class T>
double ulps(T got, Wide want) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : 1e6;
  const Wide size = std::fabs(want);
  if (std::isinf(got) || std::isinf(want)) {
    const bool overflows = size >= Wide(Limits::max()) * (1 + Limits::epsilon() / 4);
    return std::isinf(got) && overflows && std::signbit(got) == std::signbit(want) ? 0 : 2e6;
  }
  if (got == 0 && want == 0) return std::signbit(got) == std::signbit(want) ? 0 : 3e6;
  const int exponent = size == 0 ? Limits::min_exponent - 1
                                 : std::clamp(std::ilogb(size), Limits::min_exponent - 1, Limits::max_exponent - 1);
  return static_cast<double>(std::fabs(got - want) * std::ldexp(1.0L, Limits::digits - 1 - exponent));
}

template <class T>
std::vector<T> special_values(const ElementwiseRow& row) {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_same_v<T, bool>)
    return {false, true};
  else if constexpr (std::is_integral_v<T>) {
    const T least = Limits::min(), most = Limits::max();
    return {0, 1, 2, 3, 10, T(-1), T(-2), T(-3), T(-10), least, T(least + 1), most, T(most - 1)};
  } else {
    std::vector<T> values = {0,
                             0.5,
                             1,
                             1.5,
                             2,
                             2.5,
                             3,
                             Limits::denorm_min(),
                             Limits::min(),
                             Limits::max(),
                             Limits::infinity(),
                             Limits::epsilon(),
                             1 - Limits::epsilon() / 2};
    for (std::size_t i = 0, n = values.size(); i < n; ++i) values.push_back(-values[i]);
    for (const double edge : {row.low, row.high}) values.push_back(T(edge));
    values.push_back(Limits::quiet_NaN());
    return values;
  }
}

template <class T>
T random_value(const ElementwiseRow& row, std::mt19937_64& random) {
  const std::uint64_t word = random();
  if constexpr (std::is_same_v<T, bool>)
    return word & 1;
  else if constexpr (std::is_integral_v<T>)
    return word & 1 ? T(word >> 1) : T(std::int64_t(word >> 1) % 21 - 10);
  else if (word % 8 == 0)
    return std::bit_cast<T>(
        static_cast<std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>(word >> 3 | word << 61));
  else
    return T(row.low + (row.high - row.low) * std::uniform_real_distribution<double>()(random));
}

template <class T>
struct Samples {
  std::vector<T> x[3];
  std::vector<char> condition;  // of a row whose x0 is bool

  Samples(const ElementwiseRow& row, int count) {
    const std::vector<T> special = special_values<T>(row);
    const int inputs = arity(row);
    for (const T a : special)
      for (std::size_t j = 0; j < (inputs > 1 ? special.size() : 1); ++j)
        for (std::size_t k = 0; k < (inputs > 2 ? special.size() : 1); ++k) put(a, special[j], special[k]);
    std::mt19937_64 random(std::hash<std::string_view>()(row.name));
    for (int i = 0; i < count; ++i) {
      const T a = random_value<T>(row, random), b = random_value<T>(row, random);
      put(a, b, random_value<T>(row, random));
    }
  }
  std::size_t size() const { return condition.size(); }

 private:
  void put(T a, T b, T c) {
    x[0].push_back(a), x[1].push_back(b), x[2].push_back(c);
    condition.push_back(a != T(0));
  }
};
template <>
struct Samples<bool> {
  std::unique_ptr<bool[]> x[3];
  std::size_t size() const { return 64; }
  Samples(const ElementwiseRow&, int) {
    for (int i = 0; i < 3; ++i) {
      x[i].reset(new bool[64]);
      for (int j = 0; j < 64; ++j) x[i][j] = j >> i & 1;
    }
  }
};

/// Errors of gelu grow with x, so a row's bound holds in its range; outside results are roughly right. log1mexp of a
/// denormal is left out: expm1 may round the least of them to 0, an error of one ulp whose logarithm is infinite.
template <class T>
double allowed(const ElementwiseRow& row, T x) {
  if (row.name == "log1mexp" && std::fabs(x) < std::numeric_limits<T>::min()) return 1e9;
  if ((row.name == "gammaln" || row.name == "psi" || row.name == "polygamma") && x < 0) return 65536;  // beside zeros
  const bool inside = double(x) >= row.low && double(x) <= row.high;
  return (inside ? row.ulp : std::max(row.ulp, 512.0)) + 0.01;
}

template <class T, class Result>
void check_row(const ElementwiseRow& row, cpu::KernelEntry kernel) {
  const RowReference* reference = reference_of(row.name);
  ASSERT_NE(reference, nullptr) << row.name << ": add it to row_reference.cpp";
  const Samples<T> samples(row, 10000);
  const std::size_t n = samples.size();
  const std::unique_ptr<Result[]> results(new Result[n]);
  const void* first = &samples.x[0][0];
  if constexpr (!std::is_same_v<T, bool>)
    first = row.condition_first ? static_cast<const void*>(samples.condition.data()) : first;
  const void *second = &samples.x[1][0], *third = &samples.x[2][0];
  void* out = results.get();
  const void* arguments[] = {&first, &second, &third, &out};
  const cpu::LaunchFrame frame{};
  kernel(const_cast<void* const*>(arguments), &frame, 0, static_cast<std::int64_t>(n));
  int failures = 0;
  for (std::size_t i = 0; i < n && failures < 3; ++i) {
    const T x = samples.x[0][i], y = samples.x[1][i], z = samples.x[2][i];
    bool right;
    std::string want_text;
    if constexpr (std::is_floating_point_v<T>) {
      const Wide want = reference->floating(x, y, z);
      right = std::is_same_v<Result, bool> ? bool(results[i]) == (want != 0)
                                           : ulps(static_cast<T>(results[i]), want) <= (row.name == "polygamma" ? allowed(row, y) + std::fmax(x, 0) : allowed(row, x));
      want_text = std::to_string(want) + ", " + std::to_string(ulps(static_cast<T>(results[i]), want)) + " ulp off";
    } else {
      const Big wide = reference->integer(x, y, z);
      const Result want = std::is_same_v<T, bool> && row.name == "invert" ? Result(!x) : static_cast<Result>(wide);
      right = results[i] == want;
      want_text = std::to_string(want);
    }
    if (right) continue;
    ++failures;
    ADD_FAILURE() << row.name << " of " << type_text(dtype_of<T>()) << " (" << +x << ", " << +y << ", " << +z << ") is "
                  << +results[i] << ", not " << want_text;
  }
}

class RowsOnCpu : public ::testing::TestWithParam<DType> {};

TEST_P(RowsOnCpu, GiveWhatTheyShould) {
  const auto object = compiled(GetParam());
  visit(GetParam(), [&](auto zero) {
    using T = std::conditional_t<std::is_arithmetic_v<decltype(zero)>, decltype(zero), float>;
    for (const ElementwiseRow* row : rows_computed_in(GetParam())) {
      const cpu::KernelEntry kernel = object->kernel("k_" + std::string(row->name));
      if (result_of(*row, GetParam()) == bool_)
        check_row<T, bool>(*row, kernel);
      else
        check_row<T, T>(*row, kernel);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(EachDType, RowsOnCpu, ::testing::ValuesIn(kRowDTypes),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace
}  // namespace damo::testing
