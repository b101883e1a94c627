#include <damo/compare.hpp>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/ops/math.hpp>
#include "function/compare_difference.hpp"
#include "function/compare_rows.hpp"
#include "support/scratch_directory.hpp"

namespace damo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t times = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++times;
  return times;
}

/// z = tanh(x + y) * x: three ops; bytes of one float32 array: size * 4.
Comparison compare_three_ops(const Shape& shape) {
  const Variable x = matrix("x"), y = matrix("y"), z = tanh(x + y) * x;
  z.set_name("z");
  const Array values = Array::full(shape, 0.5, float32, cpu());
  return compare({x, y}, {z}, {values, values}, {.device = cpu(), .name = "three ops <&>"}, 0.02);
}

TEST(Compare, CountsKernelsNodesAndBytesOnCpu) {
  if (!DAMO_HAS_CPU) GTEST_SKIP() << "needs the CPU back end";
  const Comparison result = compare_three_ops({100, 100});
  EXPECT_EQ(result.unfused.kernels, 3u);
  EXPECT_EQ(result.fused.kernels, 1u);
  EXPECT_EQ(result.unfused.nodes, 3);
  EXPECT_EQ(result.fused.nodes, 1);
  EXPECT_EQ(result.unfused.bytes, 8u * 40'000);  // x y -> sum, sum -> tanh, tanh x -> z
  EXPECT_EQ(result.fused.bytes, 3u * 40'000);    // x y -> z
  EXPECT_GE(result.unfused.repetitions, 5);
  EXPECT_GT(result.fused.milliseconds, 0);
  EXPECT_LE(result.fused.fastest_milliseconds, result.fused.milliseconds);
  EXPECT_LE(result.fused.milliseconds, result.fused.slowest_milliseconds);
  EXPECT_GT(result.copy_bytes_per_second, 0);
  EXPECT_EQ(result.unfused.compiled + result.unfused.from_disk + result.unfused.from_memory, 3u);
  EXPECT_EQ(result.fused.compiled + result.fused.from_disk + result.fused.from_memory, 1u);
  EXPECT_GE(result.fused.peak_bytes, 40'000u);
  EXPECT_GT(result.unfused.peak_bytes, result.fused.peak_bytes);  // temporaries
  EXPECT_EQ(result.fused.graph.node_count(), 1);
}

TEST(Compare, FindsTheValuesOfBothSidesCloseOnCpu) {
  if (!DAMO_HAS_CPU) GTEST_SKIP() << "needs the CPU back end";
  const Comparison result = compare_three_ops({7, 3});
  ASSERT_EQ(result.outputs.size(), 1u);
  EXPECT_EQ(result.outputs[0].name, "z");
  EXPECT_EQ(result.outputs[0].type, "float32 (7, 3)");
  EXPECT_NEAR(result.outputs[0].greatest, 0.5 * std::tanh(1.0), 1e-6);
  EXPECT_TRUE(result.is_within(4));
}

TEST(Compare, TakesArraysWithoutElementsOnCpu) {
  if (!DAMO_HAS_CPU) GTEST_SKIP() << "needs the CPU back end";
  const Comparison result = compare_three_ops({0, 5});
  EXPECT_EQ(result.fused.kernels, 0u);
  EXPECT_EQ(result.unfused.bytes, 0u);
  EXPECT_TRUE(result.is_within(0));
  EXPECT_THAT(result.text(), HasSubstr("equal in every element"));
  EXPECT_THAT(result.html(), HasSubstr("</html>"));
}

TEST(Compare, WritesJsonThatHasEveryMeasureOnCpu) {
  if (!DAMO_HAS_CPU) GTEST_SKIP() << "needs the CPU back end";
  const testing::ScratchDirectory scratch;
  const Comparison result = compare_three_ops({10, 10});
  result.write_json(scratch / "fusion.json");
  const auto json = nlohmann::json::parse(std::ifstream(scratch / "fusion.json"));
  EXPECT_EQ(json["name"], "three ops <&>");
  EXPECT_EQ(json["device"], "cpu");
  EXPECT_DOUBLE_EQ(json["speedup"], result.speedup());
  for (const char* side : {"unfused", "fused"}) {
    for (const char* field : {"nodes", "kernels", "bytes", "milliseconds", "repetitions", "bytes_per_second",
                              "fraction_of_copy", "graph_milliseconds", "compile_milliseconds", "kernels_compiled",
                              "kernels_from_disk", "kernels_from_memory", "peak_bytes"}) {
      EXPECT_TRUE(json[side][field].is_number()) << side << " " << field;
    }
  }
  EXPECT_EQ(json["unfused"]["kernels"], 3);
  EXPECT_EQ(json["outputs"][0]["name"], "z");
  EXPECT_TRUE(json["outputs"][0]["ulps"].is_number());
}

TEST(Compare, WritesOnePageWithTheChartAndBothGraphsOnCpu) {
  if (!DAMO_HAS_CPU) GTEST_SKIP() << "needs the CPU back end";
  const std::string html = compare_three_ops({10, 10}).html();
  EXPECT_EQ(count(html, "<svg "), 3u);
  EXPECT_EQ(count(html, "class=\"damo-graph\""), 2u);
  EXPECT_EQ(count(html, "</svg>"), 3u);
  EXPECT_THAT(html, HasSubstr(">fused, kernels a call: 1<"));
  EXPECT_THAT(html, HasSubstr(">unfused, kernels a call: 3<"));
  EXPECT_THAT(html, HasSubstr("<title>three ops &lt;&amp;&gt;: fused against unfused on cpu"));
  EXPECT_THAT(html, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("src=")));
  EXPECT_THAT(html, Not(HasSubstr("href=")));
}

TEST(Compare, PrintsATableAndGoesOnOnCpu) {
  if (!DAMO_HAS_CPU) GTEST_SKIP() << "needs the CPU back end";
  std::ostringstream out;
  const testing::ScratchDirectory scratch;
  const Comparison result = compare_three_ops({10, 10});
  result.print(out).write_html(scratch / "fusion.html");
  EXPECT_THAT(out.str(), HasSubstr("kernels launched"));
  EXPECT_THAT(out.str(), HasSubstr("(3 -> 1 kernels)"));
  EXPECT_TRUE(std::ifstream(scratch / "fusion.html").good());
  EXPECT_THROW(result.write_html(scratch / "no such directory/fusion.html"), UserError);
}

TEST(Compare, NamesTheCallersLineOnCpu) {
  if (!DAMO_HAS_CPU) GTEST_SKIP() << "needs the CPU back end";
  const Variable x = vector("x");
  try {
    compare({x}, {x + 1.0}, {Array::ones({3}, int32, cpu())}, {.device = cpu()}, 0.01);
    ADD_FAILURE() << "nothing thrown";
  } catch (const TypeError& error) {
    EXPECT_THAT(error.what(), HasSubstr("input 0 (x) must be float32"));
    EXPECT_THAT(error.what(), HasSubstr("compare_test.cpp:"));
    EXPECT_THAT(error.what(), Not(HasSubstr("src/function/compare")));
  }
}

TEST(ComparisonText, IsGreenOnlyWhereFusionIsFaster) {
  Comparison result;
  const auto verdict = [&](double unfused, double fused) {
    result.unfused.milliseconds = unfused;
    result.fused.milliseconds = fused;
    const std::string page = result.html();
    const std::size_t at = page.find("<p class=\"verdict");
    return page.substr(at, page.find("</p>", at) - at);
  };
  EXPECT_THAT(verdict(1, 1.17), HasSubstr("verdict slower\">1.17 times slower"));
  EXPECT_THAT(verdict(2, 1), HasSubstr("verdict faster\">2.00 times as fast"));
  EXPECT_THAT(verdict(1, 1.01), HasSubstr("verdict\">as fast"));
}

Array floats(const std::vector<float>& values) { return Array::from(values, cpu()); }

TEST(DifferenceOf, CountsUlpsAcrossZero) {
  if (!DAMO_HAS_CPU) GTEST_SKIP() << "needs the CPU back end";
  const float least = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(difference_of(floats({least}), floats({-least})).ulps, 2);
  EXPECT_EQ(difference_of(floats({0.0f}), floats({-0.0f})).ulps, 0);
  const OutputDifference one = difference_of(floats({1, 2, -3}), floats({1, std::nextafter(2.0f, 3.0f), -3}));
  EXPECT_EQ(one.ulps, 1);
  EXPECT_EQ(one.absolute, 0x1p-22);
  EXPECT_NEAR(one.relative, 0x1p-23, 1e-12);
  EXPECT_EQ(one.greatest, 3);
}

TEST(DifferenceOf, TakesHalvesIntegersAndBools) {
  if (!DAMO_HAS_CPU) GTEST_SKIP() << "needs the CPU back end";
  const Array one = Array::ones({2}, float16, cpu()), two = Array::full({2}, 2, float16, cpu());
  EXPECT_EQ(difference_of(one, two).ulps, 1024);
  const Array low = Array::full({1}, std::numeric_limits<std::int64_t>::min(), int64, cpu());
  const Array high = Array::full({1}, std::numeric_limits<std::int64_t>::max(), int64, cpu());
  EXPECT_EQ(difference_of(low, high).absolute, 0x1p64);
  EXPECT_EQ(difference_of(Array::ones({3}, bool_, cpu()), Array::zeros({3}, bool_, cpu())).absolute, 1);
}

TEST(DifferenceOf, CountsNanOnOneSideOnly) {
  if (!DAMO_HAS_CPU) GTEST_SKIP() << "needs the CPU back end";
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const OutputDifference difference = difference_of(floats({nan, nan, 1, inf}), floats({nan, 1, nan, inf}));
  EXPECT_EQ(difference.nan_mismatches, 2u);
  EXPECT_EQ(difference.absolute, 0);
  Comparison comparison;
  comparison.outputs = {difference};
  EXPECT_FALSE(comparison.is_within(1e9));
  EXPECT_EQ(difference_of(floats({inf}), floats({1})).absolute, inf);
}

TEST(ComparisonText, WritesNumbersWithThreeDigits) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(12.34), "12.3");
  EXPECT_EQ(short_number(1.5), "1.50");
  EXPECT_EQ(short_number(1234), "1234");
  EXPECT_EQ(short_number(1.2e-7), "1.20e-07");
  EXPECT_EQ(duration_text(0.0123), "12.3 us");
  EXPECT_EQ(duration_text(1500), "1.50 s");
}

}  // namespace
}  // namespace damo
