// CUDA C that the fuzz test starts from: kernels in many styles, and texts that misuse what the compiler takes for its own.
#pragma once
#include <span>
#include <string_view>

namespace damo::cpu_backend::testing {

/// Sources that compile.
std::span<const std::string_view> seed_sources();

/// Sources that attack the prelude's names, the macros, the entries and the tables. Most do not compile.
std::span<const std::string_view> hostile_sources();

}  // namespace damo::cpu_backend::testing
