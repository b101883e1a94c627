#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/io/npy.hpp>

#include "io/files.hpp"
#include "support/devices.hpp"
#include "support/scratch_directory.hpp"

using namespace damo;
using namespace damo::testing;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

#if DAMO_HAS_ZIP

class NpzOnEachDevice : public OnEachDevice {};
DAMO_ON_EACH_DEVICE(NpzOnEachDevice);

TEST_P(NpzOnEachDevice, ReadsWhatNumPyWrote) {
  const NamedArrays two = npz::load(others_file("two.npz"), device());
  ASSERT_EQ(two.size(), 2u);
  EXPECT_THAT(two.at("x").to_vector<float>(), ElementsAre(0, .5, 1, 1.5, 2, 2.5));
  EXPECT_THAT(two.at("labels").to_vector<std::uint64_t>(), ElementsAre(3, 1, 2));
  const NamedArrays packed = npz::load(others_file("compressed.npz"), device());
  EXPECT_EQ(packed.at("zeros").shape(), (Shape{50, 40}));
  EXPECT_EQ(bits(packed.at("x")), bits(two.at("x")));
}

TEST_P(NpzOnEachDevice, KeepsNamedArrays) {
  const ScratchDirectory folder;
  NamedArrays arrays{{"layer/w", extremes(float64, device())}, {"layer/b", extremes(int8, device())}, {"empty", Array::zeros({0, 2}, float32, device())}};
  for (const bool compressed : {false, true}) {
    npz::save(folder / "x.npz", arrays, compressed);
    const NamedArrays back = npz::load(folder / "x.npz", device());
    ASSERT_EQ(back.size(), 3u);
    for (const auto& [name, array] : arrays) {
      EXPECT_EQ(back.at(name).shape(), array.shape());
      EXPECT_EQ(bits(back.at(name)), bits(array)) << name;
    }
  }
  npz::save(folder / "none.npz", {});
  EXPECT_TRUE(npz::load(folder / "none.npz", device()).empty());
}

TEST(Npz, RefusesNamesThatAZipFileCannotHold) {
  const ScratchDirectory scratch;
  const Array x = Array::ones({2}, float32, Device("null"));
  EXPECT_THAT(error_of<OptionError>([&] { npz::save(scratch / "a.npz", {{std::string("a\0b", 3), x}}); }), HasSubstr("npz: the name of an array holds a byte of value 0: 'a\\x00b'"));
  EXPECT_THAT(error_of<OptionError>([&] { npz::save(scratch / "a.npz", {{std::string(65532, 'n'), x}}); }), HasSubstr("npz: the name of an array has 65532 bytes: 'nnn"));
  for (const std::string name : {"a\x1b", "a\xFF"}) EXPECT_THAT(error_of<FileError>([&] { npz::save(scratch / "a.npz", {{name, x}}); }), HasSubstr("a zip file's names are UTF-8 without control characters, this is 'a\\x"));
  const std::string longest(65531, 'n');
  npz::save(scratch / "b.npz", {{longest, x}});
  EXPECT_EQ(npz::load(scratch / "b.npz", Device("null")).begin()->first, longest);
}

TEST(Npz, EqualArraysMakeEqualFiles) {
  const ScratchDirectory folder;
  const NamedArrays arrays{{"x", extremes(float32, Device("cpu"))}};
  npz::save(folder / "a.npz", arrays);
  npz::save(folder / "b.npz", arrays);
  EXPECT_EQ(bytes_of(folder / "a.npz"), bytes_of(folder / "b.npz"));
}

TEST(Npz, NamesTheMemberThatIsDamaged) {
  const ScratchDirectory folder;
  std::string bytes = bytes_of(others_file("two.npz"));
  bytes[bytes.find("NUMPY") + 150] ^= 1;  // an element of x: only the archive's checksum tells
  const std::string path = write_bytes(folder / "x.npz", bytes);
  EXPECT_THAT(error_of<FileError>([&] { npz::load(path, Device("cpu")); }), HasSubstr("x.npz, member x.npy: byte "));
  EXPECT_THAT(error_of<FileError>([&] { npz::load(path, Device("cpu")); }), HasSubstr("CRC error"));
  write_bytes(path, bytes.substr(0, 200));
  EXPECT_THAT(error_of<FileError>([&] { npz::load(path, Device("cpu")); }), AnyOf(HasSubstr("x.npz: Not a zip archive"), HasSubstr("x.npz: Possibly truncated or corrupted zip archive")));
  EXPECT_THAT(error_of<FileError>([] { npz::load("/nowhere/x.npz", Device("cpu")); }), HasSubstr("npz: /nowhere/x.npz: No such file"));
}

TEST(Npz, RefusesAMemberThatIsThereTwice) {
  const ScratchDirectory folder;
  const Array x = Array::ones({2}, float32, Device("cpu"));
  npz::save(folder / "x.npz", {{"first", x}, {"other", x}});
  std::string bytes = bytes_of(folder / "x.npz");
  for (std::size_t at; (at = bytes.find("other.npy")) != bytes.npos;) bytes.replace(at, 5, "first");  // its own head has the name, and the directory
  write_bytes(folder / "x.npz", bytes);
  EXPECT_THAT(error_of<FileError>([&] { npz::load(folder / "x.npz", Device("cpu")); }), HasSubstr("x.npz: expected each member once"));
}

#else

TEST(Npz, SaysThatItNeedsLibzip) {
  EXPECT_THAT(error_of<FileError>([] { npz::load("x.npz", Device("cpu")); }), HasSubstr("has no libzip"));
}

#endif

}  // namespace
