// simplify: the rules of docs/rewrites.md, as one pass. Each keeps every value, NaN, infinities and the sign of 0 among them, but those of
// rules_stability.cpp, which give what the expression means where its parts overflow, cancel or round, and those of powers, which round
// less. A rule that would hide an error of shapes does not apply. tests/ops/rewrites/simplify_test.cpp, tests/random_graph.
#pragma once
#include <vector>

#include <damo/rewrite.hpp>

namespace damo {

/// reassociates: Options::reassociate.
std::vector<Rule> simplification_rules(bool reassociates);

}  // namespace damo
