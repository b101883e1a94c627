// The small readers of examples/support.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>

#include <damo/io/file_error.hpp>

#include "support/digits.hpp"
#include "support/errors.hpp"
#include "support/pipeline.hpp"
#ifdef DAMO_HAS_PNG
#include "support/png_image.hpp"
#endif

using namespace examples;

TEST(Digits, AreAllThereAndInRange) {
  const Digits digits = load_digits();
  ASSERT_EQ(digits.count(), 1797);
  ASSERT_EQ(digits.images.size(), 1797u * 64);
  for (float pixel : digits.images) ASSERT_TRUE(pixel >= 0 && pixel <= 1);
  EXPECT_EQ(digits.images[2], 5 / 16.0f);  // the first line begins 0,0,5
  EXPECT_EQ(std::accumulate(digits.labels.begin(), digits.labels.end(), 0), 8070);
}

TEST(Digits, SayWhichLineIsMalformed) {
  const std::string file = ::testing::TempDir() + "/bad_digits.csv";
  const auto error = [&](const std::string& text) {
    std::ofstream(file) << text << "\n";
    return damo::testing::error_of<damo::FileError>([&] { load_digits(file); });
  };
  std::string line;
  for (int i = 0; i < Digits::kPixels; ++i) line += "16,";
  EXPECT_EQ(error(line + "9"), "nothing thrown");
  EXPECT_EQ(error(line + "10"), "digits: " + file + ": row 1: 10 is no digit");
  EXPECT_EQ(error("1,2,3"), "digits: " + file + ": lines have 64 pixels and a digit");
  EXPECT_EQ(error("1,x"), "csv: " + file + ": line 1, column 2: expected a number of int64, found 'x'");
  EXPECT_THROW(load_digits("/nowhere/digits.csv"), damo::FileError);
}

TEST(Pipeline, ReadsItsArguments) {
  const char* words[] = {"program", "full", "seed=7", "/data"};
  const Arguments run = arguments_of(4, const_cast<char**>(words));
  EXPECT_TRUE(run.full);
  EXPECT_EQ(run.seed, 7u);
  EXPECT_EQ(run.folder, "/data");
  EXPECT_FALSE(arguments_of(1, const_cast<char**>(words)).full);
}

TEST(Pipeline, DrawsPicturesInARowOnCpu) {
  const std::string file = ::testing::TempDir() + "/pictures.svg";
  save_pictures(file, {damo::Array::from(std::vector<float>{0, 1, 0.5f, 0}, {1, 4}, damo::Device("cpu"))});
  std::ifstream in(file);
  const std::string svg(std::istreambuf_iterator<char>(in), {});
  EXPECT_NE(svg.find("viewBox=\"0 0 3 3\""), std::string::npos) << svg;
  EXPECT_NE(svg.find("fill=\"#000\" d=\"M1 0h1v1h-1z\""), std::string::npos) << svg;
  EXPECT_NE(svg.find("fill=\"#777\" d=\"M0 1h1v1h-1z\""), std::string::npos) << svg;
}

#ifdef DAMO_HAS_PNG
TEST(Png, ReadsThePhotographAndWritesItBack) {
  const Image photo = read_png(data_file("astronaut.png"));
  ASSERT_EQ(photo.height, 512);
  ASSERT_EQ(photo.width, 512);
  const std::string copy = ::testing::TempDir() + "/copy.png";
  write_png(copy, from_floats(to_floats(photo), 512, 512));
  EXPECT_EQ(read_png(copy).pixels, photo.pixels);
  EXPECT_EQ(read_png(copy, 3).pixels.size(), 3 * photo.pixels.size());
}

TEST(Png, SaysWhatIsWrong) {
  EXPECT_THROW(read_png("/nowhere/x.png"), std::runtime_error);
  EXPECT_THROW(read_png(data_file("digits.csv")), std::runtime_error);
  EXPECT_THROW(write_png(::testing::TempDir() + "/x.png", Image{2, 2, 1, {1, 2, 3}}), std::runtime_error);
}
#endif
