#include "graph/base/environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/error.hpp>

#include "support/scratch_directory.hpp"

namespace damo {
namespace {

constexpr const char* kName = "DAMO_TEST_SWITCH";

TEST(Environment, SwitchesOnByOneAlone) {
  for (const char* off : {"", "0"}) {
    const testing::Environment variable(kName, off);
    EXPECT_FALSE(is_switched_on(kName));
  }
  const testing::Environment none(kName, nullptr);
  EXPECT_FALSE(is_switched_on(kName));
  const testing::Environment on(kName, "1");
  EXPECT_TRUE(is_switched_on(kName));
}

TEST(Environment, RefusesASwitchThatIsNeitherOnNorOff) {
  for (const char* text : {"yes", "true", "2", " 1"}) {
    const testing::Environment variable(kName, text);
    try {
      is_switched_on(kName);
      FAIL() << text;
    } catch (const OptionError& error) {
      EXPECT_EQ(std::string(error.what()), std::string("DAMO_TEST_SWITCH is '") + text +
                                               "', which is neither 0 nor 1\n  DAMO_TEST_SWITCH=1 switches it on");
    }
  }
}

}  // namespace
}  // namespace damo
