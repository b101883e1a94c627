#include "thread_places.hpp"

#include <llvm/IR/PatternMatch.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "../ir.hpp"
#include "../markers.hpp"

namespace damo::clang_plugin {
namespace {

using namespace llvm::PatternMatch;

bool is(const llvm::Value* value, MarkerGroup group, int axis) { return marker_slot(value) == group * 3 + axis; }

/// What is added to threadIdx.axis times what blockDim.axis is multiplied by; value itself behind the last axis.
std::optional<Origin> origin_of(llvm::Value* value, int axis = 0) {
  constexpr Origin kOrigins[] = {Origin::kRow, Origin::kPlane, Origin::kBlock};
  if (is(value, kThread, axis)) return kOrigins[axis];
  llvm::Value *a = nullptr, *b = nullptr, *c = nullptr, *d = nullptr;
  if (axis == 2 || !match(value, m_Add(m_Value(a), m_Value(b)))) return std::nullopt;
  if (is(b, kThread, axis)) std::swap(a, b);
  if (!is(a, kThread, axis) || !match(b, m_Mul(m_Value(c), m_Value(d)))) return std::nullopt;
  return is(c, kBlockSize, axis) ? origin_of(d, axis + 1) : is(d, kBlockSize, axis) ? origin_of(c, axis + 1) : std::nullopt;
}

/// No number of a thread is negative: all forms of a division are one.
std::optional<Place> part_of_number(llvm::Value& value, llvm::Value*& number) {
  const auto by = [&](std::uint64_t constant) { return m_SpecificInt(constant); };
  if (match(&value, m_CombineOr(m_And(m_Value(number), by(31)), m_CombineOr(m_URem(m_Value(number), by(32)), m_SRem(m_Value(number), by(32)))))) return kLane;
  const bool is_shifted = match(&value, m_Shr(m_Value(number), by(5)));
  if (is_shifted || match(&value, m_CombineOr(m_UDiv(m_Value(number), by(32)), m_SDiv(m_Value(number), by(32))))) return kWarp;
  return std::nullopt;
}

struct Part {
  llvm::Instruction* instruction;
  Place place;
  Origin origin;
};

}  // namespace

Origin name_places(llvm::Function& function) {
  unite_markers(function);
  std::vector<Part> parts;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    llvm::Value* number = nullptr;
    if (!instruction.getType()->isIntegerTy(32)) continue;
    if (const auto place = part_of_number(instruction, number)) {
      if (const auto origin = origin_of(number)) parts.push_back({&instruction, *place, *origin});
    } else if (!is(&instruction, kThread, 0) && origin_of(&instruction) == Origin::kBlock) {
      parts.push_back({&instruction, kNumber, Origin::kBlock});
    }
  }
  Origin least = Origin::kBlock;
  for (const Part& part : parts) least = std::min(least, part.origin);
  for (const Part& part : parts) {
    if (part.place != kNumber && part.origin != least) continue;
    llvm::IRBuilder<> builder(part.instruction);
    part.instruction->replaceAllUsesWith(call_marker(builder, kPlace, part.place - kLane));
  }
  unite_markers(function);
  return least;
}

}  // namespace damo::clang_plugin
