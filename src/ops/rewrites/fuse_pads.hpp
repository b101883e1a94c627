// pad_fills (rules_pads.cpp): what is set into a fill is padded, and elementwise work that keeps a frame's number is done behind the pad. Extents are known, or of an axis that is taken whole, of a fill in the shape of an
// input, provably the same (SymbolicShapes), so that no check of shapes is lost.
// fuse_pads: kernels read what `pad` would put amid a value where it lies, and have the value for places beside it (runtime/kernel/framed.hpp). A PadOp whose reader does so goes away; the reader becomes a FusedOp with
// what is padded among its inputs (FusedOp::frames). So the gradient of a stencil, a sum of what is set into zeros (rule pad_set_fill), reads what comes back once and is one kernel.
//
// Condition, of a pad:
//   - its value is a number;
//   - it is read by one kernel, which is elementwise, not for its shape: each of several would read it anew;
//   - a frame counts as two more inputs of the reader (FusionLimits::inputs): the gradient of a stencil of 13 points is one kernel, of more it reads pads that stay;
//   - neither what it pads nor what else the reader reads was turned by a view: no kernel that reads amid a frame has tiles, so it would read these across memory.
// A pad that stays is one kernel too (PadOp). Values are those of the ops. For targets whose kernels find frames. Behind fuse_elementwise and fuse_takes, before join_sinks; linear in the graph.
// Tests: tests/ops/rewrites/fuse_pads_test.cpp, tests/function/pad_fusion_test.cpp.
#pragma once
#include <span>
#include <string>

#include <damo/graph.hpp>
#include <damo/options.hpp>
#include "ops/rewrites/fusion_record.hpp"

namespace damo {

/// disabled: names of rules.
FunctionGraph pad_fills(FunctionGraph graph, std::span<const std::string> disabled);
/// record: what it says of nodes that become others is said of these.
FunctionGraph fuse_pads(FunctionGraph graph, const FusionLimits& limits, FusionRecord* record = nullptr);

}  // namespace damo
