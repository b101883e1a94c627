#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>

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

/// No file grows beyond so many bytes as long as this lives: what a full disk does, with another reason, and with a signal that would end the process.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_;
};

int count_files(const std::string& folder) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) (void)entry, ++count;
  return count;
}

TEST(AtomicFile, KeepsTheOldFileWhereTheNewOneCannotBeWritten) {
  const Array large = Array::from([] {
    std::vector<float> values(20000);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 2654435761u % 1000003u) / 7;  // nothing that packs well
    return values;
  }(), Device("cpu"));
  const std::pair<const char*, std::function<void(const std::string&)>> formats[] = {
      {"x.npy", [&](const std::string& path) { npy::save(path, large); }},
      {"x.safetensors", [&](const std::string& path) { safetensors::save(path, {{"x", large}}); }},
      {"x.idx", [&](const std::string& path) { idx::save(path, large); }},
      {"x.csv", [&](const std::string& path) { csv::save(path, large); }},
#if DAMO_HAS_ZLIB
      {"x.idx.gz", [&](const std::string& path) { idx::save(path, large); }},
#endif
#if DAMO_HAS_ZIP
      {"x.npz", [&](const std::string& path) { npz::save(path, {{"x", large}}); }},
#endif
  };
  for (const auto& [name, save] : formats) {
    const ScratchDirectory folder;
    const std::string path = write_bytes(folder / name, "what was there");
    {
      const FileSizeLimit limit(5000);
      const std::string error = error_of<FileError>([&, &save = save] { save(path); });
      EXPECT_THAT(error, HasSubstr("cannot write " + path + ": ")) << name;
      EXPECT_THAT(error, HasSubstr("File too large")) << name;
    }
    EXPECT_EQ(bytes_of(path), "what was there") << name;
    EXPECT_EQ(count_files(folder.path()), 1) << name;
    save(path);
    EXPECT_GT(bytes_of(path).size(), 5000u) << name;
    EXPECT_EQ(count_files(folder.path()), 1) << name;
  }
}

TEST(AtomicFile, KeepsTheOldFileWhereAnArrayIsEmpty) {
  const ScratchDirectory folder;
  const std::string path = write_bytes(folder / "x", "what was there");
  const auto refused = [&](const auto& save) {
    const std::string error = error_of<TypeError>(save);
    EXPECT_EQ(bytes_of(path), "what was there") << error;
    EXPECT_EQ(count_files(folder.path()), 1) << error;
    return error;
  };
  const Array none{}, row = Array::zeros({0}, float32, Device("cpu"));
  EXPECT_THAT(refused([&] { npy::save(path, none); }), HasSubstr("npy: an empty Array has nothing to save"));
  EXPECT_THAT(refused([&] { idx::save(path, none); }), HasSubstr("idx: an empty Array has nothing to save"));
  EXPECT_THAT(refused([&] { csv::save(path, none); }), HasSubstr("csv: an empty Array has nothing to save"));
  EXPECT_THAT(refused([&] { safetensors::save(path, {{"a", row}, {"b", none}}); }), HasSubstr("safetensors: 'b' is an empty Array"));
#if DAMO_HAS_ZIP
  EXPECT_THAT(refused([&] { npz::save(path, {{"a", row}, {"b", none}}); }), HasSubstr("npz: 'b' is an empty Array"));
#endif
  npy::save(path, row);  // which has no elements, and a shape
  EXPECT_EQ(npy::load(path, Device("cpu")).shape(), (Shape{0}));
}

TEST(AtomicFile, SaysWhyThereCanBeNoFile) {
  const Array x = Array::zeros({1}, float32, Device("cpu"));
  const ScratchDirectory folder;
  EXPECT_EQ(error_of<FileError>([&] { npy::save(folder / "no/x.npy", x); }), "npy: cannot write " + folder / "no/x.npy" + ": No such file or directory");
  EXPECT_THAT(error_of<FileError>([&] { npy::save(folder.path(), x); }), HasSubstr(": it is a folder"));
  EXPECT_THAT(error_of<FileError>([&] { npy::save("/dev/null", x); }), HasSubstr("npy: cannot write /dev/null: it is a device"));
}

TEST(AtomicFile, KeepsRightsAndLinks) {
  const Array x = Array::zeros({1}, float32, Device("cpu"));
  const ScratchDirectory folder;
  write_bytes(folder / "real.npy", "old");
  chmod((folder / "real.npy").c_str(), 0640);
  std::filesystem::create_symlink("real.npy", folder / "link.npy");
  npy::save(folder / "link.npy", x);
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.npy"));
  EXPECT_EQ(npy::load(folder / "real.npy", Device("cpu")).size(), 1);
  struct stat status{};
  stat((folder / "real.npy").c_str(), &status);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST(AtomicFile, WritesIntoTheFolderOneIsIn) {
  const ScratchDirectory folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  npy::save("x.npy", Array::zeros({1}, float32, Device("cpu")));
  std::filesystem::current_path(before);
  EXPECT_EQ(npy::load(folder / "x.npy", Device("cpu")).size(), 1);
}

}  // namespace
