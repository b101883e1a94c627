// damo ops: the table of elementwise rows. docs/ops.md is what --markdown prints.
#include <algorithm>
#include <cstdio>
#include <iostream>

#include <nlohmann/json.hpp>

#include <damo/elementwise.hpp>

#include "commands.hpp"

namespace damo::tool {
namespace {

std::string dtypes(const ElementwiseRow& row) {
  switch (row.domain) {
    case Domain::kNumbers:
      return "numbers";
    case Domain::kFloats:
      return row.result == ResultRule::kSame ? "floating" : "numbers";
    case Domain::kIntegersAndBool:
      return "integers, bool";
    case Domain::kIntegers:
      return "integers";
    default:
      return "all";
  }
}

std::string result(const ElementwiseRow& row) {
  switch (row.result) {
    case ResultRule::kFloating:
      return "floating";
    case ResultRule::kDivision:
      return "floating, float64 of integers";
    case ResultRule::kBool:
      return "bool";
    default:
      return "same";
  }
}

/// The code, and where there are others those for integers and bool.
std::string formula(const ElementwiseRow& row) {
  std::string text(row.code);
  if (!row.integer_code.empty()) text += "; integers: " + std::string(row.integer_code);
  if (!row.bool_code.empty()) text += "; bool: " + std::string(row.bool_code);
  return text;
}

/// For a cell of a Markdown table.
std::string cell(std::string_view text) {
  std::string escaped;
  for (char c : text) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
  return escaped;
}

void print_markdown(const std::vector<const ElementwiseRow*>& rows) {
  std::cout << "# Elementwise ops\n\n"
               "Made by `damo ops --markdown`; a test compares the two. Each op is one row of "
               "include/damo/ops/rows.inc and a function of\n"
               "that name in `<damo/ops/math.hpp>`. Inputs are promoted and broadcast (docs/promotion.md); `x0`, `x1`, "
               "`x2` are the\n"
               "promoted inputs, of type `T`. *ulp*: the greatest error in float32 and float64, on either back end.\n\n"
               "| op | inputs | takes | result | ulp | what | formula |\n|---|---|---|---|---|---|---|\n";
  for (const ElementwiseRow* row : rows) {
    char ulp[16];
    std::snprintf(ulp, sizeof ulp, "%g", row->ulp);
    std::cout << "| `" << row->name << "` | " << arity(*row) << " | " << dtypes(*row) << " | " << result(*row) << " | "
              << ulp << " | " << cell(row->doc) << " | `" << cell(formula(*row)) << "` |\n";
  }
}

void print_json(const std::vector<const ElementwiseRow*>& rows) {
  nlohmann::json all = nlohmann::json::array();
  for (const ElementwiseRow* row : rows) {
    all.push_back({{"name", row->name},
                   {"doc", row->doc},
                   {"inputs", arity(*row)},
                   {"takes", dtypes(*row)},
                   {"result", result(*row)},
                   {"formula", formula(*row)},
                   {"cost", row->cost},
                   {"ulp", row->ulp}});
  }
  std::cout << all.dump(2) << "\n";
}

void print_table(const std::vector<const ElementwiseRow*>& rows) {
  std::printf("%-18s %-6s %-15s %-30s %s\n", "op", "inputs", "takes", "result", "what");
  for (const ElementwiseRow* row : rows) {
    std::printf("%-18s %-6d %-15s %-30s %s\n", row->name.c_str(), arity(*row), dtypes(*row).c_str(),
                result(*row).c_str(), std::string(row->doc).c_str());
  }
  std::printf("\n%zu ops; formulas: --markdown or --json\n", rows.size());
}

}  // namespace

int list_ops(OpsFormat format) {
  const std::vector<const ElementwiseRow*> rows = elementwise_rows();
  if (format == OpsFormat::kMarkdown)
    print_markdown(rows);
  else if (format == OpsFormat::kJson)
    print_json(rows);
  else
    print_table(rows);
  return 0;
}

}  // namespace damo::tool
