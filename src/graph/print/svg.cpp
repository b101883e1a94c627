// to_svg: writes a Drawing. Colours stand in one style sheet, which has a dark variant.
#include <algorithm>
#include <cstdio>
#include <string>

#include <damo/print.hpp>
#include "graph/print/drawing.hpp"
#include "graph/print/label.hpp"

namespace damo {
namespace {

constexpr double kMargin = 14, kLegendHeight = 30;

constexpr const char* kStyle = R"(<style>
.damo-graph { font: 11px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.damo-graph .page { fill: #ffffff; }
.damo-graph text { fill: #1f2328; text-anchor: middle; }
.damo-graph text.left { text-anchor: start; }
.damo-graph rect.input { fill: #dbeafe; stroke: #3b82f6; }
.damo-graph rect.constant { fill: #fef3c7; stroke: #d97706; }
.damo-graph rect.op { fill: #ffffff; stroke: #8c959f; }
.damo-graph rect.group { fill: #f0f1f4; stroke: #7d8590; }
.damo-graph rect.title { fill: #f0f1f4; }
.damo-graph rect.output { fill: #dcfce7; stroke: #16a34a; }
.damo-graph rect.hidden { fill: #ffffff; stroke: #8c959f; stroke-dasharray: 4 3; }
.damo-graph circle { fill: #7d8590; }
.damo-graph tspan.literal { fill: #b45309; }
.damo-graph path.edge { fill: none; stroke: #8c959f; }
.damo-graph path.arrow { fill: #8c959f; }
.damo-graph text.type { font-size: 9px; fill: #57606a; }
.damo-graph rect.halo { fill: #ffffff; fill-opacity: 0.8; }
@media (prefers-color-scheme: dark) {
.damo-graph .page { fill: #0d1117; }
.damo-graph text { fill: #e6edf3; }
.damo-graph rect.input { fill: #14315c; stroke: #58a6ff; }
.damo-graph rect.constant { fill: #4a3408; stroke: #d29922; }
.damo-graph rect.op { fill: #161b22; stroke: #7d8590; }
.damo-graph rect.group { fill: #21262d; stroke: #8b949e; }
.damo-graph rect.title { fill: #21262d; }
.damo-graph rect.output { fill: #0f3d22; stroke: #3fb950; }
.damo-graph rect.hidden { fill: #0d1117; stroke: #7d8590; }
.damo-graph tspan.literal { fill: #e3b341; }
.damo-graph text.type { fill: #9da7b3; }
.damo-graph rect.halo { fill: #0d1117; }
}
</style>
)";

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  std::string shown = text;
  if (shown.ends_with(".0")) shown.resize(shown.size() - 2);
  return shown == "-0" ? "0" : shown;
}

const char* class_of(ItemKind kind) {
  switch (kind) {
    case ItemKind::kInput:
      return "input";
    case ItemKind::kConstant:
      return "constant";
    case ItemKind::kGroup:
      return "group";
    case ItemKind::kOutput:
      return "output";
    case ItemKind::kHidden:
      return "hidden";
    default:
      return "op";
  }
}

class SvgWriter {
 public:
  std::string write(const Drawing& drawing);

 private:
  void add_drawing(const Drawing& drawing, double left, double top);
  void add_edge(const LayoutEdge& edge, double left, double top);
  void add_item(const Drawing::Item& item, const LayoutBox& box, double left, double top);
  void add_text(const char* css, double x, double y, const std::vector<DrawingText>& pieces);
  void add_centred(double x, double y, const std::vector<DrawingText>& pieces);
  void add_line(double x, double from, double to);
  void add_rect(const char* css, double x, double y, double width, double height, double radius);
  void add_legend(double top);
  std::string text_;
};

void SvgWriter::add_rect(const char* css, double x, double y, double width, double height, double radius) {
  text_ += std::string("<rect class=\"") + css + "\" x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" +
           number(width) + "\" height=\"" + number(height) + "\" rx=\"" + number(radius) + "\"/>";
}

void SvgWriter::add_text(const char* css, double x, double y, const std::vector<DrawingText>& pieces) {
  text_ += "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\"" +
           (*css ? std::string(" class=\"") + css + "\"" : "") + ">";
  for (const DrawingText& piece : pieces) {
    text_ +=
        piece.is_literal ? "<tspan class=\"literal\">" + escape_xml(piece.text) + "</tspan>" : escape_xml(piece.text);
  }
  text_ += "</text>";
}

/// A text of several pieces starts where it would if its characters had the usual width: not every viewer centres them.
void SvgWriter::add_centred(double x, double y, const std::vector<DrawingText>& pieces) {
  if (pieces.size() == 1) return add_text("", x, y, pieces);
  std::size_t characters = 0;
  for (const DrawingText& piece : pieces) characters += count_characters(piece.text);
  add_text("left", x - static_cast<double>(characters) * kCharacterWidth / 2, y, pieces);
}

void SvgWriter::add_line(double x, double from, double to) {
  text_ +=
      "<path class=\"edge\" d=\"M" + number(x) + " " + number(from) + " L" + number(x) + " " + number(to) + "\"/>\n";
}

void SvgWriter::add_edge(const LayoutEdge& edge, double left, double top) {
  const auto at = [&](const LayoutPoint& point) { return number(point.x + left) + " " + number(point.y + top); };
  text_ += "<path class=\"edge\" d=\"M" + at(edge.path[0]);
  for (std::size_t i = 1; i < edge.path.size(); ++i) {
    const LayoutPoint &a = edge.path[i - 1], &b = edge.path[i];
    if (a.x == b.x)
      text_ += " L" + at(b);
    else
      text_ += " C" + at({a.x, (a.y + b.y) / 2}) + " " + at({b.x, (a.y + b.y) / 2}) + " " + at(b);
  }
  const LayoutPoint end = edge.path.back();
  text_ += "\"/><path class=\"arrow\" d=\"M" + at(end) + " L" + at({end.x - 2.5, end.y - 6}) + " L" +
           at({end.x + 2.5, end.y - 6}) + "z\"/>\n";
}

void SvgWriter::add_item(const Drawing::Item& item, const LayoutBox& box, double left, double top) {
  const double x = box.x - box.width / 2 + left, y = box.y + top;
  text_ += "<g><title>" + escape_xml(item.tooltip) + "</title>";
  if (item.kind == ItemKind::kPort) {
    text_ += "<circle cx=\"" + number(box.x + left) + "\" cy=\"" + number(y + box.height / 2) + "\" r=\"3\"/></g>\n";
    return;
  }
  const bool round =
      item.kind == ItemKind::kInput || item.kind == ItemKind::kConstant || item.kind == ItemKind::kOutput;
  add_rect(class_of(item.kind), x, y, box.width, box.height,
           round                           ? box.height / 2
           : item.kind == ItemKind::kGroup ? 8
                                           : 3);
  if (!item.inside) add_centred(box.x + left, y + box.height / 2 + 4, item.text);
  text_ += "</g>\n";
  if (!item.inside) return;
  const double in = x + kGroupPadding, bottom = y + box.height;  // from the border to the ports
  for (double port : item.inside->input_ports) add_line(port + in, y, y + kGroupPadding + kGroupTitle);
  for (double port : item.inside->output_ports) add_line(port + in, bottom - kGroupPadding, bottom);
  add_rect("title", in - 3, y + 5, static_cast<double>(item.text[0].text.size()) * kCharacterWidth + 6, 16, 2);
  add_text("left", in, y + kGroupTitle - 3, item.text);
  add_drawing(*item.inside, in, y + kGroupPadding + kGroupTitle);
}

void SvgWriter::add_drawing(const Drawing& drawing, double left, double top) {
  for (const LayoutEdge& edge : drawing.edges) add_edge(edge, left, top);
  for (std::size_t i = 0; i < drawing.items.size(); ++i) add_item(drawing.items[i], drawing.boxes[i], left, top);
  for (const Drawing::Label& label : drawing.labels) {
    const LayoutBox& box = drawing.boxes[static_cast<std::size_t>(label.item)];
    const double x = box.x + label.offset + left, y = box.y + box.height + top;
    const double width = static_cast<double>(label.text.size()) * kSmallCharacterWidth;
    add_rect("halo", x - width / 2, y + 5, width, 11, 2);
    add_text("type", x, y + 13, {{label.text}});
    text_ += "\n";
  }
}

void SvgWriter::add_legend(double top) {
  double x = kMargin;
  for (ItemKind kind : {ItemKind::kInput, ItemKind::kConstant, ItemKind::kOp, ItemKind::kGroup, ItemKind::kOutput}) {
    const std::string name = kind == ItemKind::kGroup ? "fused" : class_of(kind);
    add_rect(class_of(kind), x, top, 12, 12, 3);
    add_text("left", x + 17, top + 10, {{name}});
    x += 17 + static_cast<double>(name.size()) * kCharacterWidth + 14;
  }
  text_ += "\n";
}

std::string SvgWriter::write(const Drawing& drawing) {
  std::string note;
  if (drawing.drawn_nodes < drawing.all_nodes) {
    note = "Abridged: " + std::to_string(drawing.drawn_nodes) + " of " + std::to_string(drawing.all_nodes) +
           " nodes are drawn.";
  }
  const double top = note.empty() ? kMargin : kMargin + 20;
  const double width =
      std::max({drawing.size.width, 360.0, static_cast<double>(note.size()) * kCharacterWidth}) + 2 * kMargin;
  const double height = drawing.size.height + top + kMargin + kLegendHeight;
  text_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"damo-graph\" width=\"" + number(width) + "\" height=\"" +
          number(height) + "\" viewBox=\"0 0 " + number(width) + " " + number(height) + "\" role=\"img\">\n" + kStyle;
  text_ += "<rect class=\"page\" width=\"" + number(width) + "\" height=\"" + number(height) + "\"/>\n";
  if (!note.empty()) add_text("left", kMargin, kMargin + 8, {{note}}), text_ += "\n";
  add_drawing(drawing, (width - drawing.size.width) / 2, top);
  add_legend(height - kMargin - 12);
  return std::move(text_ += "</svg>\n");
}

}  // namespace

std::string to_svg(const FunctionGraph& graph, int node_limit) { return SvgWriter().write(draw(graph, node_limit)); }

std::string to_svg(std::span<const Variable> outputs, int node_limit) { return to_svg(snapshot(outputs), node_limit); }

}  // namespace damo
