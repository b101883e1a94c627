// Comparison as one page: no script, no font, nothing from elsewhere.
#include <algorithm>

#include <damo/print.hpp>
#include "function/compare_rows.hpp"
#include "function/page.hpp"
#include "graph/print/label.hpp"

namespace damo {
namespace {

constexpr double kBarLeft = 170, kBarRoom = 420;

/// Two bars for each measure, each pair on a scale of its own.
class Chart {
 public:
  void add(const std::string& label, double unfused, double fused, const std::string& unfused_text,
           const std::string& fused_text) {
    body_ += "<text x=\"0\" y=\"" + std::to_string(top_ + 22) + "\">" + escape_xml(label) + "</text>\n";
    const double most = std::max({unfused, fused, 1e-300});
    add_bar("unfused", unfused / most, unfused_text);
    add_bar("fused", fused / most, fused_text);
    top_ += 16;
  }
  std::string svg() const {
    const std::string height = std::to_string(top_);
    return "<svg class=\"chart\" xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"820\" height=\"" + height +
           "\" viewBox=\"0 0 820 " + height + "\">\n<title>Unfused and fused side by side</title>\n" + body_ +
           "</svg>\n";
  }

 private:
  void add_bar(const std::string& side, double part, const std::string& text) {
    const int width = std::max(1, static_cast<int>(part * kBarRoom));
    body_ += "<rect class=\"" + side + "\" x=\"" + std::to_string(static_cast<int>(kBarLeft)) + "\" y=\"" +
             std::to_string(top_) + "\" width=\"" + std::to_string(width) + "\" height=\"16\" rx=\"2\"/>";
    body_ += "<text x=\"" + std::to_string(static_cast<int>(kBarLeft) + width + 8) + "\" y=\"" +
             std::to_string(top_ + 13) + "\">" + escape_xml(text + " " + side) + "</text>\n";
    top_ += 19;
  }
  std::string body_;
  int top_ = 0;
};

std::string chart(const Comparison& comparison) {
  const ComparisonSide &a = comparison.unfused, &b = comparison.fused;
  const std::vector<ComparisonRow> rows = rows_of(comparison);
  Chart chart;
  const auto add = [&](const char* label, const char* row_label, double unfused, double fused) {
    const auto row =
        std::find_if(rows.begin(), rows.end(), [&](const ComparisonRow& r) { return r.label == row_label; });
    chart.add(label, unfused, fused, row->unfused, row->fused);
  };
  add("time of a call", "time of a call (median)", a.milliseconds, b.milliseconds);
  add("kernels launched", "kernels launched", static_cast<double>(a.kernels), static_cast<double>(b.kernels));
  add("bytes moved", "bytes moved (least)", static_cast<double>(a.bytes), static_cast<double>(b.bytes));
  add("peak memory", "peak memory beyond inputs", static_cast<double>(a.peak_bytes), static_cast<double>(b.peak_bytes));
  return chart.svg();
}

std::string table(const Comparison& comparison) {
  std::string text =
      "<div "
      "class=\"scroll\"><table>\n<thead><tr><th></th><th>unfused</th><th>fused</th><th>ratio</th></tr></"
      "thead>\n<tbody>\n";
  for (const ComparisonRow& row : rows_of(comparison)) {
    text += "<tr><td>" + escape_xml(row.label) + "</td><td>" + escape_xml(row.unfused) + "</td><td>" +
            escape_xml(row.fused) + "</td><td>" + escape_xml(row.ratio) + "</td></tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

std::string differences(const Comparison& comparison) {
  std::string text = "<ul>\n";
  for (const OutputDifference& output : comparison.outputs) {
    text += "<li><b>" + escape_xml(output.name) + "</b> " + escape_xml(output.type) + ": " +
            escape_xml(text_of(output)) + "</li>\n";
  }
  return text + "</ul>\n";
}

std::string figure(const std::string& caption, const FunctionGraph& graph) {
  return "<figure><figcaption>" + escape_xml(caption) + "</figcaption>\n" + to_svg(graph) + "</figure>\n";
}

}  // namespace

std::string Comparison::html() const {
  const std::string title = escape_xml(title_of(*this));
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<title>" + title + "</title>\n" + kPageHead + "</head>\n<body>\n";
  page += "<h1>" + title + "</h1>\n<p class=\"verdict" + tone_of(*this) + "\">" + escape_xml(verdict_of(*this)) + "</p>\n";
  page += "<div class=\"scroll\">" + chart(*this) + "</div>\n<h2>Measured</h2>\n" + table(*this);
  page +=
      "<p class=\"soft\">Bytes moved: the least that the kernels must read and write. The copy is the device's own, "
      "both directions counted; "
      "a small array that stays in a cache can pass it.</p>\n";
  if (!fused.report.nodes.empty()) page += "<h2>Kernels of the fused side</h2>\n" + roofline(fused.report) + kernel_table(fused.report);
  page += "<h2>Values of both sides</h2>\n" + differences(*this);
  page += "<h2>The graph</h2>\n<div class=\"graphs\">\n" +
          figure("fused, kernels a call: " + std::to_string(fused.kernels), fused.graph) +
          figure("unfused, kernels a call: " + std::to_string(unfused.kernels), unfused.graph) +
          "</div>\n</body>\n</html>\n";
  return page;
}

}  // namespace damo
