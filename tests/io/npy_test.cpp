#include <damo/io/npy.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/files.hpp"
#include "support/devices.hpp"
#include "support/scratch_directory.hpp"

using namespace damo;
using namespace damo::testing;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

class NpyOnEachDevice : public OnEachDevice {};
DAMO_ON_EACH_DEVICE(NpyOnEachDevice);

TEST_P(NpyOnEachDevice, KeepsEveryDtypeBitForBit) {
  const ScratchDirectory folder;
  for (const DType dtype : kAllDTypes) {
    if (dtype == bfloat16 || is_float8(dtype)) continue;
    const Array x = extremes(dtype, device());
    npy::save(folder / "x.npy", x);
    const Array y = npy::load(folder / "x.npy", device());
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_EQ(y.shape(), x.shape());
    EXPECT_EQ(bits(y), bits(x)) << name(dtype);
  }
}

TEST_P(NpyOnEachDevice, WritesViewsInCOrder) {
  const ScratchDirectory folder;
  const Array x = range({4, 3}).transpose().slice({{0, 3, 2}});
  npy::save(folder / "x.npy", x);
  EXPECT_THAT(npy::load(folder / "x.npy", device()).to_vector<float>(), ElementsAre(0, 3, 6, 9, 2, 5, 8, 11));
}

TEST_P(NpyOnEachDevice, ReadsWhatNumPyWrote) {
  const auto load = [&](const char* name) { return npy::load(others_file(name), device()); };
  EXPECT_THAT(load("float32.npy").to_vector<float>(), ElementsAre(0, .5, 1, 1.5, 2, 2.5));
  EXPECT_EQ(load("float32.npy").shape(), (Shape{2, 3}));
  EXPECT_THAT(load("big_endian.npy").to_vector<double>(), ElementsAre(0, .5, 1, 1.5, 2, 2.5));
  EXPECT_THAT(load("fortran.npy").to_vector<std::int16_t>(), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(load("fortran.npy").shape(), (Shape{2, 3}));
  EXPECT_THAT(load("bool.npy").to_vector<bool>(), ElementsAre(true, false, true));
  EXPECT_EQ(load("rank0.npy").item().as_int(), -7);
  EXPECT_EQ(load("rank0.npy").rank(), 0);
  EXPECT_EQ(load("empty.npy").shape(), (Shape{0, 4}));
  EXPECT_EQ(load("version2.npy").dtype(), float16);
  EXPECT_THAT(load("version2.npy").to_doubles(), ElementsAre(0, .5, 1, 1.5, 2, 2.5));
}

TEST(Npy, WritesTheBytesThatNumPyWrites) {
  const ScratchDirectory folder;
  for (const char* name : {"float32.npy", "bool.npy", "rank0.npy", "empty.npy"}) {
    npy::save(folder / name, npy::load(others_file(name), Device("cpu")));
    EXPECT_EQ(bytes_of(folder / name), bytes_of(others_file(name))) << name;
  }
}

TEST(Npy, HasNoBfloat16) {
  const Array x = Array::zeros({2}, bfloat16, Device("cpu"));
  EXPECT_THAT(error_of<TypeError>([&] { npy::save("/nowhere/x.npy", x); }), AllOf(HasSubstr("NumPy has no bfloat16"), HasSubstr("astype(x, float32)")));
  EXPECT_THAT(error_of<TypeError>([&] { npy::save("/nowhere/x.npy", Array::zeros({2}, float8_e5m2, Device("cpu"))); }), AllOf(HasSubstr("NumPy has no float8_e5m2"), HasSubstr("astype(x, float32)")));
}

TEST(Npy, NamesWhatDamoHasNoDtypeFor) {
  const auto error = [](const char* name) { return error_of<FileError>([&] { npy::load(others_file(name), Device("cpu")); }); };
  EXPECT_THAT(error("complex.npy"), HasSubstr("complex.npy: byte 20: expected one of Damo's dtypes, found '<c8'"));
  EXPECT_THAT(error("records.npy"), HasSubstr("records.npy: byte 20: expected one of Damo's dtypes, found records"));
}

TEST(Npy, TakesADtypeUnderAnyNameThatNumPyHasForIt) {
  const ScratchDirectory folder;
  const auto read = [&](const std::string& descr, std::size_t bytes) {
    std::string head = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (1,), }";
    head.resize(117, ' ');
    const std::string elements = std::string("\x01\x02\x03\x04\x05\x06\x07\x3f", 8).substr(8 - bytes);
    return npy::load(write_bytes(folder / "x.npy", "\x93NUMPY\x01" + std::string("\0\x76\0", 3) + head + '\n' + elements), Device("cpu"));
  };
  const std::pair<const char*, DType> same[] = {{"f4", float32}, {"<f4", float32}, {"=f4", float32}, {"|f4", float32}, {"f", float32}, {"<f", float32}, {"float32", float32}, {"single", float32}, {"float", float64}, {"d", float64},
                                                {"e", float16}, {"u1", uint8}, {"B", uint8}, {"i8", int64}, {"q", int64}, {"int", int64}, {"uint16", uint16}, {"H", uint16}, {"i", int32}};
  for (const auto& [descr, dtype] : same) EXPECT_EQ(bits(read(descr, itemsize(dtype))), bits(read("<" + std::string(1, is_floating(dtype) ? 'f' : is_signed(dtype) ? 'i' : 'u') + std::to_string(itemsize(dtype)), itemsize(dtype)))) << descr;
  for (const auto& [descr, dtype] : same) EXPECT_EQ(read(descr, itemsize(dtype)).dtype(), dtype) << descr;
  EXPECT_EQ(read(">h", 2).item().as_int(), 0x073f);
  EXPECT_EQ(read("h", 2).item().as_int(), 0x3f07);
  for (const char* descr : {"", "f5", "<float32", "@f4", " f4", "f4 ", "complex64", "U1", "O", "<"}) EXPECT_THAT(error_of<FileError>([&] { read(descr, 4); }), HasSubstr("byte 20: expected one of Damo's dtypes, found '" + std::string(descr) + "'")) << descr;
}

TEST(Npy, SaysAtWhichByteAFileIsWrong) {
  const ScratchDirectory folder;
  const std::string good = bytes_of(others_file("float32.npy")), path = folder / "x.npy";
  const auto error = [&](const std::string& bytes) {
    write_bytes(path, bytes);
    return error_of<FileError>([&] { npy::load(path, Device("cpu")); });
  };
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string bytes = good;
    return bytes.replace(bytes.find(from), from.size(), to);
  };
  EXPECT_EQ(error(""), "npy: " + path + ": byte 0: expected 8 bytes of npy's first bytes, the file ends after 0");
  EXPECT_EQ(error("not one, this file"), "npy: " + path + ": byte 0: expected an npy file, which begins with \\x93NUMPY");
  EXPECT_THAT(error(with(std::string("\x01\0", 2), std::string("\x09\0", 2))), HasSubstr("byte 6: expected version 1, 2 or 3, found 9"));
  EXPECT_THAT(error(good.substr(0, 60)), HasSubstr("byte 10: expected 118 bytes of the head, the file ends after 50"));
  EXPECT_THAT(error(good.substr(0, 150)), HasSubstr("byte 128: expected 24 bytes of elements, float32 (2, 3), the file ends after 22"));
  EXPECT_THAT(error(good + "x"), HasSubstr("byte 152: expected the end of the file, more bytes follow"));
  EXPECT_THAT(error(with("(2, 3), ", "(2, -3),")), HasSubstr("expected extents of 0 and more, found -3"));
  EXPECT_THAT(error(with("(2, 3), }   ", "(9999999,3)}")), HasSubstr("expected 119999988 bytes of elements, float32 (9999999, 3), the file ends after 24"));
  EXPECT_THAT(error(with("(2, 3), }                              ", "(9999999999999, 3, 3, 9999999999999)}  ")), HasSubstr("expected a shape that memory can have"));
  EXPECT_THAT(error(with("'shape'", "'shopa'")), HasSubstr("expected one each of 'descr', 'fortran_order' and 'shape'"));
  EXPECT_THAT(error(with("False", "Flase")), HasSubstr("expected False in the head"));
  EXPECT_THAT(error(with("False", "None ")), HasSubstr("expected False in the head"));
  std::string bools = bytes_of(others_file("bool.npy"));
  bools.back() = 7;
  EXPECT_THAT(error(bools), HasSubstr("byte 130: expected a bool, 0 or 1, found 7"));
}

TEST(Npy, ADamagedHeadLengthTakesNoMemory) {
  const ScratchDirectory folder;
  const std::string path = write_bytes(folder / "x.npy", std::string("\x93NUMPY\x02\x00\xff\xff\xff\x7f{", 13));
  EXPECT_THAT(error_of<FileError>([&] { npy::load(path, Device("cpu")); }), HasSubstr("byte 12: expected a head of at most 65536 bytes, found 2147483647"));
}

TEST(Npy, SaysWhichFileCannotBeOpened) {
  EXPECT_EQ(error_of<FileError>([] { npy::load("/nowhere/x.npy", Device("cpu")); }), "npy: /nowhere/x.npy: byte 0: cannot be opened: No such file or directory");
  EXPECT_THAT(error_of<FileError>([] { npy::load("/tmp", Device("cpu")); }), HasSubstr("npy: /tmp: byte 0: expected a file, found a folder"));
}

TEST(NamedArrays, SayWhichNamesThereAre) {
  const Array x = Array::zeros({2}, float32, Device("null"));
  NamedArrays arrays{{"layer/w", x}, {"layer/b\x1b", x}};
  EXPECT_EQ(arrays.at("layer/w").shape(), (Shape{2}));
  EXPECT_EQ(error_of<FileError>([&] { arrays.at("layer/v"); }), "NamedArrays: there is no 'layer/v'; there are\n  layer/b\\x1b float32 (2,) on null, layer/w float32 (2,) on null\n  the nearest is 'layer/w'");
  EXPECT_EQ(error_of<FileError>([] { const NamedArrays none; none.at("\n"); }), "NamedArrays: there is no '\\x0a', nor any other");
  for (int i = 0; i < 30; ++i) arrays.emplace("more " + std::to_string(10 + i), x);
  EXPECT_THAT(error_of<FileError>([&] { arrays.at("?"); }), HasSubstr("more 27 float32 (2,) on null, and 12 more"));
}

}  // namespace
