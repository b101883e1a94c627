#include <damo/chart.hpp>

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/error.hpp>

#include "support/errors.hpp"
#include "support/scratch_directory.hpp"

using namespace damo;
using namespace damo::testing;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

namespace {

TEST(Chart, DrawsLinesFromCornerToCorner) {
  const std::string svg = Chart("a < b", "epoch", "loss").line("train", {0, 1, 2}).svg();
  EXPECT_THAT(svg, AllOf(HasSubstr("a &lt; b"), HasSubstr(">epoch<"), HasSubstr(">loss<"), HasSubstr(">train<")));
  EXPECT_THAT(svg, HasSubstr("d=\"M70.0 350.0L290.0 195.0L510.0 40.0\""));
  EXPECT_THAT(svg, AllOf(HasSubstr(">0.5<"), HasSubstr(">1.5<"), HasSubstr(">2<")));  // ticks
}

TEST(Chart, AMissingValueIsAGap) {
  EXPECT_THAT(Chart("").line("x", {0, NAN, 2, 1}).svg(), HasSubstr("d=\"M70.0 350.0M363.3 40.0L510.0 195.0\""));
  EXPECT_THAT(Chart("").line("x", {INFINITY}).svg(), HasSubstr("d=\"\""));
}

TEST(Chart, ALogarithmicAxisLeavesOutWhatIsNotAboveZero) {
  const std::string svg = Chart("").line("x", {0.01, 0, 1, 100}).log_y().svg();
  EXPECT_THAT(svg, HasSubstr("d=\"M70.0 350.0M363.3 195.0L510.0 40.0\""));
  EXPECT_THAT(svg, AllOf(HasSubstr(">0.01<"), HasSubstr(">0.1<"), HasSubstr(">100<"), Not(HasSubstr(">0.2<"))));
  EXPECT_THAT(Chart("").line("x", {0.15, 3}).log_y().svg(), AllOf(HasSubstr(">0.2<"), HasSubstr(">0.5<"), HasSubstr(">2<")));
  EXPECT_THAT(Chart("").line("x", {3.1, 3.4}).log_y().svg(), AllOf(HasSubstr(">3.1<"), HasSubstr(">3.2<")));  // no round power in it
}

TEST(Chart, DrawsPointsAndOneValue) {
  EXPECT_THAT(Chart("").points("p", {1, 3}, {2, 4}).svg(), HasSubstr("d=\"M70.0 350.0h0M510.0 40.0h0\""));
  EXPECT_THAT(Chart("").line("one", {7}).svg(), HasSubstr("d=\"M290.0 195.0\""));
  EXPECT_THAT(Chart("").svg(), Not(HasSubstr("nan")));
}

TEST(Chart, DrawsWhatDoublesHardlyTellApart) {
  const double greatest = std::numeric_limits<double>::max(), least = std::numeric_limits<double>::denorm_min();
  const std::vector<double> pairs[] = {{-greatest, greatest}, {-1e300, 1e300}, {1, std::nextafter(1, 2)}, {1e17, 1e17 + 16}, {1e300, 1e300}, {0, least}, {least, 2 * least}, {-1e-310, 1e-310}};
  for (const std::vector<double>& pair : pairs) {
    for (bool is_log : {false, true}) {
      Chart chart = Chart("").line("up", pair).points("across", pair, {1, 2});
      const std::string svg = is_log ? chart.log_y().svg() : chart.svg();
      EXPECT_LT(svg.size(), 6000u) << pair[0] << " to " << pair[1] << ": some five lines a direction";
      EXPECT_THAT(svg, AllOf(Not(HasSubstr("nan")), Not(HasSubstr("inf")))) << pair[0] << " to " << pair[1];
    }
  }
  EXPECT_EQ(Chart("").line("x", {-greatest, 1, greatest}).svg(), Chart("").line("x", {NAN, 1, NAN}).svg()) << "too great to be drawn";
}

// Names of runs may hold any bytes; an SVG file holds characters.
TEST(Chart, ReplacesWhatIsNoCharacter) {
  const std::string svg = Chart("a\x1b[1m\xFF \xC3\xA9 <\"&>", "b\x01", "c\xC3").line("d\xED\xA0\x80", {1, 2}).svg();
  EXPECT_THAT(svg, AllOf(HasSubstr(">a\xEF\xBF\xBD[1m\xEF\xBF\xBD \xC3\xA9 &lt;&quot;&amp;&gt;</text>"), HasSubstr(">b\xEF\xBF\xBD</text>"), HasSubstr(">c\xEF\xBF\xBD</text>"),
                         HasSubstr(">d\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD</text>")));
}

TEST(Chart, SavesItsFile) {
  const ScratchDirectory folder;
  const Chart chart = Chart("x").line("a", {1, 2});
  chart.save(folder / "x.svg");
  std::ifstream file(folder / "x.svg");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), chart.svg());
  EXPECT_THAT(error_of<Error>([&] { chart.save("/nowhere/x.svg"); }), HasSubstr("chart: cannot write /nowhere/x.svg: No such file"));
  EXPECT_THAT(error_of<ShapeError>([] { Chart("x").points("p", {1}, {1, 2}); }), HasSubstr("chart: p has 1 x and 2 y\n  give each point both"));
}

}  // namespace
