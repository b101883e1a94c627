#include <damo/io/csv.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/files.hpp"
#include "support/devices.hpp"
#include "support/scratch_directory.hpp"

using namespace damo;
using namespace damo::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

class CsvOnEachDevice : public OnEachDevice {};
DAMO_ON_EACH_DEVICE(CsvOnEachDevice);

TEST_P(CsvOnEachDevice, ReadsATableOfNumbers) {
  const ScratchDirectory folder;
  write_bytes(folder / "x.csv", "a,b,\"c\"\r\n1,2.5,-3e2\r\n\r\n# a remark\r\n \"4\" , +5,inf");
  const Array x = csv::load(folder / "x.csv", {.skip_lines = 1, .device = device()});
  EXPECT_EQ(x.shape(), (Shape{2, 3}));
  EXPECT_THAT(x.to_vector<float>(), ElementsAre(1, 2.5, -300, 4, 5, std::numeric_limits<float>::infinity()));
}

TEST_P(CsvOnEachDevice, KeepsEveryDtypeBitForBit) {
  const ScratchDirectory folder;
  for (const DType dtype : kAllDTypes) {
    const Array x = extremes(dtype, device());
    csv::save(folder / "x.csv", x);
    EXPECT_EQ(bits(csv::load(folder / "x.csv", {.dtype = dtype, .device = device()})), bits(x)) << name(dtype) << "\n" << bytes_of(folder / "x.csv");
  }
}

Array parsed(const std::string& text, csv::LoadOptions options) {
  const ScratchDirectory folder;
  options.device = Device("cpu");
  return csv::load(write_bytes(folder / "x.csv", text), options);
}

TEST(Csv, WritesAHeaderAndTheFewestDigits) {
  const ScratchDirectory folder;
  const Array x = Array::from(std::vector<double>{0.1, 1e300, -2, 3}, {2, 2}, Device("cpu"));
  csv::save(folder / "x.csv", x, {.header = {"a", "b,c"}});
  EXPECT_EQ(bytes_of(folder / "x.csv"), "a,\"b,c\"\n0.1,1e+300\n-2,3\n");
  csv::save(folder / "x.tsv", x.slice({{}, {0, 1}}), {.separator = '\t'});
  EXPECT_EQ(bytes_of(folder / "x.tsv"), "0.1\n-2\n");
  csv::save(folder / "x.tsv", Array::from(std::vector<int>{1, 2}, Device("cpu")));
  EXPECT_EQ(bytes_of(folder / "x.tsv"), "1\n2\n");
}

TEST(Csv, EmptyFieldsAreWhatTheCallerSays) {
  EXPECT_THAT(parsed("1,,3\n,5,\n", {.missing = -1.0}).to_vector<float>(), ElementsAre(1, -1, 3, -1, 5, -1));
  EXPECT_THAT(parsed("1\t\t3\n\t\t\n", {.separator = '\t', .missing = 0.0}).to_vector<float>(), ElementsAre(1, 0, 3, 0, 0, 0));
  EXPECT_EQ(parsed("", {}).shape(), (Shape{0, 0}));
}

TEST(Csv, SaysWhichFieldIsWrong) {
  const auto error = [](const std::string& text, csv::LoadOptions options) { return error_of<FileError>([&] { parsed(text, options); }); };
  EXPECT_THAT(error("1,2\n3,x y\n", {}), HasSubstr("x.csv: line 2, column 2: expected a number of float32, found 'x y'"));
  EXPECT_THAT(error("1,300\n", {.dtype = uint8}), HasSubstr("line 1, column 2: expected a number of uint8, found '300'"));
  EXPECT_THAT(error("1.5\n", {.dtype = int64}), HasSubstr("expected a number of int64, found '1.5'"));
  EXPECT_THAT(error("2\n", {.dtype = bool_}), HasSubstr("expected a number of bool, found '2'"));
  EXPECT_THAT(error("1,,3\n", {}), HasSubstr("line 1, column 2: expected a number of float32, found an empty field (csv::LoadOptions::missing"));
  EXPECT_THAT(error("1,2\n3\n", {}), HasSubstr("line 2, column 1: expected 2 fields, as in the lines before"));
  EXPECT_THAT(error("1,2\n3,4,5\n", {}), HasSubstr("line 2, column 3: expected 2 fields, as in the lines before"));
  EXPECT_THAT(error("\"1,2\n", {}), HasSubstr("line 1, column 1: expected a closing quotation mark"));
  EXPECT_THAT(error("\"1\"2\n", {}), HasSubstr("expected a separator behind the quotation mark"));
  EXPECT_THAT(error(std::string("\xff\0\x01", 3), {}), HasSubstr("found '\\xff\\x00\\x01'"));
}

TEST(Csv, SaysWhatCannotBeATable) {
  const Array x = Array::zeros({2, 3}, float32, Device("cpu"));
  EXPECT_THAT(error_of<ShapeError>([&] { csv::save("x.csv", x.reshape({1, 2, 3})); }), HasSubstr("a table has rank 1 or 2, this array is (1, 2, 3)"));
  for (const char separator : {'.', '-', '1', 'e', '\n', '"'}) {
    EXPECT_THAT(error_of<OptionError>([&] { csv::save("x.csv", x, {.separator = separator}); }), HasSubstr("stands in numbers or ends lines"));
    EXPECT_THAT(error_of<OptionError>([&] { csv::load("x.csv", {.separator = separator}); }), HasSubstr("separate by ',', ';', ' ' or '\\t'"));
  }
  EXPECT_THAT(error_of<OptionError>([] { csv::load("x.csv", {.separator = '#'}); }), HasSubstr("the sign that begins a comment"));
  EXPECT_THAT(error_of<OptionError>([] { csv::load("x.csv", {.skip_lines = -1}); }), HasSubstr("skip_lines is -1"));
  EXPECT_THAT(error_of<OptionError>([&] { csv::save("x.csv", x, {.header = {"a"}}); }), HasSubstr("a header of 1 names for 3 columns"));
  EXPECT_THAT(error_of<OptionError>([&] { csv::save("x.csv", x, {.header = {"a", "b\n", "c"}}); }), HasSubstr("no quotation marks and no ends of lines"));
}

}  // namespace
