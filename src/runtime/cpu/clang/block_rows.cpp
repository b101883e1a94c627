#include "row_loops.hpp"

#include <llvm/IR/PatternMatch.h>

#include "markers.hpp"
#include "thread_function.hpp"

namespace damo::clang_plugin {
namespace {

constexpr const char* kQuestion = "__damo_row_threads";
constexpr std::uint64_t kMostThreads = 1024, kMostShift = 10;  ///< of a block

/// True if every use of value, or of it as 64 bits, passes the test. No index is negative, so that both extensions are one.
template <class Test>
bool is_used_only(const llvm::Value& value, const Test& test) {
  return llvm::all_of(value.users(), [&](const llvm::User* user) { return without_extension(user) == &value ? is_used_only(*user, test) : test(*user); });
}

/// The kernel's sums of blockIdx.x * blockDim.x and threadIdx.x, and the number that stands in the place of blockDim.x.
class IndexSums {
 public:
  bool has(const llvm::User& user) {
    if (global_index_axis(&user) == 0) return true;
    const auto* const sum = llvm::dyn_cast<llvm::BinaryOperator>(&user);
    if (!sum || sum->getOpcode() != llvm::Instruction::Add) return false;
    const llvm::Value *a = without_extension(sum->getOperand(0)), *b = without_extension(sum->getOperand(1));
    return (is_thread(a) && is_begin_of_block(b)) || (is_thread(b) && is_begin_of_block(a));
  }
  bool has_begin(const llvm::User& user) {
    return is_begin_of_block(&user) && is_used_only(user, [&](const llvm::User& sum) { return has(sum); });
  }
  unsigned size() const { return size_; }

 private:
  static bool is_thread(const llvm::Value* value) { return marker_slot(value) == kThread * 3; }
  static bool is_block(const llvm::Value* value) { return marker_slot(without_extension(value)) == kBlock * 3; }
  bool is_begin_of_block(const llvm::Value* value) {
    using namespace llvm::PatternMatch;
    if (block_product_axis(value, kBlock) == 0) return true;
    llvm::Value* block = nullptr;
    std::uint64_t threads = 0;
    if (match(value, m_Shl(m_Value(block), m_ConstantInt(threads)))) threads = threads <= kMostShift ? 1UL << threads : 0;
    else if (!match(value, m_c_Mul(m_Value(block), m_ConstantInt(threads)))) return false;
    if (!is_block(block) || threads == 0 || threads > kMostThreads || (size_ != 0 && size_ != threads)) return false;
    size_ = static_cast<unsigned>(threads);
    return true;
  }

  unsigned size_ = 0;
};

/// Nobody can tell in which order threads do it, and no call's report names a block and a thread.
bool is_unordered(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  if (orders_threads(instruction)) return false;
  if (!call || llvm::isa<llvm::IntrinsicInst>(call)) return true;
  return call->getCalledFunction()->getName().starts_with("__damo_") || !call->mayHaveSideEffects();
}

}  // namespace

std::optional<unsigned> size_of_joined_blocks(llvm::Function& entry) {
  IndexSums sums;
  const bool can_join = !uses_shared_memory(entry) && llvm::all_of(llvm::instructions(entry), [&](const llvm::Instruction& instruction) {
    const int slot = marker_slot(&instruction);
    if (slot == kThread * 3) return is_used_only(instruction, [&](const llvm::User& user) { return sums.has(user); });
    if (slot == kBlock * 3) return is_used_only(instruction, [&](const llvm::User& user) { return sums.has_begin(user); });
    return is_unordered(instruction);
  });
  return can_join ? std::optional(sums.size()) : std::nullopt;
}

void answer_by_rows(llvm::Function& function, bool answer) {
  for (llvm::CallInst* question : calls_of(function, "__damo_by_rows")) {
    question->replaceAllUsesWith(llvm::ConstantInt::get(question->getType(), answer));
    question->eraseFromParent();
  }
}

void limit_rows(llvm::Function& function, unsigned threads, unsigned size) {
  for (llvm::CallInst* question : calls_of(function, kQuestion)) {
    llvm::IRBuilder<> builder(question);
    llvm::Value* answer = builder.getInt32(threads);
    if (size != 0 && threads != 0) {
      answer = builder.CreateSelect(builder.CreateICmpEQ(call_marker(builder, kBlockSize, 0), builder.getInt32(size)), answer, builder.getInt32(0));
    }
    question->replaceAllUsesWith(answer);
    question->eraseFromParent();
  }
}

}  // namespace damo::clang_plugin
