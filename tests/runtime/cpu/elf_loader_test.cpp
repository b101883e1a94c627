#include "runtime/cpu/elf_loader.hpp"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <random>

#include <damo/error.hpp>

#include "runtime/cpu/compile_support.hpp"

namespace damo::cpu_backend::testing {
namespace {

// Has every kind of thing: code, constants, data, zeroed data, a jump table, calls out of the object.
const std::string kRich = R"(
using namespace damo;
extern "C" { float fmodf(float, float); }
f32 table[5] = {1, 2, 3, 4, 5};
f32 zeroed[100];
f32* pointer = &table[2];
extern "C" void rich(void* const* arguments, const LaunchFrame*, i64 first, i64 last) {
  const f32* x = *(const f32* const*)arguments[0];
  f32* y = *(f32* const*)arguments[1];
  for (i64 i = first; i < last; ++i) {
    f32 v = ::fmodf(x[i], 2.5f) + table[i % 5] + *pointer + zeroed[i % 100];
    switch (i % 9) {
      case 0: v += 1; break;
      case 1: v *= 7.25f; break;
      case 2: v -= x[i]; break;
      case 3: v = 1 / v; break;
      case 4: v = v * v; break;
      case 5: v = -v; break;
      case 6: v = v < 0 ? 2 : v; break;
      default: v += 3;
    }
    y[i] = v;
  }
}
extern "C" void copy(void* const* arguments, const LaunchFrame*, i64 first, i64 last) {
  __builtin_memcpy(*(f32* const*)arguments[1] + first, *(const f32* const*)arguments[0] + first, (last - first) * 4);
}
)";

std::vector<std::byte> rich_object() {
  static const CompileOutput output = compile_loops(kRich);
  EXPECT_TRUE(output.ok) << output.log;
  return output.object;
}

float rich_value(int i, float x) {
  const float table[] = {1, 2, 3, 4, 5};
  const float v = std::fmod(x, 2.5f) + table[i % 5] + 3.0f;
  switch (i % 9) {
    case 0: return v + 1;
    case 1: return v * 7.25f;
    case 2: return v - x;
    case 3: return 1 / v;
    case 4: return v * v;
    case 5: return -v;
    case 6: return v < 0 ? 2 : v;
    default: return v + 3;
  }
}

bool loads(const std::vector<std::byte>& bytes, std::string* message = nullptr) {
  try {
    const LoadedObject object(bytes, "bytes");
    return true;
  } catch (const damo::Error& error) {
    if (message) *message = error.what();
    return false;
  }
}

/// Permissions of the mapping that holds an address, as /proc/self/maps writes them.
std::string rights_of(const void* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    char rights[8] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %7s", &begin, &end, rights) != 3) continue;
    if (begin <= reinterpret_cast<std::uintptr_t>(address) && reinterpret_cast<std::uintptr_t>(address) < end) return rights;
  }
  return "none";
}

TEST(ElfLoader, RunsCodeWithConstantsDataTablesAndOutsideCalls) {
  const LoadedObject object(rich_object(), "rich");
  std::vector<float> x(90), y(90), z(90);
  for (int i = 0; i < 90; ++i) x[i] = 0.7f * float(i);
  const void *in = x.data(), *out = y.data();
  const void* arguments[] = {&in, &out};
  const LaunchFrame frame{};
  object.kernel("rich")(const_cast<void* const*>(arguments), &frame, 0, 90);
  for (int i = 0; i < 90; ++i) ASSERT_NEAR(y[i], rich_value(i, x[i]), 1e-4) << i;
  out = z.data();
  object.kernel("copy")(const_cast<void* const*>(arguments), &frame, 0, 90);
  EXPECT_EQ(x, z);
}

TEST(ElfLoader, NeverMapsAPageWritableAndExecutable) {
  const LoadedObject object(rich_object(), "rich");
  EXPECT_EQ(rights_of(object.find("rich")), "r-xp");
  EXPECT_EQ(rights_of(object.find("zeroed")), "rw-p");
}

TEST(ElfLoader, GivesItsMemoryBack) {
  const void* code = nullptr;
  {
    const LoadedObject object(rich_object(), "rich");
    code = object.find("rich");
  }
  EXPECT_EQ(rights_of(code), "none");
}

TEST(ElfLoader, NamesTheKernelsThereAre) {
  const LoadedObject object(rich_object(), "rich");
  EXPECT_EQ(object.find("nothing"), nullptr);
  try {
    object.kernel("nothing");
    FAIL();
  } catch (const damo::Error& error) {
    EXPECT_STREQ(error.what(), "object 'rich' has no kernel 'nothing'; it has: copy, rich");
  }
}

TEST(ElfLoader, NamesAFunctionThatItMayNotCall) {
  const CompileOutput output = compile_loops("extern \"C\" int system(const char*);\nextern \"C\" void k() { system(\"\"); }");
  ASSERT_TRUE(output.ok) << output.log;
  std::string message;
  EXPECT_FALSE(loads(output.object, &message));
  EXPECT_NE(message.find("'system'"), std::string::npos) << message;
}

TEST(ElfLoader, RefusesEveryTruncation) {
  const auto whole = rich_object();
  for (std::size_t length = 0; length < whole.size(); length += 64) {
    std::string message;
    EXPECT_FALSE(loads({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)}, &message)) << length;
    EXPECT_NE(message.find("damaged"), std::string::npos) << message;
  }
}

TEST(ElfLoader, SurvivesEveryFlippedByte) {
  const auto whole = rich_object();
  std::size_t refused = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (const unsigned char mask : {0xff, 0x01, 0x80}) {
      auto bytes = whole;
      bytes[i] ^= std::byte{mask};
      refused += !loads(bytes);
    }
  }
  EXPECT_GT(refused, 0u);
  std::printf("[ figure ] %zu flips, %zu refused\n", whole.size() * 3, refused);
}

TEST(ElfLoader, SurvivesRandomDamageInTheTables) {
  const auto whole = rich_object();
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    auto bytes = whole;
    // Tables are what a loader trusts: the header, and the section headers at the end.
    const std::size_t span = std::min<std::size_t>(bytes.size(), 2048);
    for (int hits = 0; hits < 4; ++hits) {
      const bool front = random() % 8 == 0;
      const std::size_t at = front ? random() % 64 : bytes.size() - 1 - random() % span;
      bytes[at] = std::byte(random());
    }
    loads(bytes);
  }
}

TEST(ElfLoader, RefusesOtherFiles) {
  std::string message;
  std::vector<std::byte> text(4096, std::byte{'x'});
  EXPECT_FALSE(loads(text, &message));
  EXPECT_NE(message.find("it is no ELF file"), std::string::npos);
  auto other = rich_object();
  const std::uint16_t arm = EM_AARCH64;
  std::memcpy(other.data() + offsetof(Elf64_Ehdr, e_machine), &arm, sizeof arm);
  EXPECT_FALSE(loads(other, &message));
  EXPECT_NE(message.find("it is not for x86-64"), std::string::npos);
}

// The warm start: a new process (this program again) that finds its object in a file.
TEST(ElfLoader, RunsACachedObjectWithoutLlvm) {
  const std::string file = ::testing::TempDir() + "damo_elf_loader_" + std::to_string(getpid()) + ".o";
  const auto bytes = rich_object();
  std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  setenv("DAMO_TEST_WARM_OBJECT", file.c_str(), 1);
  const pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", "warm", "--gtest_filter=ElfLoaderWarm.*", "--gtest_also_run_disabled_tests", nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  unsetenv("DAMO_TEST_WARM_OBJECT");
  unlink(file.c_str());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(ElfLoaderWarm, DISABLED_LoadsAndRuns) {
  const char* file = std::getenv("DAMO_TEST_WARM_OBJECT");
  ASSERT_NE(file, nullptr);
  const auto begin = std::chrono::steady_clock::now();
  std::ifstream stream(file, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  const LoadedObject object(bytes, "warm");
  float x = 6.0f, y = 0;
  const void *in = &x, *out = &y;
  const void* arguments[] = {&in, &out};
  const LaunchFrame frame{};
  object.kernel("rich")(const_cast<void* const*>(arguments), &frame, 0, 1);
  const double time = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_NEAR(y, rich_value(0, x), 1e-5);
  std::ifstream maps("/proc/self/maps");
  const std::string mapped((std::istreambuf_iterator<char>(maps)), {});
  EXPECT_EQ(mapped.find("libLLVM"), std::string::npos);
  EXPECT_EQ(mapped.find("damo_clang"), std::string::npos);
  EXPECT_FALSE(host_isa().empty() || cache_stamp().empty());
  std::printf("[ figure ] warm start: read, load and run %.3f ms\n", time);
}

}  // namespace
}  // namespace damo::cpu_backend::testing
