#include "ops/rows.hpp"

#include <algorithm>
#include <cctype>

#include "ops/row_gradients.hpp"

namespace damo {
namespace {

using enum ResultRule;
using enum Domain;

#define DAMO_ROW1(row, ...) \
  {.name = #row, __VA_ARGS__, .gradient = row_gradients::row, .line = __LINE__, .file = "damo/ops/rows.inc"},
#define DAMO_ROW2 DAMO_ROW1
#define DAMO_ROW3 DAMO_ROW1
/// Made when first asked for and never freed: other static objects may use it before this file's would be made, and after.
const std::vector<ElementwiseRow>& rows_of_the_table() {
  static const auto* const rows = new std::vector<ElementwiseRow>{
#include <damo/ops/rows.inc>
  };
  return *rows;
}
#undef DAMO_ROW1
#undef DAMO_ROW2
#undef DAMO_ROW3

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// One more than the greatest n of the xn in code.
int inputs_of(std::string_view code) {
  int count = 0;
  for (std::size_t at = 0; at + 1 < code.size(); ++at) {
    const bool begins = code[at] == 'x' && (at == 0 || !in_name(code[at - 1]));  // not the x of max2
    if (!begins) continue;
    std::size_t end = at + 1;
    int number = 0;
    for (; end < code.size() && std::isdigit(static_cast<unsigned char>(code[end])); ++end)
      number = 10 * number + code[end] - '0';
    if (end > at + 1 && (end == code.size() || !in_name(code[end]))) count = std::max(count, number + 1);
  }
  return count;
}

}  // namespace

std::span<const ElementwiseRow> builtin_rows() { return rows_of_the_table(); }

int arity(const ElementwiseRow& row) {
  return std::max({inputs_of(row.code), inputs_of(row.integer_code), inputs_of(row.bool_code)});
}

std::vector<const ElementwiseRow*> elementwise_rows() {
  std::vector<const ElementwiseRow*> rows;
  for (const ElementwiseRow& row : builtin_rows()) rows.push_back(&row);
  return rows;
}

const ElementwiseRow* find_elementwise(std::string_view name) {
  for (const ElementwiseRow& row : builtin_rows()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

const std::string& code_for(const ElementwiseRow& row, DType dtype) {
  if (dtype == bool_ && !row.bool_code.empty()) return row.bool_code;
  return is_floating(dtype) || row.integer_code.empty() ? row.code : row.integer_code;
}

bool takes(const ElementwiseRow& row, DType promoted) {
  if (is_float8(promoted)) return row.moves;
  switch (row.domain) {
    case kAll:
      return true;
    case kNumbers:
      return promoted != bool_;
    case kFloats:
      return is_floating(computed_in(row, promoted));
    case kIntegers:
      return !is_floating(promoted) && promoted != bool_;
    default:
      return !is_floating(promoted);
  }
}

DType computed_in(const ElementwiseRow& row, DType promoted) {
  if (is_floating(promoted)) return promoted;
  return row.result == kFloating ? floating_of(promoted) : row.result == kDivision ? float64 : promoted;
}

DType result_of(const ElementwiseRow& row, DType promoted) {
  return row.result == kBool ? bool_ : computed_in(row, promoted);
}

}  // namespace damo
