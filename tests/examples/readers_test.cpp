// The small readers of examples/support.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <numeric>

#include "support/digits.hpp"
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
  for (const char* bad : {"1,2,3", "", "x"}) {
    std::ofstream(file) << bad << "\n";
    try {
      load_digits(file);
      FAIL() << "accepted: " << bad;
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find("bad_digits.csv:1: not 64 pixels and a digit"), std::string::npos)
          << error.what();
    }
  }
  EXPECT_THROW(load_digits("/nowhere/digits.csv"), std::runtime_error);
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
