#include <damo/report.hpp>

#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <damo/compare.hpp>
#include <damo/ops/indexing.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/shape.hpp>
#include "support/devices.hpp"

namespace damo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Report : public damo::testing::OnEachDevice {
 protected:
  Report() : x_(input({float32, {64, 256}}, "x")) {}
  Function build(bool profile) const {
    Options options;
    options.device = device();
    options.profile = profile;
    options.name = "demo";
    const Variable z = exp(x_ * 2.5);
    return function({x_}, {z, tanh(transpose(z)) - 2.0}, options);
  }
  const Variable x_;
};

TEST_P(Report, TellsOfEachKernelBytesFloorAndWhyItEnds) {
  const FunctionReport report = build(false).report();
  ASSERT_EQ(report.nodes.size(), 2u) << "the transpose is a view";
  const NodeReport& first = report.nodes[0];
  EXPECT_EQ(first.number, 1);
  EXPECT_THAT(first.lines, HasSubstr("report_test.cpp:"));
  EXPECT_EQ(first.bytes, 2u * 64 * 256 * 4) << "read and written once";
  EXPECT_GT(first.instructions, 64u * 256);
  EXPECT_EQ(first.milliseconds, 0);
  EXPECT_EQ(report.calls, 0u);
  EXPECT_NEAR(first.floor_milliseconds, static_cast<double>(first.bytes) / report.copy_bytes_per_second * 1e3, 1e-12);
  ASSERT_EQ(first.reasons.size(), 1u);
  EXPECT_THAT(first.reasons[0], HasSubstr("feeds 2 dimshuffle: not elementwise"));
  ASSERT_EQ(first.kernels.size(), 1u);
  EXPECT_THAT(report.text(), HasSubstr("ends here: feeds 2 dimshuffle: not elementwise"));
  EXPECT_THAT(report.html(), Not(HasSubstr("<svg"))) << "nothing was timed";
  EXPECT_THAT(report.html(), HasSubstr("Not timed: build with Options::profile"));
}

// Names may hold any bytes.
TEST(ReportPages, ReplaceWhatIsNoCharacter) {
  FunctionReport report;
  report.name = "a\x1b\xFF<";
  report.device = "cpu";
  report.nodes.push_back({.number = 1, .op = "b\x01\xC3", .formulas = {"c\x02"}, .reasons = {"d\xFF"}});
  const std::string page = report.html();
  for (const char* text : {"function a\xEF\xBF\xBD\xEF\xBF\xBD&lt; on cpu", "b\xEF\xBF\xBD\xEF\xBF\xBD</b>", "c\xEF\xBF\xBD</code>", "d\xEF\xBF\xBD</td>"}) EXPECT_THAT(page, HasSubstr(text));
  const auto json = nlohmann::json::parse(report.json());
  EXPECT_EQ(json["name"], "a\x1b\xEF\xBF\xBD<");
  EXPECT_EQ(json["nodes"][0]["op"], "b\x01\xEF\xBF\xBD");
  Comparison comparison;
  comparison.name = report.name;
  comparison.outputs.push_back({.name = "z\x01\xFF"});
  EXPECT_THAT(comparison.html(), AllOf(HasSubstr("a\xEF\xBF\xBD\xEF\xBF\xBD&lt;"), HasSubstr("z\xEF\xBF\xBD\xEF\xBF\xBD</b>")));
  EXPECT_EQ(nlohmann::json::parse(comparison.json())["outputs"][0]["name"], "z\x01\xEF\xBF\xBD");
}

TEST_P(Report, HasTimesOfProfiledCallsAndTheirShareOfTheCopy) {
  const Function f = build(true);
  const Array values = Array::full({64, 256}, 0.5, float32, device());
  for (int i = 0; i < 3; ++i) f(values);
  const FunctionReport report = f.report();
  EXPECT_EQ(report.calls, 3u);
  for (const NodeReport& node : report.nodes) {
    EXPECT_GT(node.milliseconds, 0);
    EXPECT_DOUBLE_EQ(node.copy_share(), node.floor_milliseconds / node.milliseconds);
    ASSERT_FALSE(node.kernels.empty());
    EXPECT_GT(node.kernels[0].threads, 0);
    if (device().kind() == DeviceKind::kCuda) EXPECT_GT(node.kernels[0].occupancy, 0);
  }
  const std::string page = report.html();
  for (const char* part : {"<svg class=\"roofline\"", "instructions a byte", "% of the copy", "report_test.cpp:", "feeds 2 dimshuffle"}) EXPECT_THAT(page, HasSubstr(part));
  const auto json = nlohmann::json::parse(report.json());
  EXPECT_EQ(json["name"], "demo");
  EXPECT_EQ(json["instructions_per_second"], report.instructions_per_second);
  EXPECT_THAT(page, HasSubstr("then arithmetic&#39;s "));
  EXPECT_THAT(report.text(), HasSubstr(" instructions a second\n"));
  EXPECT_GT(report.instructions_per_second, 1e8) << "a processor does some at each of its clock's ticks";
  EXPECT_EQ(json["nodes"].size(), 2u);
  EXPECT_EQ(json["nodes"][0]["bytes"], report.nodes[0].bytes);
  EXPECT_EQ(json["nodes"][0]["reasons"][0], report.nodes[0].reasons[0]);
}

TEST_P(Report, OfProfiledCallsIsATraceToo) {
  const Function f = build(true);
  const Array values = Array::full({64, 256}, 0.5, float32, device());
  for (int i = 0; i < 2; ++i) f(values);
  const Profile profile = f.profile();
  ASSERT_EQ(profile.spans.size(), 4u) << "two nodes in two calls";
  const auto trace = nlohmann::json::parse(profile.chrome_trace());
  const auto& events = trace["traceEvents"];
  ASSERT_EQ(events.size(), 5u) << "and the process's name";
  double last = 0;
  for (std::size_t i = 1; i < events.size(); ++i) {
    EXPECT_EQ(events[i]["ph"], "X");
    EXPECT_EQ(events[i]["name"], profile.rows[profile.spans[i - 1].row].op);
    EXPECT_EQ(events[i]["args"]["call"], i <= 2 ? 1 : 2);
    EXPECT_THAT(events[i]["args"]["line"].get<std::string>(), HasSubstr("report_test.cpp:"));
    EXPECT_GE(events[i]["ts"].get<double>(), last);
    last = events[i]["ts"].get<double>();
  }
  EXPECT_THAT(damo::testing::error_of([&] { profile.write_chrome_trace("/nowhere/trace.json"); }), HasSubstr("'/nowhere/trace.json' cannot be written: No such file or directory"));
  EXPECT_THAT(damo::testing::error_of([&] { profile.write_chrome_trace("/dev/full"); }), HasSubstr("'/dev/full' cannot be written: No space left on device"));
}

// A class of the library's own had the name KernelReport too, so that one's destructor could stand for the other's.
TEST_P(Report, OfAKernelMayBeSharedBesideFunctionsThatCheckPositions) {
  const Variable x = vector("x"), p = vector("p", int64);
  for (int i = 0; i < 3; ++i) {
    const Function f = function({x, p}, {take(x * 2.0, p, 0) + 1.0}, {.device = device()});
    const Array y = f(Array::ones({3}, float32, device()), Array::zeros({2}, int64, device()));
    const FunctionReport report = f.report();
    const std::vector<KernelReport>& kernels = report.nodes.back().kernels;
    ASSERT_FALSE(kernels.empty());
    EXPECT_EQ(std::make_shared<KernelReport>(kernels[0])->name, kernels[0].name);
  }
}

TEST_P(Report, IsPartOfComparesPage) {
  Options options;
  options.device = device();
  const Comparison comparison = compare({x_}, {tanh(x_) * 2.0}, {Array::full({64, 256}, 0.5, float32, device())}, options, 0.01);
  EXPECT_THAT(comparison.html(), HasSubstr("<h2>Kernels of the fused side</h2>"));
  EXPECT_THAT(comparison.html(), HasSubstr("<svg class=\"roofline\""));
}

DAMO_ON_EACH_DEVICE(Report);

}  // namespace
}  // namespace damo
