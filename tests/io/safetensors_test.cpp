#include <damo/io/safetensors.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/files.hpp"
#include "support/devices.hpp"
#include "support/scratch_directory.hpp"

using namespace damo;
using namespace damo::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

class SafetensorsOnEachDevice : public OnEachDevice {};
DAMO_ON_EACH_DEVICE(SafetensorsOnEachDevice);

TEST_P(SafetensorsOnEachDevice, ReadsWhatItsOwnLibraryWrote) {
  const NamedArrays tensors = safetensors::load(others_file("numpy.safetensors"), device());
  ASSERT_EQ(tensors.size(), 4u);
  EXPECT_THAT(tensors.at("w").to_vector<float>(), ElementsAre(0, .5, 1, 1.5, 2, 2.5));
  EXPECT_EQ(tensors.at("half").dtype(), float16);
  EXPECT_THAT(tensors.at("half").to_doubles(), ElementsAre(0, .5, 1, 1.5, 2, 2.5));
  EXPECT_THAT(tensors.at("mask").to_vector<bool>(), ElementsAre(true, false));
  EXPECT_EQ(tensors.at("count").rank(), 0);
  EXPECT_EQ(tensors.at("count").item().as_int(), 5);
  EXPECT_THAT(safetensors::metadata(others_file("numpy.safetensors")), ElementsAre(std::pair<const std::string, std::string>("format", "np")));
}

TEST_P(SafetensorsOnEachDevice, KeepsEveryDtypeBitForBit) {
  const ScratchDirectory folder;
  NamedArrays tensors{{"empty", Array::zeros({3, 0}, float32, device())}, {"rank 0", Array::scalar(2.5, device())}, {"\"\n\xc3\xa4", range({2})}};
  for (const DType dtype : kAllDTypes) tensors.emplace(name(dtype), extremes(dtype, device()));
  safetensors::save(folder / "x.safetensors", tensors);
  const NamedArrays back = safetensors::load(folder / "x.safetensors", device());
  ASSERT_EQ(back.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    EXPECT_EQ(back.at(name).dtype(), tensor.dtype());
    EXPECT_EQ(back.at(name).shape(), tensor.shape());
    EXPECT_EQ(bits(back.at(name)), bits(tensor)) << name;
  }
  EXPECT_TRUE(safetensors::metadata(folder / "x.safetensors").empty());
}

TEST(Safetensors, WritesTheBytesThatItsOwnLibraryWrites) {
  const ScratchDirectory folder;
  const std::string theirs = others_file("numpy.safetensors");
  safetensors::save(folder / "x.safetensors", safetensors::load(theirs, Device("cpu")), safetensors::metadata(theirs));
  EXPECT_EQ(bytes_of(folder / "x.safetensors"), bytes_of(theirs));
}

TEST(Safetensors, SaysWhatAHeadIsAtFaultFor) {
  const ScratchDirectory folder;
  const std::string path = folder / "x.safetensors";
  const auto error_of_bytes = [&](const std::string& bytes) {
    write_bytes(path, bytes);
    return error_of<FileError>([&] { safetensors::load(path, Device("cpu")); });
  };
  const auto error = [&](const std::string& head, std::size_t bytes) {
    const std::uint64_t length = head.size();
    return error_of_bytes(std::string(reinterpret_cast<const char*>(&length), 8) + head + std::string(bytes, '\0'));
  };
  const std::string a = R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  EXPECT_EQ(error("{" + a + "}", 8), "nothing thrown");
  EXPECT_EQ(error("{" + a + "}", 7), "safetensors: " + path + ": byte 62: expected 8 bytes of elements, found 7");
  EXPECT_THAT(error("{" + a + "}", 9), HasSubstr("expected 8 bytes of elements, found 9"));
  EXPECT_THAT(error_of_bytes("short"), HasSubstr("byte 0: expected 8 bytes of the head's length, the file ends after 5"));
  EXPECT_THAT(error_of_bytes(std::string(8, '\xff') + "{}"), HasSubstr("byte 0: expected a head of at most 2 bytes, found 18446744073709551615"));
  EXPECT_THAT(error("{", 0), HasSubstr("expected JSON"));
  EXPECT_THAT(error("[]", 0), HasSubstr("expected a JSON object"));
  EXPECT_THAT(error(std::string(100000, '['), 0), HasSubstr("expected a JSON object"));
  EXPECT_THAT(error("{\"a\":{\"shape\":" + std::string(100000, '['), 0), HasSubstr("tensor a: expected dtype, a shape of at most 16 extents and two data_offsets, and nothing else"));
  EXPECT_THAT(error("{" + a + "," + a + "}", 8), HasSubstr("expected each name once, found a twice"));
  EXPECT_THAT(error(R"({"a":{"dtype":"F8_E8M0","shape":[2],"data_offsets":[0,2]}})", 2), HasSubstr("tensor a: expected one of Damo's dtypes, found F8_E8M0"));
  EXPECT_THAT(error(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8), HasSubstr("expected offsets 12 bytes apart, as F32 (3,) takes, found 0 and 8"));
  EXPECT_THAT(error(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8), HasSubstr("tensor a: expected dtype, a shape"));
  EXPECT_THAT(error(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", 0), HasSubstr("expected a shape that memory can have"));
  EXPECT_THAT(error(R"({"a":{"dtype":"F32","shape":[2]}})", 8), HasSubstr("tensor a: expected dtype, a shape"));
  EXPECT_THAT(error("{" + a + R"(,"b":{"dtype":"U8","shape":[2],"data_offsets":[9,11]}})", 11), HasSubstr("tensor b: expected it to begin at 8, where the one before ends, found 9"));
  EXPECT_THAT(error("{" + a + R"(,"b":{"dtype":"U8","shape":[2],"data_offsets":[4,6]}})", 8), HasSubstr("tensor b: expected it to begin at 8"));
  EXPECT_THAT(error(R"({"__metadata__":{"n":1}})", 0), HasSubstr("expected texts, each of a name of its own, as __metadata__"));
}

TEST(Safetensors, RefusesNamesThatTheFormatLacks) {
  const ScratchDirectory folder;
  const Array x = Array::zeros({1}, float32, Device("cpu"));
  EXPECT_THAT(error_of<OptionError>([&] { safetensors::save(folder / "x", {{"__metadata__", x}}); }), HasSubstr("no tensor may be called __metadata__"));
  EXPECT_THAT(error_of<FileError>([&] { safetensors::save(folder / "x", {{"\xff", x}}); }), HasSubstr("is not UTF-8"));
}

}  // namespace
