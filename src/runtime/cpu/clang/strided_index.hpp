// The index of a loop of steps: i of for (i = begin; i < bound; i += distance), as it stands in the text.
#pragma once
#include <optional>

#include "ir.hpp"

namespace damo::clang_plugin {

struct StridedIndex {
  llvm::PHINode* phi = nullptr;
  llvm::Value *begin = nullptr, *distance = nullptr, *bound = nullptr;
  bool includes_bound = false;  ///< i <= n
  bool is_signed = false;       ///< the comparison
  bool in_own_width = false;    ///< i itself is compared, no extension of it
  bool cant_wrap = false;       ///< i, as a signed number
};

/// phi, of the header of steps, if that is what goes on by a sum and what test, at the end of the header, compares.
std::optional<StridedIndex> read_strided_index(const llvm::Loop& steps, const llvm::BranchInst& test, llvm::PHINode& phi);

}  // namespace damo::clang_plugin
