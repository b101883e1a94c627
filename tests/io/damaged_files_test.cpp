// Files that chance has changed. Whatever is in one, loading it gives arrays or one of Damo's errors that names the file: nothing is read or
// written outside of what there is (the sanitizers' builds look), and no array is made that the file has no elements for.
#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/io/csv.hpp>
#include <damo/io/idx.hpp>
#include <damo/io/npy.hpp>
#include <damo/io/safetensors.hpp>

#include "io/files.hpp"
#include "support/errors.hpp"
#include "support/scratch_directory.hpp"

using namespace damo;
using namespace damo::testing;
using ::testing::HasSubstr;

namespace {

/// A few changes of the kinds that break readers: bits, extreme numbers, digits, pieces left out, repeated or moved, an end too early.
std::string damaged(std::string bytes, std::mt19937& random) {
  const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random() % std::max<std::size_t>(bound, 1)); };
  for (std::size_t changes = 1 + below(3); changes > 0 && !bytes.empty(); --changes) {
    const std::size_t at = below(bytes.size()), length = std::min(1 + below(8), bytes.size() - at);
    switch (below(7)) {
      case 0: bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8))); break;
      case 1: bytes.replace(at, length, length, std::string("\xff\0\x7f\x80", 4)[below(4)]); break;
      case 2: bytes.resize(at); break;
      case 3: bytes.erase(at, length); break;
      case 4: bytes.insert(below(bytes.size()), bytes.substr(at, length)); break;
      case 5: bytes[at] = "0123456789-,[]{}()'\" \n"[below(22)]; break;
      default: bytes[below(std::min<std::size_t>(bytes.size(), 16))] = static_cast<char>(random());
    }
  }
  return bytes;
}

TEST(DamagedFiles, GiveArraysOrOneErrorThatNamesTheFile) {
  const Device cpu("cpu");
  const std::pair<const char*, std::function<void(const std::string&)>> cases[] = {
      {"float32.npy", [&](const std::string& path) { npy::load(path, cpu); }},
      {"fortran.npy", [&](const std::string& path) { npy::load(path, cpu); }},
      {"version2.npy", [&](const std::string& path) { npy::load(path, cpu); }},
      {"numpy.safetensors", [&](const std::string& path) { safetensors::load(path, cpu), safetensors::metadata(path); }},
      {"int16.idx", [&](const std::string& path) { idx::load(path, cpu); }},
      {"table.csv", [&](const std::string& path) { csv::load(path, {.skip_lines = 1, .missing = 0.0, .device = cpu}); }},
#if DAMO_HAS_ZLIB
      {"int16.idx.gz", [&](const std::string& path) { idx::load(path, cpu); }},
#endif
#if DAMO_HAS_ZIP
      {"two.npz", [&](const std::string& path) { npz::load(path, cpu); }},
      {"compressed.npz", [&](const std::string& path) { npz::load(path, cpu); }},
#endif
  };
  const ScratchDirectory folder;
  std::mt19937 random(20240501);
  for (const auto& [name, load] : cases) {
    const std::string good = std::string(name) == "table.csv" ? "a,b\n1,2\n3e5,\"-4.5\"\n,0.1\n" : bytes_of(others_file(name));
    ASSERT_FALSE(good.empty()) << name;
    int refused = 0;
    for (int i = 0; i < 400; ++i) {
      std::filesystem::remove(folder / name);  // a file that is written over waits for the disk
      const std::string path = write_bytes(folder / name, damaged(good, random));
      cpu.reset_peak();
      const std::size_t before = cpu.memory().in_use_bytes;
      try {
        load(path);
      } catch (const Error& error) {
        ++refused;
        EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
      } catch (const std::exception& error) {
        ADD_FAILURE() << name << ": " << error.what() << "\n" << bytes_of(path);
      }
      EXPECT_LT(cpu.memory().peak_bytes - before, std::size_t{1} << 22) << name;
    }
    EXPECT_GT(refused, 40) << name;
  }
}

TEST(DamagedFiles, AFolderADeviceAndAPipeAreNamedAsSuch) {
  const Device cpu("cpu");
  const ScratchDirectory folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const Array x = Array::zeros({2}, float32, cpu);
  const std::function<void(const std::string&)> loads[] = {
      [&](const std::string& path) { npy::load(path, cpu); }, [&](const std::string& path) { safetensors::load(path, cpu); }, [&](const std::string& path) { safetensors::metadata(path); },
      [&](const std::string& path) { idx::load(path, cpu); }, [&](const std::string& path) { csv::load(path, {.device = cpu}); },
#if DAMO_HAS_ZIP
      [&](const std::string& path) { npz::load(path, cpu); },
#endif
  }, saves[] = {
      [&](const std::string& path) { npy::save(path, x); }, [&](const std::string& path) { safetensors::save(path, {{"x", x}}); }, [&](const std::string& path) { idx::save(path, x); }, [&](const std::string& path) { csv::save(path, x); },
#if DAMO_HAS_ZIP
      [&](const std::string& path) { npz::save(path, {{"x", x}}); },
#endif
  };
  for (const auto& [path, kind] : {std::pair(folder.path(), "a folder"), std::pair(std::string("/dev/null"), "a device"), std::pair(pipe, "a pipe")}) {
    for (const auto& load : loads) EXPECT_THAT(error_of<FileError>([&] { load(path); }), ::testing::EndsWith(std::string("expected a file, found ") + kind));
    for (const auto& save : saves) EXPECT_THAT(error_of<FileError>([&] { save(path); }), ::testing::EndsWith("cannot write " + path + ": it is " + kind));
  }
}

/// Of a file that holds a name: a terminal obeys no byte of it.
TEST(DamagedFiles, ErrorsShowNamesAsATerminalMay) {
  const Device cpu("cpu");
  const ScratchDirectory folder;
  const auto of_head = [&](const std::string& head) {
    const std::uint64_t length = head.size();
    const std::string path = write_bytes(folder / "x.safetensors", std::string(reinterpret_cast<const char*>(&length), 8) + head);
    return error_of<FileError>([&] { safetensors::load(path, cpu); });
  };
  EXPECT_THAT(of_head(R"({"a\u001b[2J\n\u0000":{}})"), HasSubstr("tensor a\\x1b[2J\\x0a\\x00: expected"));
  EXPECT_THAT(of_head(R"({"a\u001b":{"dtype":"\u001bF32"}})"), HasSubstr("tensor a\\x1b: expected one of Damo's dtypes, found \\x1bF32"));
  EXPECT_THAT(of_head(R"({"\u0007":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"\u0007":{}})"), HasSubstr("found \\x07 twice"));
  EXPECT_LT(of_head("{\"" + std::string(100'000, 'a') + "\":{}}").size(), 1000u);
  const std::string path = folder / "\x1b[2J\xFF.npy", shown = folder / "\\x1b[2J\\xff.npy";
  EXPECT_THAT(error_of<FileError>([&] { npy::load(path, cpu); }), HasSubstr("npy: " + shown + ": byte 0: cannot be opened"));
  write_bytes(path, "1,x\n");
  EXPECT_THAT(error_of<FileError>([&] { csv::load(path, {.device = cpu}); }), HasSubstr("csv: " + shown + ": line 1"));
  const Array x = Array::zeros({2}, float32, cpu);
  EXPECT_THAT(error_of<FileError>([&] { npy::save(folder / "no\x1b/x.npy", x); }), HasSubstr("no\\x1b/x.npy: No such file"));
  EXPECT_THAT(error_of<FileError>([&] { safetensors::save(folder / "y.safetensors", {{"a\xFF\x1b", x}}); }), HasSubstr("is not UTF-8: 'a\\xff\\x1b'"));
  EXPECT_THAT(error_of<TypeError>([&] { safetensors::save(folder / "y.safetensors", {{"a\x1b", Array()}}); }), HasSubstr("'a\\x1b' is an empty Array"));
#if DAMO_HAS_ZIP
  npz::save(folder / "x.npz", {{"w\x7f\n", x}});
  std::string bytes = bytes_of(folder / "x.npz");
  bytes[bytes.find("NUMPY")] ^= 1;
  write_bytes(folder / "x.npz", bytes);
  EXPECT_THAT(error_of<FileError>([&] { npz::load(folder / "x.npz", cpu); }), HasSubstr("member w\\x7f\\x0a.npy: byte"));
#endif
}

}  // namespace
