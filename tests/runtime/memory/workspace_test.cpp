#include "runtime/memory/workspace.hpp"

#include <gtest/gtest.h>

#include <vector>

#include <damo/array.hpp>

#include "runtime/memory/memory_pool.hpp"
#include "support/host_backend.hpp"

namespace damo {
namespace {

using testing::HostBackend;

class WorkspaceOf4KiB : public ::testing::Test {
 protected:
  WorkspaceOf4KiB() { workspace_.begin(memory_.data(), memory_.size()); }
  std::byte* at(std::size_t offset) { return memory_.data() + offset; }

  HostBackend backend_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(4096);
  Workspace workspace_{backend_};
};

TEST_F(WorkspaceOf4KiB, GivesTheLowestPlaceThatIsFree) {
  EXPECT_EQ(workspace_.take(100), at(0));
  EXPECT_EQ(workspace_.take(300), at(256));
  EXPECT_EQ(workspace_.take(256), at(768));
  workspace_.give_back(at(256));
  EXPECT_EQ(workspace_.take(600), at(1024));
  EXPECT_EQ(workspace_.take(1), at(256));
  EXPECT_EQ(workspace_.take(256), at(512));
}

TEST_F(WorkspaceOf4KiB, GivesNothingWhereThereIsNoRoom) {
  EXPECT_EQ(workspace_.take(0), nullptr);
  EXPECT_EQ(workspace_.take(4097), nullptr);
  EXPECT_EQ(workspace_.take(4096), at(0));
  EXPECT_EQ(workspace_.take(1), nullptr);
  workspace_.give_back(at(0));
  EXPECT_TRUE(workspace_.is_free());
}

TEST_F(WorkspaceOf4KiB, ArraysOfTheThreadLieThereUntilTheyAreGone) {
  const Device device(&backend_);
  {
    const WorkspaceScope scope(&workspace_);
    const Array a = Array::empty({100}, float32, device), b = a;
    EXPECT_EQ(a.data(), at(0));
    const Scratch scratch(backend_, 10);
    EXPECT_EQ(scratch.data(), at(512));
    const Array beyond = Array::empty({1024}, float32, device);
    EXPECT_EQ(backend_.pool().statistics().allocations, 1u) << "what finds no room is the pool's";
    const WorkspaceScope none(nullptr);
    EXPECT_NE(Array::empty({1}, float32, device).data(), at(768));
  }
  EXPECT_TRUE(workspace_.is_free());
  EXPECT_EQ(backend_.pool().statistics().allocations, 2u);
}

TEST_F(WorkspaceOf4KiB, IsOfOneDevice) {
  HostBackend other;
  const WorkspaceScope scope(&workspace_);
  const Array array = Array::empty({100}, float32, Device(&other));
  EXPECT_TRUE(workspace_.is_free());
}

TEST(WorkspaceNeed, IsWhereTheLastPieceEndsWithThePlacesThatPiecesGet) {
  WorkspaceNeed need;
  const auto first = need.take(1000);
  need.take(100);
  need.give_back(first);
  EXPECT_EQ(need.bytes(), 1280u);
  need.pass(1024);
  EXPECT_EQ(need.bytes(), 1280u) << "in the first one's place";
  need.pass(1025);
  EXPECT_EQ(need.bytes(), 2560u);
  need.take(0);
  EXPECT_EQ(need.bytes(), 2560u);
}

}  // namespace
}  // namespace damo
