// Which parts of the prelude a source may use, by the words in it. Too many cost time; one too few would be an error, so
// a source that includes headers of its own or pastes words together gets all parts.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace damo::clang_plugin {

/// What nvcc declares without an include, in reading order: after cuda_c.h, and in the precompiled prelude.
inline constexpr const char* kBaseParts[] = {"cuda_math.h", "cuda_intrinsics.h", "cuda_atomics.h", "cuda_unsupported.h"};
/// Rarer, read where named.
inline constexpr const char* kExtraParts[] = {"cuda_special.h", "cuda_rounding.h", "cuda_simd.h", "cuda_half.h", "cuda_std.h", "cuda_texture_references.h"};

bool wants(const std::string& source, std::string_view part);

/// The math_*.h files of families of which the source names no function.
std::vector<std::string_view> unwanted_math(const std::string& source, bool cuda);

}  // namespace damo::clang_plugin
