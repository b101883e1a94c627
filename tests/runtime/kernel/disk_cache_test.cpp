#include "runtime/kernel/disk_cache.hpp"

#include <fcntl.h>
#include <sys/resource.h>

#include <cstdio>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/error.hpp>
#include <damo/log.hpp>

#include "runtime/kernel/cache_file.hpp"
#include "support/errors.hpp"
#include "support/scratch_directory.hpp"

namespace damo {
namespace {

using damo::testing::Environment;
using damo::testing::error_of;
using damo::testing::in_child;
using damo::testing::ScratchDirectory;
using ::testing::HasSubstr;

constexpr std::size_t kLimit = 1 << 20;

std::string key_of(int i) {
  char text[65];
  std::snprintf(text, sizeof text, "%064x", i + 0xabc);
  return text;
}

std::vector<std::byte> payload_of(int i, std::size_t bytes) {
  std::vector<std::byte> payload(bytes);
  for (std::size_t k = 0; k < bytes; ++k) payload[k] = std::byte(k * 7 + static_cast<std::size_t>(i));
  return payload;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& contents) {
  std::ofstream(path, std::ios::binary) << contents;
}

void set_age(const std::string& path, int seconds) {
  timespec times[2];
  clock_gettime(CLOCK_REALTIME, &times[0]);
  times[0].tv_sec -= seconds;
  times[1] = times[0];
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

int files_in(const std::string& directory) {
  int count = 0;
  for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator(directory)) ++count;
  return count;
}

unsigned rights_of(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

/// The lines logged while it lives.
struct Lines {
  Lines() {
    set_log_level(LogLevel::kDebug);
    set_log_sink([this](LogLevel level, std::string_view line) { levels.push_back(level), lines.emplace_back(line); });
  }
  ~Lines() {
    set_log_sink({});
    set_log_level(LogLevel::kInfo);
  }
  std::vector<LogLevel> levels;
  std::vector<std::string> lines;
};

TEST(DiskCache, GivesBackWhatAnEarlierOneStored) {
  const ScratchDirectory scratch;
  const std::string directory = scratch / "a/b";
  for (const std::size_t bytes : {0, 1, 7, 8, 5000}) {
    DiskCache(directory, kLimit).store(key_of(1), payload_of(3, bytes));
    EXPECT_EQ(DiskCache(directory, kLimit).load(key_of(1)), payload_of(3, bytes));
  }
  EXPECT_EQ(DiskCache(directory, kLimit).load(key_of(2)), std::nullopt);
}

TEST(DiskCache, KeepsItsFilesFromOtherUsers) {
  const ScratchDirectory scratch;
  const std::string directory = scratch / "cache";
  DiskCache(directory, kLimit).store(key_of(1), payload_of(1, 10));
  EXPECT_EQ(rights_of(directory), 0700u);
  EXPECT_EQ(rights_of(directory + "/" + key_of(1)), 0600u);
}

TEST(DiskCache, DeletesAFileOfAnyWrongLength) {
  const ScratchDirectory scratch;
  DiskCache cache(scratch.path(), kLimit);
  cache.store(key_of(1), payload_of(1, 100));
  const std::string path = scratch / key_of(1), whole = read_file(path);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    write_file(path, whole.substr(0, length));
    EXPECT_EQ(cache.load(key_of(1)), std::nullopt) << length;
    EXPECT_FALSE(std::filesystem::exists(path)) << length;
  }
  write_file(path, whole + "x");
  EXPECT_EQ(cache.load(key_of(1)), std::nullopt);
  write_file(path, whole);
  EXPECT_EQ(cache.load(key_of(1)), payload_of(1, 100));
}

TEST(DiskCache, DeletesAFileWithAnyWrongByte) {
  const ScratchDirectory scratch;
  DiskCache cache(scratch.path(), kLimit);
  cache.store(key_of(1), payload_of(1, 101));
  const std::string path = scratch / key_of(1), whole = read_file(path);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char mask : {'\x01', '\x80', '\xff'}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ mask);
      write_file(path, damaged);
      EXPECT_EQ(cache.load(key_of(1)), std::nullopt) << at;
    }
  }
}

TEST(DiskCache, SaysInOneDebugLineThatAFileIsForeign) {
  const ScratchDirectory scratch;
  DiskCache cache(scratch.path(), kLimit);
  write_file(scratch / key_of(1), std::string(500, 'x'));
  const Lines log;
  EXPECT_EQ(cache.load(key_of(1)), std::nullopt);
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_EQ(log.levels[0], LogLevel::kDebug);
  EXPECT_EQ(log.lines[0], "kernel cache: " + key_of(1) + " is damaged or of another format; deleted");
}

TEST(DiskCache, DoesNotTakeOneEntryForAnother) {
  const ScratchDirectory scratch;
  DiskCache cache(scratch.path(), kLimit);
  cache.store(key_of(1), payload_of(1, 100));
  std::filesystem::rename(scratch / key_of(1), scratch / key_of(2));
  EXPECT_EQ(cache.load(key_of(2)), std::nullopt);
}

TEST(DiskCache, FollowsNoLinkAndReadsNoDirectory) {
  const ScratchDirectory scratch;
  DiskCache cache(scratch.path(), kLimit);
  cache.store(key_of(1), payload_of(1, 100));
  std::filesystem::rename(scratch / key_of(1), scratch / "elsewhere");
  std::filesystem::create_symlink(scratch / "elsewhere", scratch / key_of(1));
  std::filesystem::create_directory(scratch / key_of(2));
  EXPECT_EQ(cache.load(key_of(1)), std::nullopt);
  EXPECT_EQ(cache.load(key_of(2)), std::nullopt);
}

TEST(DiskCache, DoesNotWaitForAFifoThatStandsInAnEntrysPlace) {
  const ScratchDirectory scratch;
  ASSERT_EQ(mkfifo((scratch / key_of(1)).c_str(), 0600), 0);
  const int status = in_child([&] {
    alarm(20);
    DiskCache cache(scratch.path(), kLimit);
    if (cache.load(key_of(1))) return 1;
    cache.store(key_of(1), payload_of(1, 100));
    return cache.load(key_of(1)) == payload_of(1, 100) ? 0 : 2;
  });
  EXPECT_EQ(status, 0) << "1000 + SIGALRM: it waits for somebody who writes";
}

/// Two containers that share a directory have processes of the same number: nobody's temporary file may be another's.
TEST(DiskCache, GivesItsTemporaryFilesNamesThatNoOtherProcessGives) {
  const ScratchDirectory scratch;
  const Descriptor directory(open(scratch.path().c_str(), O_RDONLY | O_DIRECTORY));
  const auto name_in_child = [&](int number) {
    in_child([&] {
      std::string name;
      if (!create_temporary(directory.number(), name, 0600)) return 1;
      write_file(scratch / ("name" + std::to_string(number)), name);
      return 0;
    });
    return read_file(scratch / ("name" + std::to_string(number)));
  };
  const std::string first = name_in_child(1), second = name_in_child(2);
  EXPECT_TRUE(first.starts_with(kTemporaryPrefix)) << first;
  EXPECT_EQ(first.size(), std::string(kTemporaryPrefix).size() + 16);
  EXPECT_NE(first, second);
}

std::string refusal_of(const std::string& directory) {
  return error_of<OptionError>([&] { DiskCache(directory, kLimit); });
}

TEST(DiskCache, RefusesADirectoryThatOthersCanWriteTo) {
  const ScratchDirectory scratch;
  for (const unsigned rights : {0770u, 0702u, 0777u}) {
    chmod(scratch.path().c_str(), rights);
    EXPECT_EQ(refusal_of(scratch.path()),
              "the kernel cache '" + scratch.path() +
                  "' is not safe, and its files are executed: users other than its owner can "
                  "write to it\n  run: chmod go-w " +
                  scratch.path() + ", or set DAMO_CACHE_DIR to a directory of your own");
  }
  chmod(scratch.path().c_str(), 0755);
  EXPECT_EQ(refusal_of(scratch.path()), "nothing thrown") << "to read is no danger";
}

TEST(DiskCache, RefusesADirectoryOfAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root: to give a directory away";
  const ScratchDirectory scratch;
  ASSERT_EQ(chown(scratch.path().c_str(), 12345, 12345), 0);
  EXPECT_THAT(refusal_of(scratch.path()), HasSubstr("user 12345 owns it, this process is user 0"));
}

// Warnings come once a process, so each of these is a process of its own.
TEST(DiskCache, WarnsOnceAndGoesOnWhereThereCanBeNoDirectory) {
  const ScratchDirectory scratch;
  write_file(scratch / "file", "");
  EXPECT_EQ(in_child([&] {
              const Lines log;
              for (int i = 0; i < 3; ++i) {
                DiskCache cache(scratch / "file/cache", kLimit);
                cache.store(key_of(1), payload_of(1, 10));
                if (cache.load(key_of(1)) || !cache.entries().empty()) return 1;
              }
              if (log.lines.size() != 1) return 2;
              return log.lines[0] == "kernel cache: cannot make '" + (scratch / "file/cache") +
                                         "' (Not a directory); kernels will be compiled again by the next process"
                         ? 0
                         : 3;
            }),
            0);
}

TEST(DiskCache, WarnsOnceAndGoesOnWhereTheDiskIsFull) {
  const ScratchDirectory scratch;
  EXPECT_EQ(in_child([&] {
              const rlimit limit{4096, 4096};  // a write beyond it fails, as on a full disk, and its signal ends a process
              setrlimit(RLIMIT_FSIZE, &limit);
              const Lines log;
              DiskCache cache(scratch.path(), kLimit);
              for (int i = 0; i < 3; ++i) cache.store(key_of(i), payload_of(i, 100000));
              if (log.lines.size() != 1 || log.levels[0] != LogLevel::kWarning) return 1;
              if (log.lines[0].find("cannot write to") == std::string::npos) return 2;
              if (cache.load(key_of(1)) || files_in(scratch.path()) != 0) return 3;
              cache.store(key_of(4), payload_of(4, 1000));  // there is room for a small one
              return cache.load(key_of(4)) == payload_of(4, 1000) ? 0 : 4;
            }),
            0);
}

TEST(DiskCache, WarnsOnceAndReadsWhereItMayNotWrite) {
  constexpr uid_t kSomeone = 12345;
  const ScratchDirectory scratch;
  DiskCache(scratch.path(), kLimit).store(key_of(1), payload_of(1, 10));
  if (geteuid() == 0) {  // root may write everywhere: be someone else
    ASSERT_EQ(chown(scratch.path().c_str(), kSomeone, kSomeone), 0);
    ASSERT_EQ(chown((scratch / key_of(1)).c_str(), kSomeone, kSomeone), 0);
  }
  chmod(scratch.path().c_str(), 0500);
  EXPECT_EQ(in_child([&] {
              if (geteuid() == 0 && setuid(kSomeone) != 0) return 1;
              const Lines log;
              DiskCache cache(scratch.path(), kLimit);
              for (int i = 2; i < 5; ++i) cache.store(key_of(i), payload_of(i, 10));
              if (log.lines.size() != 1) return 2;
              return cache.load(key_of(1)) == payload_of(1, 10) ? 0 : 3;
            }),
            0);
  chmod(scratch.path().c_str(), 0700);
}

TEST(DiskCache, EvictsWhatWasUsedLeastRecently) {
  const ScratchDirectory scratch;
  DiskCache cache(scratch.path(), 10000);
  for (int i = 0; i < 8; ++i) {
    cache.store(key_of(i), payload_of(i, 1000));
    set_age(scratch / key_of(i), 1000 - i);
  }
  EXPECT_TRUE(cache.load(key_of(0)));  // the oldest becomes the newest
  for (int i = 8; i < 12; ++i) cache.store(key_of(i), payload_of(i, 1000));
  EXPECT_TRUE(cache.load(key_of(0)));
  EXPECT_FALSE(cache.load(key_of(1)));
  EXPECT_FALSE(cache.load(key_of(2)));
  EXPECT_TRUE(cache.load(key_of(7)));
  EXPECT_TRUE(cache.load(key_of(11)));
  std::size_t total = 0;
  for (const CacheEntry& entry : cache.entries()) total += entry.bytes;
  EXPECT_LE(total, 10000u);
}

TEST(DiskCache, KeepsNothingThatIsLargerThanItsLimit) {
  const ScratchDirectory scratch;
  DiskCache cache(scratch.path(), 1000);
  cache.store(key_of(1), payload_of(1, 2000));
  EXPECT_EQ(files_in(scratch.path()), 0);
}

TEST(DiskCache, AHitCountsAsUseButNotEachSecond) {
  const ScratchDirectory scratch;
  DiskCache cache(scratch.path(), kLimit);
  cache.store(key_of(1), payload_of(1, 10));
  const auto age = [&] {
    return std::chrono::duration<double>(std::chrono::system_clock::now() - cache.entries().at(0).last_used).count();
  };
  set_age(scratch / key_of(1), 10);
  cache.load(key_of(1));
  EXPECT_GT(age(), 9);
  set_age(scratch / key_of(1), 3600);
  cache.load(key_of(1));
  EXPECT_LT(age(), 9);
}

TEST(DiskCache, RemovesTheTemporaryFilesOfProcessesThatDied) {
  const ScratchDirectory scratch;
  write_file(scratch / ".new-1-0", "half");
  write_file(scratch / ".new-2-0", "half");
  set_age(scratch / ".new-1-0", 2 * 3600);
  DiskCache(scratch.path(), kLimit).store(key_of(1), payload_of(1, 10));
  EXPECT_FALSE(std::filesystem::exists(scratch / ".new-1-0"));
  EXPECT_TRUE(std::filesystem::exists(scratch / ".new-2-0")) << "its process may be writing";
}

TEST(DiskCache, ListsItsEntriesAndClearsThemAlone) {
  const ScratchDirectory scratch;
  DiskCache cache(scratch.path(), kLimit);
  for (int i = 0; i < 3; ++i) {
    cache.store(key_of(i), payload_of(i, 100));
    set_age(scratch / key_of(i), 100 * i);
  }
  write_file(scratch / "readme.txt", "not ours");
  const std::vector<CacheEntry> entries = cache.entries();
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].name, key_of(0));
  EXPECT_EQ(entries[2].name, key_of(2));
  EXPECT_EQ(entries[0].bytes, 196u);  // 96 of head
  cache.clear();
  EXPECT_TRUE(cache.entries().empty());
  EXPECT_TRUE(std::filesystem::exists(scratch / "readme.txt"));
}

TEST(DiskCache, IsRightWhenProcessesRace) {
  const ScratchDirectory scratch;
  constexpr int kProcesses = 4, kRounds = 40, kKeys = 12;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = fork();
    if (child == 0) {
      DiskCache cache(scratch.path(), 30000);  // small: they evict each other's entries
      for (int round = 0; round < kRounds; ++round) {
        for (int k = 0; k < kKeys; ++k) {
          const auto found = cache.load(key_of(k));
          if (found && found != payload_of(k, 3000)) _exit(1);
          if (!found || round % 3 == p % 3) cache.store(key_of(k), payload_of(k, 3000));
        }
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  for (const auto& file : std::filesystem::directory_iterator(scratch.path())) {
    EXPECT_EQ(file.path().filename().string().size(), 64u) << "a temporary file is left: " << file.path();
  }
}

TEST(CacheSettings, TakeTheDirectoryFromTheEnvironment) {
  const Environment home("HOME", "/home/ada"), chosen("DAMO_CACHE_DIR", nullptr), xdg("XDG_CACHE_HOME", nullptr);
  EXPECT_EQ(cache_directory_of_environment(), "/home/ada/.cache/damo");
  {
    const Environment relative("XDG_CACHE_HOME", "relative");
    EXPECT_EQ(cache_directory_of_environment(), "/home/ada/.cache/damo");
  }
  const Environment base("XDG_CACHE_HOME", "/var/tmp/x");
  EXPECT_EQ(cache_directory_of_environment(), "/var/tmp/x/damo");
  const Environment own("DAMO_CACHE_DIR", "/own");
  EXPECT_EQ(cache_directory_of_environment(), "/own");
  const Environment none("DAMO_CACHE_LIMIT", "0");
  EXPECT_EQ(cache_directory(), "");
}

TEST(CacheSettings, ReadTheLimitWithItsUnit) {
  const std::pair<const char*, std::size_t> cases[] = {
      {"", 1u << 30}, {"0", 0}, {"12345", 12345}, {"3K", 3072}, {"200M", 200u << 20}, {"2G", std::size_t{2} << 30}};
  for (const auto& [text, bytes] : cases) {
    const Environment limit("DAMO_CACHE_LIMIT", text);
    EXPECT_EQ(cache_limit_of_environment(), bytes) << text;
  }
  for (const char* text : {"many", "-1", "1T", "1.5G", "99999999999999999999", "99999999999999G"}) {
    const Environment limit("DAMO_CACHE_LIMIT", text);
    try {
      cache_limit_of_environment();
      FAIL() << text;
    } catch (const OptionError& error) {
      EXPECT_EQ(error.what(), "DAMO_CACHE_LIMIT is '" + std::string(text) +
                                  "', which is no number of bytes\n  "
                                  "give bytes, or a number with K, M or G: DAMO_CACHE_LIMIT=200M");
    }
  }
}

}  // namespace
}  // namespace damo
