#include <damo/profile.hpp>

#include <sstream>

#include <gtest/gtest.h>

namespace damo {
namespace {

TEST(ProfileText, IsATableOfCallsTimesAndBytes) {
  Profile profile{"cpu", 2, 3.5, 20e9, {{"add", "model.cpp:12", 2, 2.0, 20'000'000}, {"transfer", "", 2, 0, 0}}};
  const std::string expected =
      "profile on cpu: 2 calls, 3.500 ms on the host; the device's copy: 20.0 GB/s\n"
      "  op        calls  us/call     bytes  GB/s  of copy  line\n"
      "  add           2   1000.0  9.54 MiB  10.0     50 %  model.cpp:12\n"
      "  transfer      2      0.0       0 B     -        -\n";
  EXPECT_EQ(to_string(profile), expected);
  std::ostringstream out;
  out << profile;
  EXPECT_EQ(out.str(), expected);
}

}  // namespace
}  // namespace damo
