#include "runtime/kernel/variable_symbol.hpp"

#include <algorithm>

namespace damo {

std::string variable_symbol(const std::string& name) {
  if (name.find("::") == std::string::npos) return name;
  std::string symbol = "_ZN";
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find("::", begin), name.size());
    symbol += std::to_string(end - begin) + name.substr(begin, end - begin);
    begin = end + 2;
  }
  return symbol + "E";
}

}  // namespace damo
