#include "graph/base/pass_names.hpp"

#include <algorithm>
#include <sstream>

#include "graph/base/environment.hpp"

namespace damo {

std::vector<std::string> with_environment(std::span<const std::string> disabled) {
  std::vector<std::string> names(disabled.begin(), disabled.end());
  std::istringstream list(environment("DAMO_DISABLE"));
  for (std::string name; std::getline(list, name, ',');) {
    if (!name.empty()) names.push_back(name);
  }
  return names;
}

bool is_disabled(std::string_view name) {
  const std::vector<std::string> names = with_environment({});
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace damo
