#include <damo/kernel.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/error.hpp>

#include "runtime/module/pending_kernel.hpp"
#include "support/counting_backend.hpp"
#include "support/errors.hpp"

namespace damo {
namespace {

using damo::testing::CountingBackend;
using damo::testing::error_of;

class FakeKernel final : public LoadedKernel {
 public:
  FakeKernel(Backend& owner, std::vector<std::size_t> parameters) {
    name_ = "scale";
    if (!parameters.empty()) parameters_.emplace();
    for (std::size_t bytes : parameters) parameters_->push_back(ParameterType::of_bytes(bytes));
    backend = &owner;
  }
};

class KernelTest : public ::testing::Test {
 protected:
  Kernel kernel(std::vector<std::size_t> parameters = {}) {
    loaded_ = std::make_shared<FakeKernel>(backend_, std::move(parameters));
    return {loaded_, Stream::default_of(Device(&backend_))};
  }
  std::string launch_message(const LaunchConfig& config) {
    return error_of([&] { kernel().launch(config); });
  }

  CountingBackend backend_;
  std::shared_ptr<FakeKernel> loaded_;
};

TEST_F(KernelTest, PassesTheAddressOfEachArgument) {
  int calls = 0;
  backend_.on_launch = [&](void* const* arguments) {
    ++calls;
    EXPECT_EQ(*static_cast<float*>(arguments[0]), 2.5f);
    EXPECT_EQ(*static_cast<std::int64_t*>(arguments[1]), -7);
    EXPECT_EQ(*static_cast<bool*>(arguments[2]), true);
  };
  kernel({4, 8, 1}).launch({.grid = {3}, .block = {64}, .shared_bytes = 16}, 2.5f, std::int64_t{-7}, true);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(backend_.last_config.grid[0], 3);
  EXPECT_EQ(backend_.last_config.block, (Dim3{64, 1, 1}));
  EXPECT_EQ(backend_.last_config.shared_bytes, 16u);
}

TEST_F(KernelTest, PassesManyArguments) {
  backend_.on_launch = [&](void* const* arguments) {
    EXPECT_EQ(*static_cast<int*>(arguments[0]), 1);
    EXPECT_EQ(*static_cast<int*>(arguments[39]), 4);
  };
  const auto many = [&](auto... four) {
    kernel().launch({}, four..., four..., four..., four..., four..., four..., four..., four..., four..., four...);
  };
  many(1, 2, 3, 4);
}

TEST_F(KernelTest, LaunchesBlocksOf256ForACount) {
  kernel().launch_1d(1025);
  EXPECT_EQ(backend_.last_config.grid[0], 5);
  EXPECT_EQ(backend_.last_config.block[0], 256);
  backend_.last_config.grid[0] = 77;
  kernel().launch_1d(0);
  EXPECT_EQ(backend_.last_config.grid[0], 77) << "a count of 0 launches nothing";
}

TEST_F(KernelTest, RefusesAWrongNumberOfArguments) {
  EXPECT_EQ(error_of([&] {
              kernel({8, 4}).launch({}, 1);
            }),
            "launch of 'scale': 1 argument is given, the kernel has 2 parameters\n  give one argument a parameter, "
            "in order");
}

TEST_F(KernelTest, NamesTheArgumentOfTheWrongSize) {
  EXPECT_EQ(
      error_of([&] {
        kernel({4, 4}).launch({}, 1.0f, 2.0);
      }),
      "launch of 'scale': argument 2 of 2 has 8 bytes, the kernel's parameter has 4\n"
      "  pass a value of the parameter's own type: std::int32_t for int, float for float, an Array for a pointer");
  EXPECT_THROW(kernel({4, 4}).launch({}, 1.0f, 2.0), TypeError);
}

TEST_F(KernelTest, NamesTheLimitThatALaunchBreaks) {
  EXPECT_EQ(launch_message({.block = {2048}}), "launch of 'scale': block of 2048 threads: counting allows 1024\n  give the block fewer threads and the grid more blocks");
  EXPECT_EQ(launch_message({.block = {32, 32, 2}}), "launch of 'scale': block of 2048 threads: counting allows 1024\n  give the block fewer threads and the grid more blocks");
  EXPECT_EQ(launch_message({.block = {1, 1, 65}}),
            "launch of 'scale': block of 65 along z: counting allows 64\n"
            "  let each thread take several elements, with a grid-stride loop");
  EXPECT_EQ(launch_message({.grid = {1, 65536}}),
            "launch of 'scale': grid of 65536 along y: counting allows 65535\n"
            "  let each thread take several elements, with a grid-stride loop");
  EXPECT_EQ(
      launch_message({.grid = {0}}),
      "launch of 'scale': grid of 0 along x: an extent is at least 1\n  launch nothing where there is nothing to do");
  EXPECT_THAT(launch_message({.block = {4, -1}}), ::testing::HasSubstr("block of -1 along y"));
  EXPECT_THAT(launch_message({.grid = {std::int64_t{1} << 32}}), ::testing::HasSubstr("grid of 4294967296 along x"));
  EXPECT_EQ(
      launch_message({.shared_bytes = 50000}),
      "launch of 'scale': shared memory of 50000 bytes and 0 in the kernel's text: counting allows 49152 a block\n  work on smaller tiles");
  EXPECT_EQ(launch_message({.grid = {2147483647, 65535, 65535}, .block = {32, 32}, .shared_bytes = 49152}),
            "nothing thrown");
}

TEST_F(KernelTest, NamesTheKernelsOwnLimitOfThreads) {
  const Kernel limited = kernel();
  loaded_->max_threads_per_block = 256;
  loaded_->registers = 200;
  EXPECT_EQ(error_of([&] { limited.launch({.block = {512}}); }),
            "launch of 'scale': block of 512 threads: this kernel allows 256 on counting\n"
            "  it needs 200 registers a thread, or its __launch_bounds__ says so");
  EXPECT_EQ(error_of([&] { limited.launch({.block = {256}}); }), "nothing thrown");
}

TEST_F(KernelTest, OfNothingSaysWhereToGetOne) {
  EXPECT_FALSE(Kernel());
  EXPECT_EQ(Kernel().name(), "(no kernel)");
  EXPECT_EQ(error_of([] { Kernel().launch({}); }), "launch of an empty Kernel\n  get one from Module::kernel or ThunkContext::compile");
}

TEST_F(KernelTest, ThatIsPendingLaunchesOnceItIsCompiled) {
  const auto pending = std::make_shared<PendingKernel>("scale", backend_);
  const Kernel handle(pending, Stream::default_of(Device(&backend_)));
  EXPECT_EQ(handle.name(), "scale");
  EXPECT_EQ(error_of([&] { handle.launch({}); }),
            "kernel 'scale' is launched before it is compiled\n"
            "  launch it in the thunk: kernels are compiled together when every make_thunk has returned");
  pending->resolve(std::make_shared<FakeKernel>(backend_, std::vector<std::size_t>{4}));
  int calls = 0;
  backend_.on_launch = [&](void* const*) { ++calls; };
  handle.launch({}, 1);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace damo
