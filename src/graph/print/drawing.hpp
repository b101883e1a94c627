// Drawing: a graph as boxes with text and edges with coordinates, before it becomes SVG. A fused op's box holds the
// Drawing of its inner graph, whose inputs and outputs are small ports on its border.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include <damo/graph.hpp>
#include "graph/print/layered_layout.hpp"

namespace damo {

enum class ItemKind : std::uint8_t {
  kInput,
  kConstant,
  kOp,
  kGroup,  ///< a fused op with its inside drawn
  kOutput,
  kPort,   ///< an input or output of an inner graph
  kHidden  ///< stands for the nodes that are not drawn
};

struct DrawingText {
  std::string text;
  bool is_literal = false;  ///< a scalar constant inside an op's text
};

struct Drawing {
  struct Item {
    ItemKind kind = ItemKind::kOp;
    std::vector<DrawingText> text;
    std::string tooltip;
    std::unique_ptr<Drawing> inside;
  };
  /// The type of a value, under the box that it comes from.
  struct Label {
    int item = 0;
    double offset = 0;
    std::string text;
  };
  std::vector<Item> items;
  std::vector<LayoutBox> boxes;  // of the items
  std::vector<LayoutEdge> edges;
  std::vector<Label> labels;
  LayoutSize size;
  std::vector<double> input_ports, output_ports;  // of an inner graph: x by position
  int drawn_nodes = 0, all_nodes = 0;             // inner ones too
};

inline constexpr double kCharacterWidth = 6.7, kSmallCharacterWidth = 5.5;  // of the fonts that svg.cpp names
inline constexpr double kGroupPadding = 12, kGroupTitle = 20;

/// The row of each box: one more than the lowest of those it reads; then inputs and constants move down to just above
/// their first reader. Ports stand on the first row, the last output_ports items on the last.
void set_layers(Drawing& drawing, std::size_t output_ports);

/// The first and last nodes in topological order if there are more than node_limit, counted with those of fused ops.
Drawing draw(const FunctionGraph& graph, int node_limit);

}  // namespace damo
