// ScanOp: one built-in prefix join along an axis.
#pragma once
#include <string>

#include <damo/axes.hpp>
#include <damo/kernel_op.hpp>
#include "ops/reductions.hpp"

namespace damo {

class ScanOp final : public KernelOp {
 public:
  ScanOp(ScanKind kind, int axis, ScanOptions options) : kind_(kind), axis_(axis), options_(options) {}

  std::string name() const override { return name_of(kind_); }
  Props props() const override { return {{"axis", std::int64_t{axis_}}, {"reverse", options_.reverse}, {"exclusive", options_.exclusive}}; }
  Apply make_node(Inputs inputs) const override;
  void lower(KernelBuilder& kernel) const override;
  std::optional<std::uint32_t> reduced_axes() const override { return std::uint32_t{1} << axis_; }
  Scans scans() const override { return options_.reverse ? Scans::kBackward : Scans::kForward; }
  int cost() const override { return 3; }
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override;
  bool equals(const Op& other) const override;
  std::size_t hash() const override { return static_cast<std::size_t>(axis_) * 64 + static_cast<std::size_t>(kind_) * 4 + options_.reverse * 2 + options_.exclusive; }

 private:
  ScanKind kind_;
  int axis_;
  ScanOptions options_;
};

/// Built at that line. inputs: x, or m and c of a recurrence.
Variable scan(ScanKind kind, std::span<const Variable> inputs, int axis, ScanOptions options, SourceLine line);

}  // namespace damo
