// Expected texts: str() of NumPy 2.4.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include <damo/array.hpp>

#include "support/host_backend.hpp"

namespace damo {
namespace {

using testing::HostBackend;

class ArrayPrint : public ::testing::Test {
 protected:
  template <class T>
  std::string print(const std::vector<T>& values, const Shape& shape) {
    return to_string(Array::from(values, shape, Device(&backend)));
  }
  template <class T>
  std::string print(const std::vector<T>& values) {
    return print(values, Shape{static_cast<std::int64_t>(values.size())});
  }
  Array range(DType dtype, const Shape& shape) {
    std::vector<double> values(static_cast<std::size_t>(shape.size()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
    if (dtype == float32) return Array::from(std::vector<float>(values.begin(), values.end()), shape, Device(&backend));
    return Array::from(std::vector<std::int64_t>(values.begin(), values.end()), shape, Device(&backend));
  }
  HostBackend backend;
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST_F(ArrayPrint, AlignsThePoints) {
  EXPECT_EQ(print<float>({1, 2.5f, -3, 4}, {2, 2}), "[[ 1.   2.5]\n [-3.   4. ]]");
  EXPECT_EQ(print<float>({999999, 1000}), "[999999.   1000.]");
  EXPECT_EQ(print<double>({-0.0, 0.0}), "[-0.  0.]");
}

TEST_F(ArrayPrint, ShowsTheFewestDigitsThatTellValuesApart) {
  EXPECT_EQ(print<double>({1.0 / 3, 2.0 / 3, 1}), "[0.33333333 0.66666667 1.        ]");
  EXPECT_EQ(print<float>({1.0f / 3, 2.0f / 3, 1}), "[0.33333334 0.6666667  1.        ]");
  EXPECT_EQ(print<Half>({Half(0.1f), Half(1.0f / 3), Half(512)}), "[9.998e-02 3.333e-01 5.120e+02]");
}

TEST_F(ArrayPrint, TakesAnExponentForAllIfOneNeedsIt) {
  EXPECT_EQ(print<double>({1e-10, 1, 1e10}), "[1.e-10 1.e+00 1.e+10]");
  EXPECT_EQ(print<double>({1e-100, 1.5, -1e10 / 3}), "[ 1.00000000e-100  1.50000000e+000 -3.33333333e+009]");
  EXPECT_EQ(print<float>({1234567, 1}), "[1.234567e+06 1.000000e+00]");
  EXPECT_EQ(print<float>({0.1f, 1.23456789e-5f}), "[1.0000000e-01 1.2345679e-05]");
  EXPECT_EQ(print<double>({123.456789012345, 1e-3}), "[1.23456789e+02 1.00000000e-03]");
}

TEST_F(ArrayPrint, WritesNanAndInfinity) {
  EXPECT_EQ(print<float>({1, NAN, -INFINITY, INFINITY}), "[  1.  nan -inf  inf]");
  EXPECT_EQ(print<double>({NAN, kInfinity}), "[nan inf]");
  EXPECT_EQ(print<double>({1e20, NAN, -kInfinity}), "[1.e+20    nan   -inf]");
}

TEST_F(ArrayPrint, WritesIntegersAndTruth) {
  EXPECT_EQ(print<std::int8_t>({-100, 5, 17}), "[-100    5   17]");
  EXPECT_EQ(print<std::uint64_t>({UINT64_MAX, 0}), "[18446744073709551615                    0]");
  const bool truth[] = {true, false};
  EXPECT_EQ(to_string(Array::from(std::span<const bool>(truth), {2}, Device(&backend))), "[ True False]");
}

TEST_F(ArrayPrint, WritesOneElementWithoutBrackets) {
  const Device device(&backend);
  EXPECT_EQ(to_string(Array::scalar(1.5f, device)), "1.5");
  EXPECT_EQ(to_string(Array::scalar(2.0, device)), "2.0");
  EXPECT_EQ(to_string(Array::scalar(1e20, device)), "1e+20");
  EXPECT_EQ(to_string(Array::scalar(-1.25e-7, device)), "-1.25e-07");
  EXPECT_EQ(to_string(Array::scalar(0.1f, device)), "0.1");
  EXPECT_EQ(to_string(Array::scalar(1.0 / 3, device)), "0.3333333333333333");
  EXPECT_EQ(to_string(Array::scalar(1e15, device)), "1000000000000000.0");
  EXPECT_EQ(to_string(Array::scalar(123456789.0f, device)), "1.2345679e+08");
  EXPECT_EQ(to_string(Array::scalar(1e-5 / 3, device)), "3.3333333333333337e-06");
  EXPECT_EQ(to_string(Array::scalar(Half(2048.0f), device)), "2.048e+03");
  EXPECT_EQ(to_string(Array::scalar(7, device)), "7");
  EXPECT_EQ(to_string(Array::scalar(true, device)), "True");
}

TEST_F(ArrayPrint, WritesArraysWithoutElements) {
  EXPECT_EQ(print<float>({}, {0, 3}), "[]");
  EXPECT_EQ(to_string(Array()), "empty Array");
}

TEST_F(ArrayPrint, SeparatesPlanesByAnEmptyLine) {
  EXPECT_EQ(to_string(range(int64, {2, 2, 2})), "[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]");
}

TEST_F(ArrayPrint, BreaksLongLines) {
  EXPECT_EQ(to_string(range(float32, {40})),
            "[ 0.  1.  2.  3.  4.  5.  6.  7.  8.  9. 10. 11. 12. 13. 14. 15. 16. 17.\n"
            " 18. 19. 20. 21. 22. 23. 24. 25. 26. 27. 28. 29. 30. 31. 32. 33. 34. 35.\n"
            " 36. 37. 38. 39.]");
  std::vector<std::int64_t> values;
  for (int i = 0; i < 60; ++i) values.push_back(1000 * i);
  EXPECT_EQ(print(values, {2, 30}),
            "[[    0  1000  2000  3000  4000  5000  6000  7000  8000  9000 10000 11000\n"
            "  12000 13000 14000 15000 16000 17000 18000 19000 20000 21000 22000 23000\n"
            "  24000 25000 26000 27000 28000 29000]\n"
            " [30000 31000 32000 33000 34000 35000 36000 37000 38000 39000 40000 41000\n"
            "  42000 43000 44000 45000 46000 47000 48000 49000 50000 51000 52000 53000\n"
            "  54000 55000 56000 57000 58000 59000]]");
}

TEST_F(ArrayPrint, ShowsTheEdgesOfLongArrays) {
  EXPECT_EQ(to_string(range(int64, {2000})), "[   0    1    2 ... 1997 1998 1999]");
  EXPECT_EQ(to_string(range(float32, {1200, 8})),
            "[[0.000e+00 1.000e+00 2.000e+00 ... 5.000e+00 6.000e+00 7.000e+00]\n"
            " [8.000e+00 9.000e+00 1.000e+01 ... 1.300e+01 1.400e+01 1.500e+01]\n"
            " [1.600e+01 1.700e+01 1.800e+01 ... 2.100e+01 2.200e+01 2.300e+01]\n"
            " ...\n"
            " [9.576e+03 9.577e+03 9.578e+03 ... 9.581e+03 9.582e+03 9.583e+03]\n"
            " [9.584e+03 9.585e+03 9.586e+03 ... 9.589e+03 9.590e+03 9.591e+03]\n"
            " [9.592e+03 9.593e+03 9.594e+03 ... 9.597e+03 9.598e+03 9.599e+03]]");
  EXPECT_EQ(to_string(range(int64, {2, 500, 2})),
            "[[[   0    1]\n  [   2    3]\n  [   4    5]\n  ...\n  [ 994  995]\n  [ 996  997]\n  [ 998  999]]\n\n"
            " [[1000 1001]\n  [1002 1003]\n  [1004 1005]\n  ...\n  [1994 1995]\n  [1996 1997]\n  [1998 1999]]]");
}

TEST_F(ArrayPrint, FetchesOnlyWhatItShowsFromAGpu) {
  HostBackend gpu("cuda:0", DeviceKind::kCuda);
  const Array large = Array::zeros({1000, 1000}, float32, Device(&gpu));
  gpu.copied_bytes = 0;
  to_string(large);
  EXPECT_EQ(gpu.copied_bytes, 6u * 6 * 4);
}

TEST_F(ArrayPrint, PrintsToStreams) {
  std::ostringstream out;
  out << range(int64, {3});
  EXPECT_EQ(out.str(), "[0 1 2]");
}

}  // namespace
}  // namespace damo
