#include "runtime/cuda/code_container.hpp"

#include <gtest/gtest.h>

#include <damo/error.hpp>

namespace damo::cuda_backend {
namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

TEST(CodeContainer, StoresCodeWithoutNamesBare) {
  const CodeContainer container{.names = {}, .code = bytes_of("\177ELF code")};
  EXPECT_EQ(pack(container), container.code);
  EXPECT_EQ(unpack(container.code).code, container.code);
}

TEST(CodeContainer, GivesBackNamesAndCode) {
  const CodeContainer container{.names = {{"scale<float>", {"_Z5scaleIfEvPT_", true, "float*"}},
                                          {"f", {"_Z1fv", true, ""}},
                                          {"g", {"g", true, std::nullopt}},
                                          {"table", {"table", false, std::nullopt}}},
                                .code = bytes_of("code")};
  const CodeContainer again = unpack(pack(container));
  ASSERT_EQ(again.names.size(), container.names.size());
  for (const auto& [name, known] : container.names) {
    EXPECT_EQ(again.names.at(name).lowered, known.lowered) << name;
    EXPECT_EQ(again.names.at(name).is_kernel, known.is_kernel) << name;
    EXPECT_EQ(again.names.at(name).parameters, known.parameters) << name;
  }
  EXPECT_EQ(again.code, container.code);
}

TEST(CodeContainer, RefusesOneThatIsCutShortAnywhereInItsNames) {
  const CodeContainer container{.names = {{"scale<float>", {"_Z5scaleIfEvPT_", true, "float*"}}}, .code = {}};
  const std::vector<std::byte> whole = pack(container);
  for (std::size_t size = 8; size < whole.size(); ++size) {  // below 8 there is no mark of a container
    EXPECT_THROW(unpack(std::span(whole).first(size)), DeviceError) << size;
  }
  EXPECT_NO_THROW(unpack(whole));
}

}  // namespace
}  // namespace damo::cuda_backend
