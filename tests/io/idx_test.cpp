#include <damo/io/idx.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#if DAMO_HAS_ZLIB
#include <zlib.h>
#endif

#include "io/files.hpp"
#include "support/devices.hpp"
#include "support/scratch_directory.hpp"

using namespace damo;
using namespace damo::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

class IdxOnEachDevice : public OnEachDevice {};
DAMO_ON_EACH_DEVICE(IdxOnEachDevice);

TEST_P(IdxOnEachDevice, ReadsBigEndianNumbers) {
  const Array x = idx::load(others_file("int16.idx"), device());
  EXPECT_EQ(x.shape(), (Shape{2, 3}));
  EXPECT_THAT(x.to_vector<std::int16_t>(), ElementsAre(1, -2, 3, 300, -400, 500));
}

TEST_P(IdxOnEachDevice, KeepsItsDtypes) {
  const ScratchDirectory folder;
  for (const DType dtype : {uint8, int8, int16, int32, float32, float64}) {
    const Array x = extremes(dtype, device());
    idx::save(folder / "x.idx", x);
    EXPECT_EQ(bits(idx::load(folder / "x.idx", device())), bits(x)) << name(dtype);
  }
  EXPECT_THAT(error_of<TypeError>([&] { idx::save(folder / "x.idx", extremes(int64, device())); }), HasSubstr("IDX has no int64"));
}

#if DAMO_HAS_ZLIB
TEST_P(IdxOnEachDevice, ReadsAndWritesCompressedFiles) {
  const ScratchDirectory folder;
  const Array x = idx::load(others_file("int16.idx.gz"), device());
  EXPECT_EQ(bits(x), bits(idx::load(others_file("int16.idx"), device())));
  const Array large = Array::zeros({300, 28, 28}, uint8, device());
  idx::save(folder / "large.idx.gz", large);
  EXPECT_LT(bytes_of(folder / "large.idx.gz").size(), 2000u);
  EXPECT_EQ(bits(idx::load(folder / "large.idx.gz", device())), bits(large));
}

TEST(Idx, ADamagedCompressedFileIsAnError) {
  const ScratchDirectory folder;
  const std::string good = bytes_of(others_file("int16.idx.gz")), path = folder / "x.idx.gz";
  const auto error = [&](const std::string& bytes) {
    write_bytes(path, bytes);
    return error_of<FileError>([&] { idx::load(path, Device("cpu")); });
  };
  EXPECT_THAT(error(good.substr(0, 30)), HasSubstr("x.idx.gz: byte "));
  EXPECT_THAT(error(good.substr(0, 30)), HasSubstr("cannot be unpacked: unexpected end of file"));
  std::string changed = good;
  changed[good.size() - 6] ^= 1;  // of the checksum
  EXPECT_THAT(error(changed), HasSubstr("cannot be unpacked: incorrect data check"));
}

TEST(Idx, ReadsGzipMembersOneAfterAnotherAndRefusesWhatFollowsTheLast) {
  const ScratchDirectory folder;
  const std::string good = bytes_of(others_file("int16.idx.gz")), path = folder / "x.idx.gz";
  const auto load = [&](const std::string& bytes) {
    write_bytes(path, bytes);
    return idx::load(path, Device("cpu"));
  };
  const auto member = [&](const std::string& text) {  // one stored block
    const auto length = static_cast<std::uint16_t>(text.size()), inverse = static_cast<std::uint16_t>(~length);
    const std::uint32_t sum = static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size()))), size = static_cast<std::uint32_t>(text.size());
    std::string packed("\x1f\x8b\x08\0\0\0\0\0\0\x03\x01", 11);
    packed.append(reinterpret_cast<const char*>(&length), 2).append(reinterpret_cast<const char*>(&inverse), 2).append(text);
    return packed.append(reinterpret_cast<const char*>(&sum), 4).append(reinterpret_cast<const char*>(&size), 4);
  };
  const std::string plain = bytes_of(others_file("int16.idx"));
  EXPECT_THAT(load(member(plain.substr(0, 15)) + member("") + member(plain.substr(15))).to_vector<std::int16_t>(), ElementsAre(1, -2, 3, 300, -400, 500));
  EXPECT_THAT(load(good + member("")).to_vector<std::int16_t>(), ElementsAre(1, -2, 3, 300, -400, 500));
  const std::string other = "expected the end of the file or another gzip member, other bytes follow", whole = "byte 24: ";
  for (const std::string& rest : {std::string("garbage"), std::string("?"), std::string(512, '\0'), std::string("\x1f"), std::string("\x1f?")}) EXPECT_THAT(error_of<FileError>([&] { load(good + rest); }), HasSubstr(whole + other));
  EXPECT_THAT(error_of<FileError>([&] { load(good + member("?")); }), HasSubstr(whole + "expected the end of the file, more bytes follow"));
  EXPECT_THAT(error_of<FileError>([&] { load(good + member("").substr(0, 12)); }), HasSubstr("cannot be unpacked: unexpected end of file"));
}

TEST(Idx, ACompressedFileThatClaimsTooMuchTakesLittleMemory) {
  const ScratchDirectory folder;
  Array x = Array::zeros({100}, uint8, Device("cpu"));
  idx::save(folder / "small.idx", x);
  std::string bytes = bytes_of(folder / "small.idx");
  bytes[4] = '\x7f';  // 2 GB, of which there are 100 bytes
  // As gzip writes what it cannot pack: one stored block.
  std::string packed("\x1f\x8b\x08\0\0\0\0\0\0\x03\x01", 11);
  const auto length = static_cast<std::uint16_t>(bytes.size()), inverse = static_cast<std::uint16_t>(~length);
  packed.append(reinterpret_cast<const char*>(&length), 2).append(reinterpret_cast<const char*>(&inverse), 2);
  packed += bytes + std::string(8, '\0');
  write_bytes(folder / "x.idx.gz", packed);
  Device("cpu").reset_peak();
  EXPECT_THAT(error_of<FileError>([&] { idx::load(folder / "x.idx.gz", Device("cpu")); }), HasSubstr("x.idx.gz: byte "));
  EXPECT_LT(Device("cpu").memory().peak_bytes, std::size_t{1} << 20);
}
#endif

TEST(Idx, SaysAtWhichByteAFileIsWrong) {
  const ScratchDirectory folder;
  const std::string good = bytes_of(others_file("int16.idx")), path = folder / "x.idx";
  const auto error = [&](const std::string& bytes) {
    write_bytes(path, bytes);
    return error_of<FileError>([&] { idx::load(path, Device("cpu")); });
  };
  EXPECT_EQ(error(good.substr(0, 20)), "idx: " + path + ": byte 12: expected 12 bytes of elements, int16 (2, 3), the file ends after 8");
  EXPECT_THAT(error(good + "?"), HasSubstr("byte 24: expected the end of the file, more bytes follow"));
  EXPECT_THAT(error("x" + good), HasSubstr("byte 0: expected an IDX file, which begins with two zeros"));
  EXPECT_THAT(error(std::string("\0\0\x0a\x01", 4)), HasSubstr("byte 2: expected the code of a dtype (8, 9, 11 to 14), found 10"));
  EXPECT_THAT(error(std::string("\0\0\x08\x11", 4) + std::string(4 * 17, '\1')), HasSubstr("expected at most 16 axes, found 17"));
  EXPECT_THAT(error(std::string("\0\0\x08\x03", 4) + std::string(12, '\xff')), HasSubstr("expected a shape that memory can have"));
}

TEST(Idx, ReadsAFolderOfFourFiles) {
  const ScratchDirectory folder;
  const auto save = [&](const char* name, const Array& array) { idx::save(folder / name, array); };
  save("train-images-idx3-ubyte", Array::full({3, 2, 2}, 7, uint8, Device("cpu")));
  save("train-labels-idx1-ubyte", Array::full({3}, 9, uint8, Device("cpu")));
  save("t10k-images-idx3-ubyte", Array::zeros({2, 2, 2}, uint8, Device("cpu")));
  EXPECT_EQ(error_of<FileError>([&] { idx::load_set(folder.path(), Device("cpu")); }),
            "idx: " + folder / "t10k-labels-idx1-ubyte" + " is not there, nor with .gz\n  idx::load reads a file of any name");
  save("t10k-labels-idx1-ubyte", Array::zeros({2}, uint8, Device("cpu")));
  const auto [train_images, train_labels, test_images, test_labels] = idx::load_set(folder.path(), Device("cpu"));
  EXPECT_EQ(train_images.shape(), (Shape{3, 2, 2}));
  EXPECT_THAT(train_labels.to_vector<std::int64_t>(), ElementsAre(9, 9, 9));
  EXPECT_EQ(test_images.dtype(), uint8);
  EXPECT_EQ(test_labels.dtype(), int64);
}

}  // namespace
