// JoinedOp: several FusedOps whose kernels have one text, on arrays of their own, as one launch (joined_kernel.hpp). Its inputs are
// those of its members, one after the other, and so are its outputs. Made by join_sinks; users see it in prints.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "ops/fused_op.hpp"

namespace damo {

class JoinedOp final : public Op {
 public:
  /// Elementwise members alone, without a reduction, be it over no axes, each of which has one space for all of its outputs; at least one. Blocks run in any order, so no
  /// member may read a shared variable that another one updates.
  /// guarded: by output of a member, of all members alike (KernelSpec::guarded).
  explicit JoinedOp(std::vector<std::shared_ptr<const FusedOp>> members, std::vector<bool> guarded = {});

  std::string name() const override { return "joined"; }
  bool takes_float8() const override { return true; }
  Props props() const override;
  Apply make_node(Inputs inputs) const override;
  Shapes infer_shape(const Apply& node, std::span<const Shape> inputs) const override;
  /// Within a member: the blocks of another one may read the input when this one's have written.
  bool may_run_in_place(int output, int input) const override;
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override;
  bool equals(const Op& other) const override { return this == &other; }
  std::size_t hash() const override { return std::hash<const void*>()(this); }

  const std::vector<std::shared_ptr<const FusedOp>>& members() const { return members_; }

 private:
  std::vector<std::shared_ptr<const FusedOp>> members_;
  std::vector<bool> guarded_;
};

}  // namespace damo
