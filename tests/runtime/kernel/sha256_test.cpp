// Expected digests: the examples of FIPS 180-2 (appendix B) and NIST's example of the empty message.
#include "runtime/kernel/sha256.hpp"

#include <gtest/gtest.h>

namespace damo {
namespace {

std::string sha256(std::string_view text) { return Sha256().update(text).hex(); }

TEST(Sha256, GivesTheDigestsOfTheStandard) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnHowTheMessageIsCut) {
  const std::string text(300, 'x');
  for (std::size_t length = 0; length <= 130; ++length) {  // both sides of where the padding needs a block of its own
    const std::string message = text.substr(0, length);
    for (std::size_t cut = 0; cut <= length; cut += 7) {
      EXPECT_EQ(Sha256().update(message.substr(0, cut)).update(message.substr(cut)).hex(), sha256(message))
          << length << ' ' << cut;
    }
  }
}

TEST(Sha256, PadsLengthsAroundABlockAsCoreutilsDoes) {  // sha256sum of that many letters a
  EXPECT_EQ(sha256(std::string(55, 'a')), "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  EXPECT_EQ(sha256(std::string(56, 'a')), "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
  EXPECT_EQ(sha256(std::string(64, 'a')), "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}

TEST(Sha256, TellsFieldsApart) {
  EXPECT_NE(Sha256().update_field("ab").update_field("c").hex(), Sha256().update_field("a").update_field("bc").hex());
}

}  // namespace
}  // namespace damo
