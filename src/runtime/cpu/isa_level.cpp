#include "runtime/cpu/isa_level.hpp"

#include <string_view>

#include <damo/error.hpp>

#include "graph/base/environment.hpp"

namespace damo::cpu_backend {
namespace {

struct Level {
  std::string_view name;
  bool (*is_here)();  ///< with the registers that the operating system saves
};

// Of each level the features that some CPU of the level below lacks; what else it has came with these.
constexpr Level kLevels[] = {
    {"x86-64-v2", [] { return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt"); }},
    {"x86-64-v3", [] { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"); }},
    {"x86-64-v4", [] {
       return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
              __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
     }}};

[[noreturn]] void refuse(const std::string& level, const std::string& why) {
  std::string choices = "native";
  for (const Level& known : kLevels) {
    if (known.is_here()) choices += std::string(" or ") += known.name;
  }
  throw OptionError("DAMO_CPU_ISA is '" + level + "', " + why, "on this CPU say " + choices);
}

}  // namespace

std::string isa_level() {
  const std::string level = environment("DAMO_CPU_ISA");
  if (level.empty() || level == "native") return {};
  for (const Level& known : kLevels) {
    if (level != known.name) continue;
    if (!known.is_here()) refuse(level, "which this CPU can't run");
    return level;
  }
  refuse(level, "which is no level of instructions");
}

}  // namespace damo::cpu_backend
