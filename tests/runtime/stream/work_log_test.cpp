// What a WorkLog notes: work that is done later, by itself or by a graph.
#include "runtime/stream/work_log.hpp"

#include <memory>

#include <gtest/gtest.h>

#include "support/host_backend.hpp"

namespace damo {
namespace {

class OwnKernel final : public LoadedKernel {
 public:
  explicit OwnKernel(std::uint32_t bytes) { block_bytes = bytes; }
};

TEST(WorkLog, KeepsKernelsThatTheirOwnersLetGoOf) {
  testing::HostBackend backend;
  WorkLog log(backend);
  log.begin();
  auto kernel = std::make_shared<const OwnKernel>(8);
  const std::weak_ptr<const OwnKernel> seen = kernel;
  const double block = 1;
  void* arguments[] = {const_cast<double*>(&block)};
  ASSERT_TRUE(log.launch(*kernel, {}, arguments));
  kernel.reset();
  EXPECT_FALSE(seen.expired()) << "the device does not have it yet";
  const std::unique_ptr<WorkLog> copy = log.clone();
  log.clear();
  EXPECT_FALSE(seen.expired()) << "a graph would be made of the copy";
  copy->clear();
  EXPECT_TRUE(seen.expired());
  log.end();
}

TEST(WorkLog, LeavesAKernelThatNobodyOwnsToTheCaller) {
  testing::HostBackend backend;
  WorkLog log(backend);
  log.begin();
  const OwnKernel kernel(8);
  const double block = 1;
  void* arguments[] = {const_cast<double*>(&block)};
  EXPECT_FALSE(log.launch(kernel, {}, arguments));
  EXPECT_TRUE(log.empty());
  log.end();
}

}  // namespace
}  // namespace damo
