#include <damo/profile.hpp>

#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

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

TEST(ProfileText, OfAnyNameIsATraceInJson) {
  Profile profile{"cpu\n", 1, 1, 0, {{"a\"\\\x1b\xFF\xC3\xA9", "", 1, 1, 8}}};
  profile.spans = {{.row = 0, .call = 0, .start_milliseconds = 0, .milliseconds = 1}};
  const auto trace = nlohmann::json::parse(profile.chrome_trace())["traceEvents"];
  EXPECT_EQ(trace[0]["args"]["name"], "cpu\xEF\xBF\xBD");
  EXPECT_EQ(trace[1]["name"], "a\"\\\xEF\xBF\xBD\xEF\xBF\xBD\xC3\xA9");
}

}  // namespace
}  // namespace damo
