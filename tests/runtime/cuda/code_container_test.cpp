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
  const CodeContainer container{.lowered_names = {}, .code = bytes_of("\177ELF code")};
  EXPECT_EQ(pack(container), container.code);
  EXPECT_EQ(unpack(container.code).code, container.code);
}

TEST(CodeContainer, GivesBackNamesAndCode) {
  const CodeContainer container{.lowered_names = {{"scale<float>", "_Z5scaleIfEvPT_"}, {"f", "_Z1fv"}},
                                .code = bytes_of("code")};
  const CodeContainer again = unpack(pack(container));
  EXPECT_EQ(again.lowered_names, container.lowered_names);
  EXPECT_EQ(again.code, container.code);
}

TEST(CodeContainer, RefusesOneThatIsCutShortAnywhereInItsNames) {
  const CodeContainer container{.lowered_names = {{"scale<float>", "_Z5scaleIfEvPT_"}}, .code = {}};
  const std::vector<std::byte> whole = pack(container);
  for (std::size_t size = 8; size < whole.size(); ++size) {  // below 8 there is no mark of a container
    EXPECT_THROW(unpack(std::span(whole).first(size)), DeviceError) << size;
  }
  EXPECT_NO_THROW(unpack(whole));
}

}  // namespace
}  // namespace damo::cuda_backend
