// The page of a FunctionReport, and its parts, which compare()'s page has too.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include <damo/print.hpp>
#include "function/compare_rows.hpp"
#include "function/page.hpp"
#include "graph/print/label.hpp"
#include "runtime/memory/memory_pool.hpp"

namespace damo {
namespace {

constexpr double kLeft = 90, kTop = 16, kWidth = 620, kHeight = 320;

struct Point {
  double intensity, rate;
  const NodeReport* node;
};

/// Decades from `least` to `most`, whole ones.
struct Scale {
  double first, last, from, to;
  Scale(double least, double most, double begin, double end) : first(std::floor(std::log10(least))), last(std::ceil(std::log10(most))), from(begin), to(end) {
    if (last <= first) last = first + 1;
  }
  double operator()(double value) const { return from + (std::log10(value) - first) / (last - first) * (to - from); }
};

std::string at(double value) { return std::to_string(static_cast<int>(std::lround(value))); }

std::string line(const char* kind, double x1, double y1, double x2, double y2) {
  return std::string("<line class=\"") + kind + "\" x1=\"" + at(x1) + "\" y1=\"" + at(y1) + "\" x2=\"" + at(x2) + "\" y2=\"" + at(y2) + "\"/>\n";
}

std::string label(double x, double y, const std::string& text, const char* anchor = "start") {
  return "<text x=\"" + at(x) + "\" y=\"" + at(y) + "\" text-anchor=\"" + anchor + "\">" + escape_xml(text) + "</text>\n";
}

/// "0.01", "100".
std::string power_of_ten(double exponent) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", std::pow(10, exponent));
  return text;
}

/// 9 as "1 G".
std::string decade(double exponent) {
  static const char* const prefixes[] = {"", " k", " M", " G", " T", " P"};
  if (exponent < 0 || exponent >= 18) return power_of_ten(exponent);
  const int whole = static_cast<int>(exponent);
  return std::to_string(static_cast<int>(std::pow(10, whole % 3))) + prefixes[whole / 3];
}

}  // namespace

std::string instruction_rate(double per_second) {
  static const char* const prefixes[] = {"", " k", " M", " G", " T", " P"};
  std::size_t prefix = 0;
  for (; per_second >= 1000 && prefix + 1 < std::size(prefixes); ++prefix) per_second /= 1000;
  return short_number(per_second) + prefixes[prefix] + " instructions a second";
}

std::string roofline(const FunctionReport& report) {
  std::vector<Point> points;
  for (const NodeReport& node : report.nodes) {
    if (node.milliseconds > 0 && node.bytes > 0 && node.instructions > 0) {
      points.push_back({static_cast<double>(node.instructions) / static_cast<double>(node.bytes), static_cast<double>(node.instructions) / (node.milliseconds * 1e-3), &node});
    }
  }
  if (points.empty() || report.copy_bytes_per_second <= 0) return "";
  double least = points[0].intensity, most = least, slowest = points[0].rate, fastest = slowest;
  for (const Point& point : points) {
    least = std::min(least, point.intensity), most = std::max(most, point.intensity);
    slowest = std::min(slowest, point.rate), fastest = std::max(fastest, point.rate);
  }
  const Scale x(least / 1.5, most * 1.5, kLeft, kLeft + kWidth);
  const double begin = std::pow(10, x.first), end = std::pow(10, x.last), copy = report.copy_bytes_per_second;
  const double compute = report.instructions_per_second > 0 ? report.instructions_per_second : end * copy;
  const double ridge = std::clamp(compute / copy, begin, end);  // left of it memory is the lower roof
  const double low = std::min(begin * copy, compute), high = std::min(end * copy, compute);
  const Scale y(std::min(slowest, low), std::max(fastest, high), kTop + kHeight, kTop);
  std::string body = line("axis", kLeft, kTop + kHeight, kLeft + kWidth, kTop + kHeight) + line("axis", kLeft, kTop, kLeft, kTop + kHeight);
  for (double exponent = x.first; exponent <= x.last; ++exponent) {
    const double place = x(std::pow(10, exponent));
    body += line("axis", place, kTop + kHeight, place, kTop + kHeight + 5) + label(place, kTop + kHeight + 20, power_of_ten(exponent), "middle");
  }
  for (double exponent = y.first; exponent <= y.last; ++exponent) {
    const double place = y(std::pow(10, exponent));
    body += line("axis", kLeft - 5, place, kLeft, place) + label(kLeft - 9, place + 4, decade(exponent), "end");
  }
  body += label(kLeft + kWidth / 2, kTop + kHeight + 42, "instructions a byte", "middle") + label(kLeft + 6, kTop + 12, "instructions a second");
  const std::string arithmetic = report.instructions_per_second > 0 ? ", then arithmetic's " + instruction_rate(compute) : "";
  body += line("roof", x(begin), y(low), x(ridge), y(high)) + line("roof", x(ridge), y(high), x(end), y(high)) +
          label(kLeft + kWidth, kTop + kHeight - 10, "lines: the copy's " + rate_text(copy) + arithmetic, "end");
  for (const Point& point : points) {
    body += "<circle cx=\"" + at(x(point.intensity)) + "\" cy=\"" + at(y(point.rate)) + "\" r=\"6\"><title>" + escape_xml(std::to_string(point.node->number) + " " + point.node->op + ": " + duration_text(point.node->milliseconds) + ", " + short_number(100 * point.node->copy_share()) + " % of the copy's speed") +
            "</title></circle>\n" + label(x(point.intensity) + 10, y(point.rate) + 4, std::to_string(point.node->number));
  }
  const std::string width = at(kLeft + kWidth + 30), height = at(kTop + kHeight + 52);
  return "<div class=\"scroll\"><svg class=\"roofline\" xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"" + width + "\" height=\"" + height + "\" viewBox=\"0 0 " + width + " " + height +
         "\">\n<title>Roofline: how near each kernel came to the speed of the copy and of arithmetic</title>\n" + body + "</svg></div>\n";
}

std::string kernel_table(const FunctionReport& report) {
  std::string text = "<div class=\"scroll\"><table class=\"kernels\">\n<thead><tr><th>node</th><th>computes</th><th>bytes</th><th>floor</th><th>took</th><th>of copy</th><th>registers, spills, occupancy</th><th>ends here</th></tr></thead>\n<tbody>\n";
  const auto cell = [](const std::string& content, const char* kind = "") { return std::string("<td") + kind + ">" + content + "</td>"; };
  const auto joined = [](const std::vector<std::string>& lines) {
    std::string all;
    for (const std::string& one : lines) all += (all.empty() ? "" : "<br>") + escape_xml(one);
    return all;
  };
  for (const NodeReport& node : report.nodes) {
    std::string computes = "<b>" + escape_xml(node.op) + "</b>";
    if (!node.lines.empty()) computes += " <span class=\"soft\">" + escape_xml(node.lines) + "</span>";
    if (!node.formulas.empty()) computes += "<br><code>" + joined(node.formulas) + "</code>";
    std::vector<std::string> codes;
    for (const KernelReport& kernel : node.kernels) {
      if (kernel.registers == 0) continue;
      codes.push_back(std::to_string(kernel.registers) + ", " + bytes_text(static_cast<std::size_t>(kernel.local_bytes)) + (kernel.occupancy > 0 ? ", " + short_number(100 * kernel.occupancy) + " %" : ""));
    }
    const char* number = " class=\"number\"";
    text += "<tr>" + cell(std::to_string(node.number)) + cell(computes) + cell(node.bytes > 0 ? bytes_text(static_cast<std::size_t>(node.bytes)) : "-", number) +
            cell(node.bytes > 0 ? duration_text(node.floor_milliseconds) : "-", number) + cell(node.milliseconds > 0 ? duration_text(node.milliseconds) : "-", number) +
            cell(node.copy_share() > 0 ? short_number(100 * node.copy_share()) + " %" : "-", number) + cell(codes.empty() ? "-" : joined(codes)) + cell(joined(node.reasons)) + "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

std::string FunctionReport::html() const {
  const std::string title = escape_xml("function" + (name.empty() ? "" : " " + name) + " on " + device + (device_description.empty() ? "" : " (" + device_description + ")"));
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<title>" + title + "</title>\n" + kPageHead + "</head>\n<body>\n<h1>" + title + "</h1>\n<p class=\"soft\">" +
         (calls > 0 ? "Times are means over " + std::to_string(calls) + (calls == 1 ? " call" : " calls") + " that waited for each node. " : "Not timed: build with Options::profile and call the function. ") +
         "The floor is the least bytes at the speed of the device's own copy, " + rate_text(copy_bytes_per_second) + (instructions_per_second > 0 ? "; arithmetic on values in registers does " + instruction_rate(instructions_per_second) : "") + ".</p>\n" + roofline(*this) + kernel_table(*this) + "</body>\n</html>\n";
}

}  // namespace damo
