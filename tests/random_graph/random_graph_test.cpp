// Random graphs on a budget of time; scripts/random-graphs runs as many as one likes. RANDOM_GRAPH_SECONDS: another budget.
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "campaign.hpp"
#include "check.hpp"
#include "op_family.hpp"
#include "print.hpp"
#include "reference.hpp"
#include "shrink.hpp"
#include "support/devices.hpp"

namespace damo::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

double seconds_allowed() {
  const char* text = std::getenv("RANDOM_GRAPH_SECONDS");
  return text ? std::atof(text) : 15;
}

class RandomGraphOnEachDevice : public OnEachDevice {};

TEST_P(RandomGraphOnEachDevice, GivesWhatTheReferenceGives) {
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  // On an emulated GPU a graph takes seconds; elsewhere some graphs are looked at however little time a loaded machine gives.
  const std::uint64_t least = device().properties().description == "emulated" ? 0 : 21;
  Tally tally;
  std::uint64_t seed = 0;
  for (; (elapsed() < seconds_allowed() || seed < least) && !HasFailure(); ++seed) {
    std::string program, wrong = check_graph(random_graph(seed), device(), tally);
    if (!wrong.empty()) {
      const GraphSpec smallest = shrunk(random_graph(seed), [&](const GraphSpec& graph) { return !check_graph(graph, device(), tally).empty(); });
      program = program_of(smallest, GetParam(), "seed " + std::to_string(seed) + ": " + check_graph(smallest, device(), tally));
    } else if (seed % 4 == 0) {
      wrong = check_in_place(seed, device(), &program);
    }
    EXPECT_EQ(wrong, "") << "seed " << seed << "\n" << program;
  }
  RecordProperty("graphs", static_cast<int>(seed));
  std::printf("[ figure ] %d graphs\n", static_cast<int>(seed));
  if (seed <= 20) return;  // too few to say more of
  EXPECT_GT(tally.known_results, tally.results * 3 / 4) << "the reference should know most of most results";
  EXPECT_GT(tally.fused, tally.graphs / 4);
  EXPECT_LT(tally.no_graphs, tally.graphs / 8);
}

DAMO_ON_EACH_DEVICE(RandomGraphOnEachDevice);

TEST(RandomGraph, ShrinksToTheNodeThatFails) {
  const auto has_tanh = [](const GraphSpec& graph) {
    return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const NodeSpec& node) { return node.name == "tanh"; });
  };
  std::uint64_t seed = 0;
  const auto ends_with_tanh = [](const GraphSpec& graph) { return graph.nodes.size() >= 6 && graph.nodes.back().name == "tanh"; };  // so a result needs it
  while (!ends_with_tanh(random_graph(seed))) ++seed;
  const GraphSpec smallest = shrunk(random_graph(seed), has_tanh);
  EXPECT_EQ(smallest.nodes.size(), 1u);
  EXPECT_EQ(smallest.outputs.size(), 1u);
  EXPECT_EQ(smallest.calls.size(), 1u);
  const std::string program = program_of(smallest, "cpu", "too large");
  EXPECT_THAT(program, HasSubstr("apply_elementwise(*find_elementwise(\"tanh\"), {v"));
  EXPECT_THAT(program, HasSubstr("const Array a0 = b0.view("));
}

TEST(RandomGraph, ProgramsCarryTheFamiliesThatTheyNeed) {
  std::uint64_t seed = 0;
  const auto has_loop = [](const GraphSpec& graph) { return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const NodeSpec& node) { return node.name == "scan_taps"; }); };
  while (!has_loop(random_graph(seed))) ++seed;
  const std::string program = program_of(random_graph(seed), "cpu", "wrong\nby far");
  EXPECT_THAT(program, StartsWith("// wrong\n// by far\n#include")) << "or it would not compile";
  EXPECT_THAT(program, HasSubstr("loops_node<Variable>(\"scan_taps\", {v"));
  EXPECT_THAT(program, HasSubstr("std::vector<T> loops_node(const std::string& how"));
  EXPECT_THAT(program, HasSubstr("T tamed(const T& x)"));
}

TEST(RandomGraph, ReferenceKnowsHowFarErrorsReach) {
  const auto one = [](DType dtype, Wide value, Wide error) { return Tensor{dtype, {}, {{value, error}}}; };
  const auto row = [](const char* name, const std::vector<Tensor>& operands) { return apply_row(*find_elementwise(name), operands).elements[0]; };
  EXPECT_EQ(row("add", {one(int8, 100, 0), one(int8, 100, 0)}).value, -56) << "integers wrap";
  EXPECT_EQ(row("lt", {one(float32, 1, 0), one(float32, 2, 0)}).error, 0);
  EXPECT_TRUE(std::isinf(row("lt", {one(float32, 1, 0.1L), one(float32, 1, 0)}).error)) << "nobody knows which is less";
  EXPECT_TRUE(std::isinf(row("eq", {one(bfloat16, 1, 0.1L), one(bfloat16, 1.05L, 0)}).error)) << "nor whether they are equal";
  EXPECT_TRUE(std::isinf(row("pow", {one(float32, -8, 0), one(float32, -11013.23L, 5)}).error)) << "a number if the exponent rounds to an integer";
  EXPECT_TRUE(std::isinf(row("pow", {one(float32, -INFINITY, 0), one(float32, 1e9L + 1, 64)}).error)) << "of either sign";
  EXPECT_TRUE(std::isinf(row("pow", {one(float32, NAN, 0), one(float32, 0.1L, 0.2L)}).error)) << "1 if the exponent is 0";
  EXPECT_TRUE(std::isinf(row("pow", {one(float32, 1.1L, 0.2L), one(float32, NAN, 0)}).error)) << "1 if the base is 1";
  EXPECT_TRUE(std::isnan(row("pow", {one(float32, -8, 0), one(float32, 2.5L, 0.1L)}).value)) << "no integer is near";
  EXPECT_EQ(row("pow", {one(float32, -INFINITY, 0), one(float32, 3, 0)}).value, -INFINITY);
  EXPECT_EQ(row("pow", {one(float64, -INFINITY, 0), one(uint64, 0xFFFFFFFFFFFFFFF7p0L, 0)}).value, INFINITY) << "2^64 as float64, which is even";
  EXPECT_EQ(row("pow", {one(float64, -INFINITY, 0), one(int64, -0x1p63L, 0)}).value, 0) << "even, though the C library's long double takes it for none";
  EXPECT_TRUE(std::isinf(row("mod", {one(float32, 5e30L, 1e20L), one(float32, 0.75L, 0)}).error)) << "many periods";
  EXPECT_GE(row("mul", {one(float32, 3, 0.5L), one(float32, 10, 0)}).error, 5);
  EXPECT_LT(row("mul", {one(float32, 3, 0), one(float32, 10, 0)}).error, 1e-5L);
  EXPECT_TRUE(std::isinf(row("true_div", {one(float32, 1, 0), one(float32, 0, 0)}).error)) << "of a zero of either sign";
  EXPECT_TRUE(std::isinf(row("true_div", {one(float32, 0, 0), one(float32, 0.001L, 0.002L)}).error)) << "NaN if both are zero";
  EXPECT_EQ(row("true_div", {one(float32, 0, 0), one(float32, 0.003L, 0.002L)}).value, 0);
  EXPECT_TRUE(std::isnan(row("log", {one(float32, -1, 0)}).value));
  EXPECT_EQ(cast_tensor(one(float32, 300, 0), int8).elements[0].value, 127) << "casts saturate";
  const Element to_nearest = cast_tensor(one(int64, (1LL << 60) + 1, 0), float32).elements[0];
  EXPECT_TRUE(to_nearest.value == 0x1p60L && to_nearest.error == 0) << "one rounding of an exact number is exact";
  EXPECT_GT(cast_tensor(one(int64, 2049, 0), float16).elements[0].error, 0) << "a fused kernel keeps it wide";
  EXPECT_EQ(cast_tensor(one(float64, 1e300L, 0), float32).elements[0].value, INFINITY);
  EXPECT_EQ(cast_tensor(one(float32, std::nanl(""), 0), int32).elements[0].value, 0);
}

/// Graphs of long rows are checked within seconds: what goes back over a row for each of its elements takes minutes.
TEST(RandomGraph, ReferencesGoAlongLongRowsOnce) {
  constexpr std::int64_t kLong = 131072;
  const auto one_of = [](const std::string& family, const std::string& name, std::vector<int> pattern, const Tensor& x) {
    const NodeSpec node{.kind = NodeSpec::Kind::kFamily, .family = family, .name = name, .operands = {0}, .pattern = std::move(pattern)};
    return op_family(family).reference(node, {x}, {x.dtype}).at(0);
  };
  Tensor x{float64, {kLong}, std::vector<Element>(kLong)};
  for (const int reverse : {0, 1}) {
    const Tensor sums = one_of("norms", "logcumsumexp", {0, 0, reverse, 0}, x);
    for (std::int64_t i = 0; i < kLong; ++i) ASSERT_NEAR(static_cast<double>(sums.elements[static_cast<std::size_t>(i)].value), std::log(static_cast<double>(reverse ? kLong - i : i + 1)), 1e-12);
  }
  x.elements[2].value = INFINITY, x.elements[5].value = NAN;
  const Tensor sums = one_of("norms", "logcumsumexp", {0, 0, 0, 0}, x);
  EXPECT_EQ(sums.elements[4].value, INFINITY);
  EXPECT_TRUE(std::isnan(sums.elements[6].value));
  for (std::int64_t i = 0; i < kLong; ++i) x.elements[static_cast<std::size_t>(i)].value = static_cast<Wide>(i);
  const Tensor shifted = one_of("shapes", "shifted", {0, 9, 9, -2, 2, 0}, x);
  for (std::int64_t i = 0; i < kLong; ++i) ASSERT_EQ(shifted.elements[static_cast<std::size_t>(i)].value, static_cast<Wide>(std::min(i + 1, kLong - 1)));
}

}  // namespace
}  // namespace damo::testing

int main(int count, char** arguments) {
  if (count > 1 && std::string(arguments[1]) == "campaign") return damo::testing::campaign(count - 2, arguments + 2);
  ::testing::InitGoogleTest(&count, arguments);
  return RUN_ALL_TESTS();
}
