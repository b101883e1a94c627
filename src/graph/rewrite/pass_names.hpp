// The passes that function() runs beside the user's own, by the names that DAMO_DISABLE takes.
#pragma once
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace damo {

inline constexpr std::string_view kMergeDuplicates = "merge_duplicates", kSimplify = "simplify", kForwardShapes = "forward_shapes", kUseTf32 = "use_tf32", kFuseProducts = "fuse_products", kFuseElementwise = "fuse_elementwise",
                                  kJoinSinks = "join_sinks";
inline constexpr std::array kPassNames = {kMergeDuplicates, kSimplify, kForwardShapes, kUseTf32, kFuseProducts, kFuseElementwise, kJoinSinks};

/// These names and those of DAMO_DISABLE.
std::vector<std::string> with_environment(std::span<const std::string> disabled);

}  // namespace damo
