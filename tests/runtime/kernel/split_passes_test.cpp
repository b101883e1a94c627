#include "runtime/kernel/split_passes.hpp"

#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/kernel/passes.hpp"
#include "runtime/kernel/reducing_specs.hpp"
#include "runtime/kernel/scan_specs.hpp"

namespace damo {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;

constexpr std::uint32_t kRowAxes = 0b101;
constexpr const char* kPlace = "place";  // of an element, in a row of the whole

/// What each value of a spec is, written out as one expression on what its inputs are: "map exp(x0 - x1)(x, join ...)".
/// all_across: its joins are those across the rows of another spec.
std::vector<std::string> expressions(const KernelSpec& spec, const std::vector<std::string>& inputs, bool all_across = false) {
  std::vector<std::string> all = inputs;
  for (const Scalar& number : spec.numbers) all.push_back("number " + to_string(number));
  for (const Scalar& constant : spec.constants) all.push_back("constant " + to_string(constant));
  for (const Step& step : spec.steps) {
    if (step.is_place) {
      all.push_back(all_across ? "place in a row of the part" : kPlace);
      continue;
    }
    std::string text = step.name + " " + step.code + (step.join && (step.join->across || all_across) ? " across" : "") + "(";
    for (int input : step.inputs) text += all[static_cast<std::size_t>(input)] + ", ";
    all.push_back(text + ")" + std::to_string(static_cast<int>(step.result)));
  }
  return all;
}

std::vector<std::string> input_names(const KernelSpec& spec) {
  std::vector<std::string> names;
  for (int i = 0; i < spec.input_count(); ++i) names.push_back("input " + std::to_string(i));
  return names;
}

/// Holds the parts, run one after the other, against the whole: outputs are what they were, inputs have their domains.
void expect_same(const KernelSpec& whole, const PassSpecs& split, bool by_pass = true) {
  const Passes passes(whole, [](int, const Passes&) { return false; });
  std::map<int, std::string> memory;  // by the whole's parameters, and after them values between passes
  std::map<int, bool> is_row;
  for (int i = 0; i < whole.input_count(); ++i) {
    memory[i] = input_names(whole)[static_cast<std::size_t>(i)];
    is_row[i] = !passes.is_element(i);
  }
  const auto dtype_of = [&](int parameter) { return parameter < whole.parameter_count() ? whole.parameter_dtype(parameter) : split.between.at(static_cast<std::size_t>(parameter - whole.parameter_count())).dtype; };
  for (const PassSpec& part : split.parts) {
    ASSERT_EQ(static_cast<int>(part.parameters.size()), part.spec.parameter_count());
    std::vector<std::string> inputs;
    for (int i = 0; i < part.spec.input_count(); ++i) {
      const int parameter = part.parameters[static_cast<std::size_t>(i)];
      if (parameter == PassSpec::kPlaces) {
        EXPECT_TRUE(part.spec.is_ordinals(i) && part.spec.ordinals[static_cast<std::size_t>(i)] == kRowAxes);
        inputs.push_back(kPlace);
        continue;
      }
      ASSERT_TRUE(memory.contains(parameter)) << part.spec.name << " reads what no part before has written";
      inputs.push_back(memory.at(parameter));
      EXPECT_EQ(part.spec.is_row(i), is_row.at(parameter) && !part.across) << part.spec.name << " input " << i;
      if (parameter < whole.input_count()) {
        EXPECT_EQ(part.spec.inputs[static_cast<std::size_t>(i)], whole.inputs[static_cast<std::size_t>(parameter)]);
        EXPECT_EQ(part.spec.is_value(i), whole.is_value(parameter));
      } else {
        EXPECT_EQ(part.spec.inputs[static_cast<std::size_t>(i)], dtype_of(parameter));
      }
    }
    EXPECT_FALSE(part.spec.joins_across() || part.spec.scans_beside_rows()) << part.spec.name;
    const std::vector<std::string> values = expressions(part.spec, inputs, part.across);
    for (std::size_t i = 0; i < part.spec.stores.size(); ++i) {
      const int parameter = part.parameters[static_cast<std::size_t>(part.spec.input_count()) + i];
      EXPECT_FALSE(memory.contains(parameter)) << part.spec.name << " writes again what is there";
      memory[parameter] = values[static_cast<std::size_t>(part.spec.stores[i])];
      is_row[parameter] = parameter >= whole.parameter_count() && !split.between.at(static_cast<std::size_t>(parameter - whole.parameter_count())).is_element;
      EXPECT_EQ(part.spec.outputs[i], dtype_of(parameter));
    }
    if (by_pass) {
      EXPECT_LE(Passes(part.spec, [](int, const Passes&) { return false; }).all().size(), part.spec.scans() ? 2u : 1u) << part.spec.name;
    }
  }
  const std::vector<std::string> wanted = expressions(whole, input_names(whole));
  for (std::size_t i = 0; i < whole.stores.size(); ++i) {
    EXPECT_EQ(memory[whole.input_count() + static_cast<int>(i)], wanted[static_cast<std::size_t>(whole.stores[i])]) << "output " << i;
  }
  for (const PassSpecs::Between& each : split.between) EXPECT_FALSE(!each.is_element && is_half(each.dtype)) << "in one kernel the value is not rounded to 16 bits";
}

TEST(SplitPasses, MakesAPassASpec) {
  const PassSpecs split = split_passes(softmax(), kRowAxes);
  ASSERT_EQ(split.parts.size(), 3u);
  EXPECT_THAT(split.between, ElementsAre(Field(&PassSpecs::Between::dtype, float32), Field(&PassSpecs::Between::dtype, float32)));
  // Of the whole: 0 the input, 1 the output; 2 and 3 the maximum and the sum between.
  EXPECT_THAT(split.parts[0].parameters, ElementsAre(0, 2));
  EXPECT_THAT(split.parts[1].parameters, ElementsAre(0, 2, 3));
  EXPECT_THAT(split.parts[2].parameters, ElementsAre(0, 2, 3, 1));
  EXPECT_EQ(split.parts[1].spec.steps.size(), 2u) << "exp and its sum; the maximum is read";
  expect_same(softmax(), split);
}

TEST(SplitPasses, MakesWhatFollowsForARowAloneOnceARow) {
  const KernelSpec spec = spec_of("scaled", {sum_of(0), map("x0 + T(1)", {1}), map("rsqrt(x0)", {2}), map("x0 * x1", {0, 3})}, {4});
  const PassSpecs split = split_passes(spec, kRowAxes);
  ASSERT_EQ(split.parts.size(), 2u);
  EXPECT_THAT(split.between, ElementsAre(Field(&PassSpecs::Between::dtype, float32))) << "the root alone";
  EXPECT_EQ(split.parts[0].spec.steps.size(), 3u);
  EXPECT_EQ(split.parts[1].spec.steps.size(), 1u);
  expect_same(spec, split);
}

TEST(SplitPasses, WritesValuesOfRowsAsSoonAsTheyAreKnown) {
  const PassSpecs split = split_passes(center(), kRowAxes);
  ASSERT_EQ(split.parts.size(), 2u);
  EXPECT_THAT(split.parts[0].parameters, ElementsAre(0, 2, 5, 4)) << "x and bias; the mean between, and with the bias as output";
  expect_same(center(), split);
}

TEST(SplitPasses, MakesPrefixJoinsASpecBehindTheOthers) {
  const KernelSpec spec = softmax_scan();
  const PassSpecs again = split_prefixes(spec, kRowAxes, false);
  ASSERT_EQ(again.parts.size(), 2u);
  // Of the whole: 0 the input, 1 the prefixes; 2 and 3 the sum and the maximum between.
  EXPECT_THAT(again.parts[1].parameters, ElementsAre(0, 3, 2, 1));
  expect_same(spec, again, false);
  const PassSpecs left = split_prefixes(spec, kRowAxes, true);
  ASSERT_EQ(left.parts.size(), 2u);
  EXPECT_THAT(left.between, ElementsAre(Field(&PassSpecs::Between::is_element, true)));
  EXPECT_THAT(left.parts[1].parameters, ElementsAre(2, 1)) << "the quotients alone";
  expect_same(spec, left, false);
  for (const bool leaves : {false, true}) {
    const PassSpecs split = split_passes(spec, kRowAxes, leaves);
    EXPECT_EQ(split.parts.size(), leaves ? 4u : 3u) << "maximum, sum, quotients where they are left, and prefixes";
    expect_same(spec, split);
  }
}

TEST(SplitPasses, ReadsAnOutputWhereWhatPrefixesAreMadeOfIsOne) {
  KernelSpec spec = softmax_scan();
  spec.stores.push_back(spec.step_of(spec.stores[0]).inputs[0]);
  spec.outputs.push_back(float32);
  const PassSpecs split = split_prefixes(spec, kRowAxes, true);
  EXPECT_TRUE(split.between.empty());
  EXPECT_THAT(split.parts[1].parameters, ElementsAre(2, 1));
  expect_same(spec, split, false);
}

TEST(SplitPasses, LeavesOnePassWhole) {
  EXPECT_EQ(split_passes(moments(), kRowAxes).parts.size(), 1u);
  EXPECT_EQ(split_passes(argmax(), kRowAxes).parts.size(), 1u);
  expect_same(moments(), split_passes(moments(), kRowAxes));
  expect_same(argmax(), split_passes(argmax(), kRowAxes));
}

TEST(SplitPasses, MakesTheJoinsAcrossRowsASpecBehindTheOthers) {
  const PassSpecs split = split_passes(norm_gradient(), kRowAxes);
  ASSERT_EQ(split.parts.size(), 4u);
  EXPECT_TRUE(split.parts[3].across);
  // Of the whole: 0 x, 1 g, 2 the element, 3 the row's sum, 4 and 5 what is joined across; 6 the mean and 7 the sum between.
  EXPECT_THAT(split.parts[3].parameters, ElementsAre(0, 1, 6, 4, 5));
  expect_same(norm_gradient(), split);
  expect_same(sums_of_both(), split_passes(sums_of_both(), kRowAxes));
}

TEST(SplitAcross, MakesTwoSpecsOfWhichTheSecondReadsValuesOfRows) {
  const PassSpecs split = split_across(norm_gradient(), kRowAxes);
  ASSERT_EQ(split.parts.size(), 2u);
  EXPECT_THAT(split.parts[0].parameters, ElementsAre(0, 1, 6, 2, 3)) << "the mean, which elements need that are joined across rows, and what the rows give";
  EXPECT_THAT(split.parts[1].parameters, ElementsAre(0, 1, 6, 4, 5));
  expect_same(norm_gradient(), split, false);
  expect_same(sums_of_both(), split_across(sums_of_both(), kRowAxes), false);
}

TEST(SplitAcross, CountsPlacesInRowsOfTheWhole) {
  KernelSpec spec = spec_of("sums_of_places", {place_in_row(), map("x0 * x1", {0, 1}), sum_of(2), across(sum_of(2))}, {3, 4});
  const PassSpecs split = split_across(spec, kRowAxes);
  ASSERT_EQ(split.parts.size(), 2u);
  EXPECT_THAT(split.parts[1].parameters, ElementsAre(0, PassSpec::kPlaces, 2));
  EXPECT_TRUE(split.parts[0].spec.uses_place());
  EXPECT_FALSE(split.parts[1].spec.uses_place());
  expect_same(spec, split, false);
}

TEST(SplitAcross, ComputesWhatRandomSpecsDo) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    KernelSpec spec = random_spec(random, 12);
    if (seed % 2 == 0) {  // two that add to x what follows from its place
      for (int i = 0; i < 2; ++i) {
        const int place = spec.first_step() + static_cast<int>(spec.steps.size());
        spec.steps.push_back(place_in_row());
        spec.steps.push_back(map("x0 + x1", {0, place}));
      }
    }
    add_across(spec, random);
    const PassSpecs split = split_across(spec, kRowAxes);
    EXPECT_EQ(split.parts.size(), 2u);
    expect_same(spec, split, false);
    expect_same(spec, split_passes(spec, kRowAxes));
  }
}

TEST(SplitPasses, ComputesWhatRandomSpecsDo) {
  std::size_t most = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const KernelSpec spec = random_spec(random, 12);
    const PassSpecs split = split_passes(spec, kRowAxes);
    most = std::max(most, split.parts.size());
    expect_same(spec, split);
  }
  EXPECT_GE(most, 4u) << "the specs should give it something to do";
}

}  // namespace
}  // namespace damo
