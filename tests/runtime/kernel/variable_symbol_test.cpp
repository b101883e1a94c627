// Variables' names in a program and in compiled code.
#include "runtime/kernel/variable_symbol.hpp"

#include <gtest/gtest.h>

namespace damo {
namespace {

TEST(VariableSymbol, IsReadAsTheProgramSaysIt) {
  EXPECT_EQ(variable_name("mask"), "mask");
  EXPECT_EQ(variable_name("_ZL4mask"), "mask");
  EXPECT_EQ(variable_name("_Z4maskIfE"), "mask<float>");
  EXPECT_EQ(variable_name("_ZN5space5tableE"), "space::table");
  EXPECT_EQ(variable_name("_ZN12_GLOBAL__N_14maskE"), "mask");
  EXPECT_EQ(variable_name("_ZN32_INTERNAL_00000000_4_u_cu__Z1kPf34_GLOBAL__N__00000000_4_u_cu__Z1kPf1mE"), "m");
  EXPECT_EQ(variable_name("_Zno"), "_Zno");
}

TEST(VariableSymbol, IsFoundByItsNameOrTheEndOfIt) {
  const std::vector<std::string> symbols = {"factor", "_Z4maskIfE", "_Z4maskIdE", "_ZN5space5tableE", "_ZN1a1nE", "_ZN1b1nE"};
  EXPECT_EQ(find_variable(symbols, "factor"), "factor");
  EXPECT_EQ(find_variable(symbols, "mask< double >"), "_Z4maskIdE");
  EXPECT_EQ(find_variable(symbols, "table"), "_ZN5space5tableE");
  EXPECT_EQ(find_variable(symbols, "a::n"), "_ZN1a1nE");
  EXPECT_EQ(find_variable(symbols, "n"), "") << "two have that name";
  EXPECT_EQ(find_variable(symbols, "mask"), "");
}

}  // namespace
}  // namespace damo
