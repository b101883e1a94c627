#include "graph/print/layered_layout.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace damo {
namespace {

constexpr double kGap = 18;       // between neighbours of a row
constexpr double kBendWidth = 6;  // the place of a passing edge
constexpr int kOrderSweeps = 16;
constexpr int kPlaceSweeps = 24;

class LayeredLayout {
 public:
  LayeredLayout(std::vector<LayoutBox>& boxes, std::vector<LayoutEdge>& edges);
  LayoutSize run(double layer_gap);

 private:
  struct Link {  // between neighbouring rows
    int upper, lower;
    double upper_offset, lower_offset;
  };
  void add_edge(std::size_t edge);
  void add_link(int upper, int lower, double upper_offset, double lower_offset);
  void order_rows();
  void sort_row(std::size_t row, bool by_upper);
  void number_row(std::size_t row);
  std::size_t crossings() const;
  void place(std::size_t row, int sides);
  LayoutSize set_rows(double layer_gap);
  void set_paths();
  bool is_bend(int node) const { return static_cast<std::size_t>(node) >= boxes_.size(); }
  LayoutBox& box(int node) { return nodes_[static_cast<std::size_t>(node)]; }

  std::vector<LayoutBox>& boxes_;
  std::vector<LayoutEdge>& edges_;
  std::vector<LayoutBox> nodes_;  // boxes, then bends
  std::vector<Link> links_;
  std::vector<std::vector<int>> up_, down_;  // links of a node
  std::vector<std::vector<int>> rows_;
  std::vector<int> position_;            // in its row
  std::vector<std::vector<int>> bends_;  // of an edge
  std::map<std::pair<int, double>, std::vector<int>> shared_;
  std::vector<double> row_top_, row_height_;
};

LayeredLayout::LayeredLayout(std::vector<LayoutBox>& boxes, std::vector<LayoutEdge>& edges)
    : boxes_(boxes), edges_(edges), nodes_(boxes), up_(boxes.size()), down_(boxes.size()), bends_(edges.size()) {
  for (std::size_t edge = 0; edge < edges.size(); ++edge) add_edge(edge);
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    const auto layer = static_cast<std::size_t>(nodes_[node].layer);
    if (rows_.size() <= layer) rows_.resize(layer + 1);
    rows_[layer].push_back(static_cast<int>(node));
  }
  position_.resize(nodes_.size());
  for (std::size_t row = 0; row < rows_.size(); ++row) number_row(row);
}

void LayeredLayout::add_link(int upper, int lower, double upper_offset, double lower_offset) {
  down_[static_cast<std::size_t>(upper)].push_back(static_cast<int>(links_.size()));
  up_[static_cast<std::size_t>(lower)].push_back(static_cast<int>(links_.size()));
  links_.push_back({upper, lower, upper_offset, lower_offset});
}

void LayeredLayout::add_edge(std::size_t number) {
  const LayoutEdge& edge = edges_[number];
  std::vector<int>& bends = shared_[{edge.from, edge.from_offset}];
  const int first = box(edge.from).layer + 1, last = box(edge.to).layer - 1;
  int before = edge.from;
  for (int layer = first; layer <= last; ++layer) {
    const auto at = static_cast<std::size_t>(layer - first);
    if (at == bends.size()) {
      bends.push_back(static_cast<int>(nodes_.size()));
      nodes_.push_back({kBendWidth, 0, layer});
      up_.emplace_back();
      down_.emplace_back();
      add_link(before, bends.back(), at == 0 ? edge.from_offset : 0, 0);
    }
    before = bends[at];
    bends_[number].push_back(before);
  }
  add_link(before, edge.to, before == edge.from ? edge.from_offset : 0, edge.to_offset);
}

void LayeredLayout::number_row(std::size_t row) {
  for (std::size_t i = 0; i < rows_[row].size(); ++i)
    position_[static_cast<std::size_t>(rows_[row][i])] = static_cast<int>(i);
}

void LayeredLayout::sort_row(std::size_t row, bool by_upper) {
  std::vector<std::pair<double, int>> keyed;
  for (int node : rows_[row]) {
    const auto& links = (by_upper ? up_ : down_)[static_cast<std::size_t>(node)];
    double sum = 0;
    for (int link : links) {
      const Link& l = links_[static_cast<std::size_t>(link)];
      const int other = by_upper ? l.upper : l.lower;
      const double offset = by_upper ? l.upper_offset : l.lower_offset;  // decides between edges to the same box
      sum += position_[static_cast<std::size_t>(other)] + 0.9 * offset / (box(other).width + 1);
    }
    keyed.emplace_back(
        links.empty() ? position_[static_cast<std::size_t>(node)] : sum / static_cast<double>(links.size()), node);
  }
  std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < keyed.size(); ++i) rows_[row][i] = keyed[i].second;
  number_row(row);
}

/// Inversions between the ends of the links, by a Fenwick tree, row by row.
std::size_t LayeredLayout::crossings() const {
  std::size_t count = 0;
  std::vector<std::pair<double, double>> ends;
  for (std::size_t row = 0; row + 1 < rows_.size(); ++row) {
    ends.clear();
    for (int node : rows_[row]) {
      for (int link : down_[static_cast<std::size_t>(node)]) {
        const Link& l = links_[static_cast<std::size_t>(link)];
        ends.emplace_back(position_[static_cast<std::size_t>(l.upper)] + l.upper_offset * 1e-4,
                          position_[static_cast<std::size_t>(l.lower)] + l.lower_offset * 1e-4);
      }
    }
    std::sort(ends.begin(), ends.end());
    std::vector<double> lower;
    for (const auto& end : ends) lower.push_back(end.second);
    std::sort(lower.begin(), lower.end());
    std::vector<std::size_t> tree(lower.size() + 1, 0);
    for (std::size_t seen = 0; seen < ends.size(); ++seen) {
      const auto rank =
          static_cast<std::size_t>(std::upper_bound(lower.begin(), lower.end(), ends[seen].second) - lower.begin());
      std::size_t before = 0;
      for (std::size_t i = rank; i > 0; i &= i - 1) before += tree[i];
      count += seen - before;
      for (std::size_t i = rank; i < tree.size(); i += i & (~i + 1)) ++tree[i];
    }
  }
  return count;
}

void LayeredLayout::order_rows() {
  auto best = rows_;
  std::size_t fewest = crossings();
  for (int sweep = 0; sweep < kOrderSweeps && fewest > 0; ++sweep) {
    if (sweep % 2 == 0) {
      for (std::size_t row = rows_.size(); row-- > 0;) sort_row(row, false);
    } else {
      for (std::size_t row = 1; row < rows_.size(); ++row) sort_row(row, true);
    }
    const std::size_t now = crossings();
    if (now >= fewest) continue;
    fewest = now;
    best = rows_;
  }
  rows_ = std::move(best);
  for (std::size_t row = 0; row < rows_.size(); ++row) number_row(row);
}

/// Moves a row's boxes to the mean of where their links want them, in the least-squares sense under the row's order and
/// gaps: blocks of touching boxes are pooled (isotonic regression). sides: 1 looks up, 2 down, 3 both.
void LayeredLayout::place(std::size_t row, int sides) {
  struct Block {
    double sum, weight;
    std::size_t size;
  };
  std::vector<Block> blocks;
  std::vector<double> shift;  // of each box from the row's first when all touch
  double at = 0;
  for (std::size_t i = 0; i < rows_[row].size(); ++i) {
    const int node = rows_[row][i];
    if (i > 0) at += (box(rows_[row][i - 1]).width + box(node).width) / 2 + kGap;
    shift.push_back(at);
    double wanted = 0, weight = 0;
    const auto look = [&](const std::vector<int>& links, bool up) {
      for (int link : links) {
        const Link& l = links_[static_cast<std::size_t>(link)];
        const double pull = is_bend(l.upper) && is_bend(l.lower) ? 8 : is_bend(l.upper) || is_bend(l.lower) ? 2 : 1;
        wanted += pull * (up ? box(l.upper).x + l.upper_offset - l.lower_offset
                             : box(l.lower).x + l.lower_offset - l.upper_offset);
        weight += pull;
      }
    };
    if (sides & 1) look(up_[static_cast<std::size_t>(node)], true);
    if (sides & 2) look(down_[static_cast<std::size_t>(node)], false);
    if (weight == 0) wanted = box(node).x * (weight = 0.01);
    blocks.push_back({wanted - at * weight, weight, 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].sum * blocks.back().weight >=
                                    blocks.back().sum * blocks[blocks.size() - 2].weight) {
      const Block last = blocks.back();
      blocks.pop_back();
      blocks.back() = {blocks.back().sum + last.sum, blocks.back().weight + last.weight,
                       blocks.back().size + last.size};
    }
  }
  std::size_t i = 0;
  for (const Block& block : blocks) {
    for (std::size_t k = 0; k < block.size; ++k, ++i) box(rows_[row][i]).x = block.sum / block.weight + shift[i];
  }
}

LayoutSize LayeredLayout::set_rows(double layer_gap) {
  double left = 0, right = 0, top = 0;
  bool first = true;
  for (const LayoutBox& node : nodes_) {
    left = first ? node.x - node.width / 2 : std::min(left, node.x - node.width / 2);
    right = first ? node.x + node.width / 2 : std::max(right, node.x + node.width / 2);
    first = false;
  }
  for (const auto& row : rows_) {
    double height = 0;
    for (int node : row) height = std::max(height, box(node).height);
    for (int node : row) {
      box(node).x -= left;
      box(node).y = top + (height - box(node).height) / 2;
    }
    row_top_.push_back(top);
    row_height_.push_back(height);
    top += height + layer_gap;
  }
  return {right - left, rows_.empty() ? 0 : top - layer_gap};
}

void LayeredLayout::set_paths() {
  std::vector<bool> is_drawn(nodes_.size(), false);
  for (std::size_t i = 0; i < edges_.size(); ++i) {
    LayoutEdge& edge = edges_[i];
    const LayoutBox &from = box(edge.from), &to = box(edge.to);
    edge.path = {{from.x + edge.from_offset, from.y + from.height}};
    for (int bend : bends_[i]) {
      const auto layer = static_cast<std::size_t>(box(bend).layer);
      const LayoutPoint above{box(bend).x, row_top_[layer]}, below{box(bend).x, above.y + row_height_[layer]};
      if (is_drawn[static_cast<std::size_t>(bend)])
        edge.path = {below};
      else
        edge.path.insert(edge.path.end(), {above, below});
      is_drawn[static_cast<std::size_t>(bend)] = true;
    }
    edge.path.push_back({to.x + edge.to_offset, to.y});
  }
}

LayoutSize LayeredLayout::run(double layer_gap) {
  order_rows();
  for (std::size_t row = 0; row < rows_.size(); ++row) place(row, 1);
  for (int sweep = 0; sweep < kPlaceSweeps; ++sweep) {
    const bool up = sweep % 2 == 0, both = sweep < kPlaceSweeps / 2;  // one side at the end: chains come out straight
    if (up) {
      for (std::size_t row = rows_.size(); row-- > 0;) place(row, both ? 3 : 2);
    } else {
      for (std::size_t row = 0; row < rows_.size(); ++row) place(row, both ? 3 : 1);
    }
  }
  const LayoutSize size = set_rows(layer_gap);
  set_paths();
  std::copy_n(nodes_.begin(), boxes_.size(), boxes_.begin());
  return size;
}

}  // namespace

LayoutSize lay_out(std::vector<LayoutBox>& boxes, std::vector<LayoutEdge>& edges, double layer_gap) {
  return LayeredLayout(boxes, edges).run(layer_gap);
}

}  // namespace damo
