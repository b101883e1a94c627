// The passes that function() runs beside the user's own, by the names that DAMO_DISABLE takes.
#pragma once
#include <array>
#include <string_view>

namespace damo {

inline constexpr std::string_view kMergeDuplicates = "merge_duplicates", kUseTf32 = "use_tf32", kFuseProducts = "fuse_products", kFuseElementwise = "fuse_elementwise",
                                  kJoinSinks = "join_sinks";
inline constexpr std::array kPassNames = {kMergeDuplicates, kUseTf32, kFuseProducts, kFuseElementwise, kJoinSinks};

}  // namespace damo
