#include <damo/damo.hpp>

#include "workload.hpp"

namespace damo::bench {
namespace {

Variable chain(const Variable& x) {
  Variable z = x;
  for (int i = 0; i < 333'333; ++i) z = tanh(z * (1.0001 + 1e-7 * i) + 1e-6 * i);
  return z;
}

Variable tree(const Variable& x) {
  std::vector<Variable> level;
  for (int i = 0; i < 500'000; ++i) level.push_back(x * (1.0001 + 1e-6 * i));
  while (level.size() > 1) {
    std::vector<Variable> above;
    for (std::size_t i = 0; i + 1 < level.size(); i += 2) above.push_back(level[i] + level[i + 1]);
    if (level.size() % 2 == 1) above.push_back(level.back());
    level = std::move(above);
  }
  return level[0];
}

Variable gradient_of_ops(const Variable& x) {
  Variable z = x;
  for (int i = 0; i < 1250; ++i) {
    const Variable product = z * x;
    z = tanh(product + 1e-3 * i) - product;
  }
  return grad(sum(z), x);
}

}  // namespace

std::vector<LargeGraph> large_graphs() { return {{"large_chain_1000000", chain}, {"large_tree_500000", tree}, {"large_gradient_5000", gradient_of_ops}}; }

}  // namespace damo::bench
