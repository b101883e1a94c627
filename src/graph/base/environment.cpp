#include "graph/base/environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include <damo/error.hpp>
#include <damo/log.hpp>

namespace damo {
namespace {

/// Of tests, examples, scripts and the build; a program that finds them set has nothing to say.
constexpr std::string_view kOthers[] = {"DAMO_EXAMPLE_DATA", "DAMO_ROOT", "DAMO_DIR", "DAMO_BUILD_DIR", "DAMO_CHECK_STEPS", "DAMO_COMMIT"};
constexpr std::string_view kOtherPrefixes[] = {"DAMO_TEST_", "DAMO_FUZZ_", "DAMO_RANDOM_GRAPH_", "DAMO_ISA_", "DAMO_SANITIZE_", "DAMO_PEERS_"};

const EnvironmentVariable* find(std::string_view name) {
  const auto variables = environment_variables();
  const auto found = std::find_if(variables.begin(), variables.end(), [&](const auto& variable) { return variable.name == name; });
  return found == variables.end() ? nullptr : &*found;
}

bool is_anothers(std::string_view name) {
  return std::find(std::begin(kOthers), std::end(kOthers), name) != std::end(kOthers) ||
         std::any_of(std::begin(kOtherPrefixes), std::end(kOtherPrefixes), [&](std::string_view prefix) { return name.starts_with(prefix); });
}

/// Without the marks that make a value code in the user guide.
std::string plain(std::string_view text) {
  std::string result(text);
  std::erase(result, '`');
  return result;
}

std::string problem_of(std::string_view name, std::string_view value) {
  if (const EnvironmentVariable* variable = find(name)) {
    if (value.empty() || variable->takes(value)) return {};
    return std::string(name) + " is '" + std::string(value) + "'; it takes " + plain(variable->values);
  }
  std::vector<std::string_view> names;
  for (const EnvironmentVariable& variable : environment_variables()) names.emplace_back(variable.name);
  if (const std::string_view like = nearest(name, names); !like.empty()) {
    return std::string(name) + " is no variable of Damo's; " + std::string(like) + " is";
  }
  return std::string(name) + " is no variable of Damo's; `damo doctor` lists them";
}

}  // namespace

std::string environment(const char* name) {
  if (std::string_view(name).starts_with("DAMO_") && !find(name)) throw InternalError(std::string(name) + " is in no table");
  const char* const text = secure_getenv(name);
  return text ? text : "";
}

bool is_switched_on(const char* variable) {
  const std::string value = environment(variable);
  if (value.empty() || value == "0") return false;
  if (value == "1") return true;
  throw OptionError(std::string(variable) + " is '" + value + "', which is neither 0 nor 1", std::string(variable) + "=1 switches it on");
}

std::vector<std::string> environment_problems() {
  std::vector<std::string> problems;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (!name.starts_with("DAMO_") || is_anothers(name)) continue;
    if (!secure_getenv(std::string(name).c_str())) continue;
    if (std::string problem = problem_of(name, text.substr(std::min(name.size() + 1, text.size()))); !problem.empty()) problems.push_back(std::move(problem));
  }
  std::sort(problems.begin(), problems.end());
  return problems;
}

void report_environment() {
  static std::atomic<bool> is_reported = false;
  if (is_reported.load(std::memory_order_relaxed) || is_reported.exchange(true)) return;
  std::string line;
  for (const std::string& problem : environment_problems()) line += (line.empty() ? "environment: " : "; ") + problem;
  if (!line.empty()) log(LogLevel::kWarning, line);
}

}  // namespace damo
