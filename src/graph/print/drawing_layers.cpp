#include <algorithm>

#include "graph/print/drawing.hpp"

namespace damo {

void set_layers(Drawing& drawing, std::size_t output_ports) {
  std::vector<LayoutBox>& boxes = drawing.boxes;
  const auto layer = [&](int item) -> int& { return boxes[static_cast<std::size_t>(item)].layer; };
  std::vector<std::vector<int>> readers(boxes.size());
  std::vector<int> inputs(boxes.size(), 0), ready;
  for (const LayoutEdge& edge : drawing.edges) {
    readers[static_cast<std::size_t>(edge.from)].push_back(edge.to);
    ++inputs[static_cast<std::size_t>(edge.to)];
  }
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (inputs[i] == 0) ready.push_back(static_cast<int>(i));
  }
  int deepest = 0;
  for (std::size_t next = 0; next < ready.size(); ++next) {
    for (int reader : readers[static_cast<std::size_t>(ready[next])]) {
      deepest = std::max(deepest, layer(reader) = std::max(layer(reader), layer(ready[next]) + 1));
      if (--inputs[static_cast<std::size_t>(reader)] == 0) ready.push_back(reader);
    }
  }
  const std::size_t first_output = boxes.size() - output_ports;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const ItemKind kind = drawing.items[i].kind;
    if (kind == ItemKind::kPort) {
      boxes[i].layer = i >= first_output ? deepest : 0;
    } else if ((kind == ItemKind::kInput || kind == ItemKind::kConstant) && !readers[i].empty()) {
      int first = deepest;
      for (int reader : readers[i]) first = std::min(first, layer(reader));
      boxes[i].layer = first - 1;
    }
  }
}

}  // namespace damo
