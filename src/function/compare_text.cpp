// Comparison as a table, and to files.
#include <algorithm>
#include <ostream>

#include "function/compare_rows.hpp"
#include "runtime/module/text_file.hpp"

namespace damo {
namespace {

std::string left(std::string text, std::size_t width) { return text.append(width - std::min(width, text.size()), ' '); }
std::string right(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

}  // namespace

std::string Comparison::text() const {
  const std::vector<ComparisonRow> rows = rows_of(*this);
  std::size_t label = 0, a = 7, b = 5;
  for (const ComparisonRow& row : rows) {
    label = std::max(label, row.label.size());
    a = std::max(a, row.unfused.size());
    b = std::max(b, row.fused.size());
  }
  const auto line = [&](const std::string& what, const std::string& unfused_text, const std::string& fused_text,
                        const std::string& ratio) {
    std::string text =
        "  " + left(what, label) + "  " + right(unfused_text, a) + "  " + right(fused_text, b) + "  " + right(ratio, 7);
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  };
  std::string text = title_of(*this) + "\nfused is " + verdict_of(*this) + "\n" + line("", "unfused", "fused", "ratio");
  for (const ComparisonRow& row : rows) text += line(row.label, row.unfused, row.fused, row.ratio);
  for (const OutputDifference& output : outputs)
    text += "  " + output.name + " " + output.type + ": " + text_of(output) + "\n";
  return text;
}

const Comparison& Comparison::print(std::ostream& out) const {
  out << text();
  return *this;
}

const Comparison& Comparison::write_json(const std::string& path) const {
  write_file(path, json());
  return *this;
}

const Comparison& Comparison::write_html(const std::string& path) const {
  write_file(path, html());
  return *this;
}

}  // namespace damo
