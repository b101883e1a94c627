// The names that DAMO_DISABLE takes: the passes that function() runs beside the user's own, and what calls do, or do not.
#pragma once
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace damo {

inline constexpr std::string_view kMergeDuplicates = "merge_duplicates", kSimplify = "simplify", kForwardShapes = "forward_shapes", kUseTf32 = "use_tf32", kFuseProducts = "fuse_products", kFuseElementwise = "fuse_elementwise",
                                  kFuseTakes = "fuse_takes", kPadFills = "pad_fills", kFusePads = "fuse_pads", kJoinSinks = "join_sinks", kJoinSorts = "join_sorts", kTrimLoops = "trim_loops", kPushOutOfLoops = "push_out_of_loops", kSinkBranches = "sink_branches", kDivideAmongParts = "divide_among_parts", kDivideRows = "divide_rows", kRewriteInnerGraphs = "rewrite_inner_graphs", kFuseLoops = "fuse_loops",
                                  kAttentionKernels = "attention_kernels", kRefineSpaces = "refine_spaces", kReduceInSteps = "reduce_in_steps", kPassContiguous = "pass_contiguous", kReplay = "replay", kSideBySide = "side_by_side", kJoinMoments = "join_moments", kJoinExponentials = "join_exponentials", kSeekElements = "seek_elements";
inline constexpr std::array kPassNames = {kMergeDuplicates, kSimplify, kForwardShapes, kUseTf32, kFuseProducts, kFuseElementwise, kFuseTakes, kPadFills, kFusePads, kJoinSinks, kJoinSorts, kTrimLoops, kPushOutOfLoops, kSinkBranches, kDivideAmongParts, kDivideRows, kRewriteInnerGraphs, kFuseLoops, kAttentionKernels, kRefineSpaces, kReduceInSteps, kPassContiguous, kReplay, kSideBySide, kJoinMoments, kJoinExponentials, kSeekElements};

/// Those of what calls do: for all Functions, not for one.
inline constexpr std::array kCallNames = {kReplay, kSideBySide, kJoinMoments, kJoinExponentials, kSeekElements};

/// These names and those of DAMO_DISABLE.
std::vector<std::string> with_environment(std::span<const std::string> disabled);
/// Whether DAMO_DISABLE names it.
bool is_disabled(std::string_view name);

}  // namespace damo
