// The names that DAMO_DISABLE takes: the passes that function() runs beside the user's own, and what calls do.
#pragma once
#include <array>
#include <string_view>

namespace damo {

inline constexpr std::string_view kMergeDuplicates = "merge_duplicates", kUseTf32 = "use_tf32", kFuseProducts = "fuse_products", kFuseElementwise = "fuse_elementwise",
                                  kJoinSinks = "join_sinks", kReplay = "replay";
inline constexpr std::array kPassNames = {kMergeDuplicates, kUseTf32, kFuseProducts, kFuseElementwise, kJoinSinks, kReplay};

/// Whether DAMO_DISABLE names it.
bool is_disabled(std::string_view name);

}  // namespace damo
