#include "ops/comparisons.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "ops/rows.hpp"

namespace damo {
namespace {

struct Comparison {
  std::string_view name;
  std::string_view sign;
  bool of_lesser;   ///< what it gives where x is less than y
  bool of_greater;  ///< where it is greater
};

constexpr Comparison kComparisons[] = {{"lt", "<", true, false},   {"le", "<=", true, false},
                                       {"gt", ">", false, true},   {"ge", ">=", false, true},
                                       {"eq", "==", false, false}, {"neq", "!=", true, true}};

const Comparison* comparison_of(const ElementwiseRow& row) {
  if (row.result != ResultRule::kBool || !is_builtin(row)) return nullptr;
  const Comparison* const found = std::find_if(std::begin(kComparisons), std::end(kComparisons),
                                               [&](const Comparison& c) { return c.name == row.name; });
  return found == std::end(kComparisons) ? nullptr : found;
}

}  // namespace

bool is_comparison(const ElementwiseRow& row) { return comparison_of(row) != nullptr; }

bool compares_unlike_signs(const ElementwiseRow& row, std::span<const DType> inputs) {
  if (inputs.size() != 2 || !is_comparison(row)) return false;
  const DType x = inputs[0], y = inputs[1];
  return is_integer(x) && is_integer(y) && is_signed(x) != is_signed(y) && (is_signed(x) ? y : x) == uint64;
}

std::string code_of_unlike_signs(const ElementwiseRow& row, bool signed_first) {
  const Comparison& comparison = *comparison_of(row);
  const std::string sign(comparison.sign);
  const std::string of_others = signed_first ? "(T(x0) " + sign + " x1)" : "(x0 " + sign + " T(x1))";
  const std::string negative = signed_first ? "x0 < 0" : "x1 < 0", other = signed_first ? "x0 >= 0" : "x1 >= 0";
  const bool of_negative = signed_first ? comparison.of_lesser : comparison.of_greater;
  return of_negative ? "(" + negative + ") | " + of_others : "(" + other + ") & " + of_others;
}

}  // namespace damo
