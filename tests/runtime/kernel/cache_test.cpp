#include "runtime/kernel/cache.hpp"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/error.hpp>

#include "support/counting_backend.hpp"
#include "support/scratch_directory.hpp"

namespace damo {
namespace {

using damo::testing::CountingBackend;
using damo::testing::Environment;
using damo::testing::ScratchDirectory;
using damo::testing::TextModule;
using ::testing::HasSubstr;

class KernelCacheTest : public ::testing::Test {
 protected:
  static std::string text_of(const KernelCache::Module& module) { return static_cast<const TextModule&>(*module).text; }

  ScratchDirectory scratch_;
  Environment directory_{"DAMO_CACHE_DIR", scratch_.path()};
  Environment limit_{"DAMO_CACHE_LIMIT", nullptr};
  Environment dump_{"DAMO_DUMP", nullptr};
  CountingBackend backend_;
};

TEST_F(KernelCacheTest, GivesTheSameModuleForTheSameRequest) {
  const auto first = backend_.cache().get({.source = "a"});
  const auto second = backend_.cache().get({.source = "a", .file_name = "another name"});
  EXPECT_EQ(text_of(first), "code of a");
  EXPECT_EQ(first, second);
  EXPECT_EQ(backend_.counting.compiles, 1);
  const CacheStatistics statistics = cache_statistics(Device(&backend_));
  EXPECT_EQ(statistics.memory_hits, 1u);
  EXPECT_EQ(statistics.disk_hits, 0u);
  EXPECT_EQ(statistics.compiles, 1u);
}

TEST_F(KernelCacheTest, CompilesNothingThatAnEarlierProcessCompiled) {
  backend_.cache().get({.source = "a"});
  CountingBackend next;
  EXPECT_EQ(text_of(next.cache().get({.source = "a"})), "code of a");
  EXPECT_EQ(next.counting.compiles, 0);
  EXPECT_EQ(next.cache().statistics().disk_hits, 1u);
}

TEST_F(KernelCacheTest, KeepsNothingWhoseIncludedFilesCannotBeTold) {
  const CompileRequest request = {.source = "#include PASTED(a)", .kind = SourceKind::kCudaC};
  const auto first = backend_.cache().get(request);
  EXPECT_NE(backend_.cache().get(request), first);
  backend_.cache().get(std::vector{request, request});
  EXPECT_EQ(backend_.counting.compiles, 4);
  backend_.cache().load_own(request);
  backend_.cache().load_own(request);
  EXPECT_EQ(backend_.counting.compiles, 6);
  EXPECT_TRUE(cache_entries().empty());
}

TEST_F(KernelCacheTest, LoadsFromTheDiskWhatItWasToldToForget) {
  const auto lost = backend_.cache().get({.source = "a"});
  backend_.cache().forget();
  const auto anew = backend_.cache().get({.source = "a"});
  EXPECT_NE(anew, lost);
  EXPECT_EQ(text_of(anew), "code of a");
  EXPECT_EQ(backend_.counting.compiles, 1);
  EXPECT_EQ(backend_.loads, 2);
}

TEST_F(KernelCacheTest, TellsRequestsApartByAllThatChangesTheCode) {
  const CompileRequest requests[] = {
      {.source = "a"},
      {.source = "b"},
      {.source = "a", .kind = SourceKind::kCudaC},
      {.source = "a", .kernels = {"k"}},
      {.source = "a", .kernels = {"k", "l"}},
      {.source = "a", .kernels = {"kl"}},
      {.source = "a", .flags = {"k"}},
  };
  std::vector<std::string> keys;
  for (const CompileRequest& request : requests) keys.push_back(backend_.cache().key(request));
  backend_.cache().get(requests);
  EXPECT_EQ(backend_.counting.compiles, 7);
  backend_.counting.stamp_text = "counting 2";
  keys.push_back(backend_.cache().key(requests[0]));
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::unique(keys.begin(), keys.end()), keys.end());
  EXPECT_EQ(cache_entries().size(), 7u);
}

TEST_F(KernelCacheTest, CompilesForThreadsThatAskAtOnceOnlyOnce) {
  backend_.counting.delay = std::chrono::milliseconds(50);
  std::vector<KernelCache::Module> modules(8);
  {
    std::vector<std::jthread> threads;
    for (auto& module : modules) threads.emplace_back([&] { module = backend_.cache().get({.source = "a"}); });
  }
  EXPECT_EQ(backend_.counting.compiles, 1);
  for (const auto& module : modules) EXPECT_EQ(module, modules[0]);
}

TEST_F(KernelCacheTest, CompilesTheMissesOfOneCallOnSeveralThreads) {
  backend_.counting.together = 3;
  backend_.counting.thread_count = 3;
  std::vector<CompileRequest> requests;
  for (int i = 0; i < 9; ++i) requests.push_back({.source = std::to_string(i / 2)});  // most of them twice
  const auto modules = backend_.cache().get(requests);
  for (int i = 0; i < 9; ++i) EXPECT_EQ(text_of(modules[i]), "code of " + std::to_string(i / 2));
  EXPECT_EQ(backend_.counting.compiles, 5);
  EXPECT_EQ(backend_.counting.most_running, 3);
}

TEST_F(KernelCacheTest, CompilesWhatMayBeWantedOnThreadsThatAreLeft) {
  backend_.counting.together = 4;
  backend_.counting.thread_count = 4;
  backend_.cache().get(std::vector<CompileRequest>{{.source = "a"}, {.source = "b"}}, {{.source = "c"}, {.source = "wrong d"}, {.source = "b"}});
  backend_.cache().get({.source = "c"});
  EXPECT_EQ(backend_.counting.most_running, 4) << "beside those that were asked for";
  EXPECT_THROW(backend_.cache().get({.source = "wrong d"}), CompileError) << "its own, as if nobody had tried before";
  backend_.cache().settle();
  EXPECT_EQ(backend_.counting.compiles, 5);
}

TEST_F(KernelCacheTest, CompilesNothingThatMayBeWantedWhereNoThreadIsLeft) {
  backend_.counting.delay = std::chrono::milliseconds(50);
  const std::vector<CompileRequest> maybe = {{.source = "c"}, {.source = "d"}};
  backend_.counting.thread_count = 1;
  backend_.cache().get(std::vector<CompileRequest>{{.source = "a"}, {.source = "b"}}, maybe);
  backend_.counting.thread_count = 4;
  backend_.cache().get(std::vector<CompileRequest>{{.source = "a"}, {.source = "b"}}, maybe);  // no compiler runs
  backend_.cache().settle();
  EXPECT_EQ(backend_.counting.compiles, 2);
}

TEST_F(KernelCacheTest, AChildOfForkCompilesWhatAThreadOfItsParentWasCompiling) {
  backend_.counting.delay = std::chrono::milliseconds(300);
  backend_.counting.thread_count = backend_.counting.together = 2;
  std::jthread parent([&] { backend_.cache().get(std::vector<CompileRequest>{{.source = "a"}}, {{.source = "b"}}); });
  while (backend_.counting.most_running < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // a child that waits for its parent's thread ends
    _exit(text_of(backend_.cache().get({.source = "b"})) == "code of b" ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  parent.join();
  backend_.cache().settle();
}

TEST_F(KernelCacheTest, ThrowsTheFirstErrorWhenAllAreDone) {
  const std::vector<CompileRequest> requests = {{.source = "a"},
                                                {.source = "wrong 1", .file_name = "one.cu"},
                                                {.source = "b"},
                                                {.source = "wrong 2", .file_name = "two.cu"}};
  try {
    backend_.cache().get(requests);
    FAIL();
  } catch (const CompileError& error) {
    EXPECT_STREQ(error.what(), "'one.cu' does not compile\nline 1: wrong 1\n");
  }
  EXPECT_EQ(backend_.counting.compiles, 4);
  backend_.cache().get(requests[2]);
  EXPECT_EQ(backend_.counting.compiles, 4) << "what compiled is kept";
  EXPECT_THROW(backend_.cache().get(requests[1]), CompileError);
  EXPECT_EQ(backend_.counting.compiles, 5) << "what failed is tried again";
  EXPECT_EQ(cache_entries().size(), 2u);
}

TEST_F(KernelCacheTest, GivesTheErrorToEveryThreadThatWaits) {
  backend_.counting.delay = std::chrono::milliseconds(50);
  std::atomic<int> caught = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        try {
          backend_.cache().get({.source = "wrong"});
        } catch (CompileError& error) {
          error.add_where("thread " + std::to_string(i));  // each has an error of its own
          caught += error.parts().where == "thread " + std::to_string(i);
        }
      });
    }
  }
  EXPECT_EQ(caught, 4);
}

TEST_F(KernelCacheTest, CompilesAgainWhatTheDiskHasButTheDeviceRefuses) {
  backend_.cache().get({.source = "a"});
  CountingBackend next;
  next.refused_loads = 1;
  EXPECT_EQ(text_of(next.cache().get({.source = "a"})), "code of a");
  EXPECT_EQ(next.counting.compiles, 1);
}

TEST_F(KernelCacheTest, CompilesAgainWhatIsDamagedOnDisk) {
  backend_.cache().get({.source = "a"});
  const std::string path = scratch_ / backend_.cache().key({.source = "a"});
  ASSERT_EQ(truncate(path.c_str(), 100), 0);
  CountingBackend next, after;
  EXPECT_EQ(text_of(next.cache().get({.source = "a"})), "code of a");
  EXPECT_EQ(next.counting.compiles, 1);
  after.cache().get({.source = "a"});
  EXPECT_EQ(after.counting.compiles, 0) << "the entry was mended";
}

TEST_F(KernelCacheTest, KeepsNothingThatCannotBeLoaded) {
  backend_.refused_loads = 1;
  EXPECT_THROW(backend_.cache().get({.source = "a"}), DeviceError);
  EXPECT_TRUE(cache_entries().empty());
}

TEST_F(KernelCacheTest, RefusesAnUnsafeDirectoryAndWorksWhenItIsMended) {
  chmod(scratch_.path().c_str(), 0777);
  EXPECT_THROW(backend_.cache().get({.source = "a"}), OptionError);
  EXPECT_THROW(cache_entries(), OptionError);
  EXPECT_THROW(clear_cache(), OptionError);
  EXPECT_EQ(backend_.counting.compiles, 0);
  chmod(scratch_.path().c_str(), 0700);
  EXPECT_EQ(text_of(backend_.cache().get({.source = "a"})), "code of a");
}

TEST_F(KernelCacheTest, WritesNoFileWithALimitOfZero) {
  const Environment limit("DAMO_CACHE_LIMIT", "0");
  const Environment nowhere("DAMO_CACHE_DIR", scratch_ / "not/made");
  backend_.cache().get({.source = "a"});
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "not"));
  EXPECT_TRUE(cache_entries().empty());
}

TEST_F(KernelCacheTest, ClearsTheDiskAndKeepsWhatIsLoaded) {
  backend_.cache().get({.source = "a"});
  EXPECT_EQ(cache_directory(), scratch_.path());
  ASSERT_EQ(cache_entries().size(), 1u);
  EXPECT_EQ(cache_entries()[0].name, backend_.cache().key({.source = "a"}));
  clear_cache();
  EXPECT_TRUE(cache_entries().empty());
  backend_.cache().get({.source = "a"});
  EXPECT_EQ(backend_.counting.compiles, 1);
}

TEST_F(KernelCacheTest, WritesSourcesWhereAsked) {
  const Environment dump("DAMO_DUMP", scratch_ / "dump");
  const CompileRequest loops{.source = "loop", .kernels = {"k"}},
      cuda{.source = "cuda", .kind = SourceKind::kCudaC, .flags = {"-DN=1"}};
  backend_.cache().get(loops);
  backend_.cache().get(cuda);
  const auto contents = [&](const std::string& name) {
    std::ifstream file(scratch_ / "dump/" + name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(contents(backend_.cache().key(loops) + ".cpp"), "// kernel k\nloop");
  EXPECT_EQ(contents(backend_.cache().key(cuda) + ".cu"), "// flag -DN=1\ncuda");
  const Environment file("DAMO_DUMP", scratch_ / "dump/" + backend_.cache().key(cuda) + ".cu");
  EXPECT_THROW(backend_.cache().get({.source = "other"}), OptionError);
}

TEST_F(KernelCacheTest, ReplacesALinkThatStandsWhereASourceGoes) {
  const Environment dump("DAMO_DUMP", scratch_ / "dump");
  const CompileRequest request{.source = "loop"};
  const std::string place = scratch_ / "dump/" + backend_.cache().key(request) + ".cpp";
  std::filesystem::create_directory(scratch_ / "dump");
  std::ofstream(scratch_ / "precious") << "mine";
  std::filesystem::create_symlink(scratch_ / "precious", place);
  backend_.cache().get(request);
  const auto contents = [](const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(contents(scratch_ / "precious"), "mine");
  EXPECT_EQ(contents(place), "loop");
  EXPECT_FALSE(std::filesystem::is_symlink(place));
}

TEST_F(KernelCacheTest, CompilesAgainWhereAHeaderThatFlagsOrPathsReachWasEdited) {
  const auto write = [&](const char* text) { std::ofstream(scratch_ / "a.h") << text; };
  const std::string path = scratch_ / "a.h";
  const CompileRequest requests[] = {
      {.source = "#include \"a.h\"", .kind = SourceKind::kCudaC, .flags = {"-I" + scratch_.path()}},
      {.source = "int x;", .kind = SourceKind::kCudaC, .flags = {"-include", path}},
      {.source = "#include \"" + path + "\"", .kind = SourceKind::kCudaC}};
  for (const CompileRequest& request : requests) {
    write("old");
    backend_.cache().get(request);
    const int before = backend_.counting.compiles;
    backend_.cache().get(request);
    EXPECT_EQ(backend_.counting.compiles, before) << request.source;
    write("new");
    backend_.cache().get(request);
    EXPECT_EQ(backend_.counting.compiles, before + 1) << request.source;
    write("old");
    CountingBackend next;
    next.cache().get(request);
    EXPECT_EQ(next.counting.compiles, 0) << "the old code is of the old header: " << request.source;
  }
}

TEST_F(KernelCacheTest, TakesLittleTimeForAHit) {
  const CompileRequest request{.source = std::string(4096, 'x'), .kernels = {"kernel_of_a_usual_name"}};
  backend_.cache().get(request);
  constexpr int kTimes = 20000;
  const auto processor_time = [] {  // of this thread: the machine may have other things to do
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) * 1e-3;
  };
  const double begin = processor_time();
  for (int i = 0; i < kTimes; ++i) backend_.cache().get(request);
  const double each = (processor_time() - begin) / kTimes;
  std::printf("[ figure ] a hit in memory, source of 4 KB: %.2f us\n", each);
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  EXPECT_LT(each, 20.0);  // about 1 us; loose for debug builds and busy machines
#endif
}

}  // namespace
}  // namespace damo
