#include "op_family.hpp"

#include <algorithm>

namespace damo::testing {

const std::vector<const OpFamily*>& op_families() {
  static const std::vector<const OpFamily*> all = {&sorting_family, &indexing_family, &shapes_family, &windows_family, &products_family, &norms_family, &loops_family,
                                                   &draws_family, &factors_family, &fourier_family, &users_family, &statistics_family, &creation_family, &matrices_family,
                                                   &signals_family, &attention_family, &derivatives_family, &spaces_family};
  return all;
}

const OpFamily& op_family(const std::string& name) {
  for (const OpFamily* family : op_families()) {
    if (family->name == name) return *family;
  }
  throw std::logic_error("no family of ops is called " + name);
}

}  // namespace damo::testing
