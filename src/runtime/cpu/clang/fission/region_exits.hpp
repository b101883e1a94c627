// What follows a region. Where all threads take one way, the block goes there; where they part, each notes its next
// region and the runtime's damo_next_region says which comes first. Waits are done on the way.
#pragma once
#include "region_values.hpp"
#include "regions.hpp"
#include "thread_loop.hpp"

namespace damo::clang_plugin {

class RegionExits {
 public:
  RegionExits(ThreadProgram& program, Regions& regions, ThreadMemory& memory, std::map<Region*, ThreadLoop>& loops);

  /// Gives the wait's result the address where it will be found. For each, before values are connected.
  void place_result(const Wait& wait);
  /// Ties the loops together, and to the function's beginning and end. After values are connected.
  void connect(const RegionValues& values);
  /// Threads that are elsewhere, or have returned, take no part in region. by_row: asked of the first thread of a row, or part of one.
  void admit(Region& region, bool by_row);
  /// Nor do those that the guards keep off.
  void guard(const ThreadLoop& loop, const RegionValues::Conditions& conditions);

 private:
  llvm::Value* element(llvm::IRBuilder<>& builder, llvm::Value* array, llvm::Type* type, const ThreadLoop& loop) const;
  void connect_region(Region& region, const RegionValues& values);
  void leave_loop(Region& region, const Exit& exit, unsigned arc, llvm::Value* chosen, const RegionValues& values);
  void note_wait(llvm::IRBuilder<>& builder, const ThreadLoop& loop, const Region& region, const Wait& wait);
  llvm::BasicBlock* make_arc(const Exit& exit);
  void end_wait(llvm::IRBuilder<>& builder, const Wait& wait);
  void dispatch();

  ThreadProgram& program_;
  Regions& regions_;
  ThreadMemory& memory_;
  std::map<Region*, ThreadLoop>& loops_;
  llvm::Value* next_ = nullptr;      ///< of each thread: the number of its next region, kReturned once it has returned
  llvm::Value* kinds_ = nullptr;     ///< of each thread: what it waits for, where the runtime is to end it
  llvm::Value *values_ = nullptr, *operands_ = nullptr, *masks_ = nullptr;  ///< of each thread: what it brings to what it waits for
  llvm::BasicBlock* dispatch_ = nullptr;
};

}  // namespace damo::clang_plugin
