#include "runtime/cpu/library_calls.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/cpu/blas_library.hpp"

namespace damo::cpu_backend {
namespace {

/// The status of a child that does what it is told to.
template <class Work>
int status_of_child(const Work& work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(work());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

class Products {
 public:
  explicit Products(const BlasLibrary& library) : library_(library) {}
  bool are_right() {
    const LibraryCall call;
    library_.single.gemm(kRowMajor, kNoTranspose, kNoTranspose, kSize, kSize, kSize, 1, a_.data(), kSize, b_.data(), kSize, 0, c_.data(), kSize);
    return c_.front() == 2 * kSize && c_.back() == 2 * kSize;
  }

 private:
  static constexpr int kSize = 400;
  const BlasLibrary& library_;
  std::vector<float> a_ = std::vector<float>(kSize * kSize, 1), b_ = std::vector<float>(kSize * kSize, 2), c_ = std::vector<float>(kSize * kSize);
};

TEST(LibraryCalls, LetAProgramForkWhileAnotherThreadMultiplies) {
  const BlasLibrary* const library = blas();
  if (!library) GTEST_SKIP() << "needs a BLAS library";
  if (library->set_threads) library->set_threads(2);
  std::atomic<bool> stops = false;
  std::atomic<int> wrong = 0;
  {
    std::jthread other([&] {
      for (Products products(*library); !stops;) wrong += products.are_right() ? 0 : 1;
    });
    for (int i = 0; i < 10; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      EXPECT_EQ(status_of_child([&] { return Products(*library).are_right() ? 0 : 1; }), 0);
    }
    stops = true;
  }
  EXPECT_EQ(wrong, 0);
}

TEST(LibraryCalls, LetAProgramEndWhileAnotherThreadMultiplies) {
  const BlasLibrary* const library = blas();
  if (!library) GTEST_SKIP() << "needs a BLAS library";
  if (library->set_threads) library->set_threads(2);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(status_of_child([&] {
                std::thread([&] { for (Products products(*library);;) products.are_right(); }).detach();
                std::this_thread::sleep_for(std::chrono::milliseconds(10));
                std::exit(0);
                return 1;
              }),
              0);
  }
}

TEST(LibraryCalls, WaitForNothingWhereTheCallIsTheForkingThreadsOwn) {
  hold_calls_at_forks();
  const LibraryCall call;
  EXPECT_EQ(status_of_child([] { return 0; }), 0);
}

}  // namespace
}  // namespace damo::cpu_backend
