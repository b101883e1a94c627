// Joins of several values at once, as a user describes them: for KernelBuilder and ReductionKernel.
#pragma once
#include <string>
#include <vector>

#include <damo/dtype.hpp>
#include "runtime/kernel/spec.hpp"

namespace damo {

/// One of the values: its name in the texts, and expressions as KernelBuilder::Member has them.
struct JoinedMember {
  std::string name;
  DType dtype = float32;
  std::string element, neutral, reduce;
};

inline constexpr int kMostJoinedBytes = 64;  ///< of an accumulator

/// Throws GraphError, which begins with `what`, for members that make no sense.
void check_members(const std::string& what, const std::vector<JoinedMember>& members);
/// Of a struct of them, as C lays it out.
int bytes_of(const std::vector<JoinedMember>& members);
/// Makes of the step one that joins the members, and gives none of them yet: its join has no post.
void join_members(const std::string& what, Step& step, const std::vector<JoinedMember>& members, std::string before);

}  // namespace damo
