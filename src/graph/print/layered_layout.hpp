// Coordinates for a layered drawing: boxes in rows from top to bottom, edges from a row to any later one. Rows are
// ordered by barycentres so that few edges cross, then boxes move sideways to where their edges are short. An edge that
// passes rows gets a place of its own in each, so it runs beside the boxes there and not through them.
#pragma once
#include <vector>

namespace damo {

struct LayoutBox {
  double width = 0, height = 0;
  int layer = 0;
  double x = 0, y = 0;  ///< result: centre, top
};

struct LayoutPoint {
  double x = 0, y = 0;
};

struct LayoutEdge {
  int from = 0, to = 0;                   ///< boxes; to is on a later layer
  double from_offset = 0, to_offset = 0;  ///< from the centre of the box
  std::vector<LayoutPoint> path =
      {};  ///< result: from the bottom of one box, or where it parts from others, to the other's top
};

struct LayoutSize {
  double width = 0, height = 0;
};

/// Places boxes with their left edges at 0 or more. Edges that leave a box at the same offset share their way.
LayoutSize lay_out(std::vector<LayoutBox>& boxes, std::vector<LayoutEdge>& edges, double layer_gap);

}  // namespace damo
