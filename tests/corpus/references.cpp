#include "references.hpp"

#include <stdexcept>

namespace damo::corpus {
namespace {

struct Functions {
  Reference::Function compute, prepare;
};

std::map<std::string, Functions>& table() {
  static std::map<std::string, Functions> functions;
  return functions;
}

}  // namespace

Reference::Reference(const char* name, Function compute, Function prepare) { table()[name] = {compute, prepare}; }

void prepare(const std::string& name, Arrays& arrays) {
  const auto found = table().find(name);
  if (found != table().end() && found->second.prepare) found->second.prepare(arrays);
}

void compute_reference(const std::string& name, Arrays& arrays) {
  const auto found = table().find(name);
  if (found == table().end()) throw std::runtime_error("no reference for " + name);
  found->second.compute(arrays);
}

}  // namespace damo::corpus
