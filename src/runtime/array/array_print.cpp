// to_string(Array): NumPy's str(). Above 1000 elements each axis shows its first and last three.
#include <ostream>
#include <vector>

#include <damo/array.hpp>

#include "runtime/array/element_text.hpp"

namespace damo {
namespace {

constexpr std::int64_t kThreshold = 1000, kEdge = 3;
constexpr std::size_t kLineWidth = 75;

bool abridges(const Array& array, std::int64_t extent) { return array.size() > kThreshold && extent > 2 * kEdge; }

/// The elements that are shown, in C order; an abridged axis has 2 * kEdge of them.
std::vector<std::byte> shown_elements(const Array& array) {
  const std::size_t item = itemsize(array.dtype());
  std::vector<std::byte> elements;
  const auto append = [&](const Array& part) {
    const std::size_t end = elements.size();
    elements.resize(end + part.nbytes());
    part.to_host(elements.data() + end);
  };
  if (array.size() <= kThreshold) {
    append(array);
    return elements;
  }
  const auto collect = [&](const auto& self, const Array& part) -> void {
    const std::int64_t extent = part.shape()[0];
    const bool abridged = extent > 2 * kEdge;
    if (part.rank() == 1) {
      if (!abridged) return append(part);
      append(part.slice({{0, kEdge}}));
      return append(part.slice({{-kEdge, {}}}));
    }
    Shape shape = part.shape(), strides = part.strides();
    shape.erase(0);
    strides.erase(0);
    for (std::int64_t i = 0; i < extent; ++i) {
      if (abridged && i == kEdge) i = extent - kEdge;
      self(self, part.view(part.dtype(), shape, strides, i * part.strides()[0]));
    }
  };
  elements.reserve(item * 64);
  collect(collect, array);
  return elements;
}

class Printer {
 public:
  explicit Printer(const Array& array) : array_(array) {
    const std::vector<std::byte> elements = shown_elements(array);
    texts_ = element_texts(array.dtype(), elements.data(), elements.size() / itemsize(array.dtype()));
  }

  /// Axes axis, axis + 1, ..., from the next element on. width: what a line may take before its closing brackets.
  std::string print(int axis, std::size_t width) {
    return "[" + (axis + 1 == array_.rank() ? row(axis, width) : rows(axis, width)) + "]";
  }

 private:
  std::int64_t shown(int axis) const {
    return abridges(array_, array_.shape()[axis]) ? 2 * kEdge : array_.shape()[axis];
  }
  bool gap_before(int axis, std::int64_t i) const { return i == kEdge && abridges(array_, array_.shape()[axis]); }

  std::string row(int axis, std::size_t width) {
    const std::string indent(static_cast<std::size_t>(axis) + 1, ' ');
    std::string text, line = indent;
    const auto add = [&](const std::string& word) {
      if (line.size() + word.size() >= width && line.size() > indent.size()) {
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
        line = indent;
      }
      line += word;
    };
    for (std::int64_t i = 0; i < shown(axis); ++i) {
      if (i > 0) line += ' ';
      if (gap_before(axis, i)) {
        add("...");
        line += ' ';
      }
      add(texts_[next_++]);
    }
    return (text + line).substr(indent.size());
  }

  std::string rows(int axis, std::size_t width) {
    const std::string indent(static_cast<std::size_t>(axis) + 1, ' ');
    const std::string gap = std::string(static_cast<std::size_t>(array_.rank() - axis - 1), '\n') + indent;
    std::string text;
    for (std::int64_t i = 0; i < shown(axis); ++i) {
      if (i > 0) text += gap;
      if (gap_before(axis, i)) text += "..." + gap;
      text += print(axis + 1, width - 1);
    }
    return text;
  }

  const Array& array_;
  std::vector<std::string> texts_;
  std::size_t next_ = 0;
};

}  // namespace

std::string to_string(const Array& array) {
  if (!array) return "empty Array";
  if (array.size() == 0) return "[]";
  if (array.rank() == 0) {
    std::byte element[8];
    array.to_host(element);
    return element_text(array.dtype(), element);
  }
  return Printer(array).print(0, kLineWidth);
}

std::ostream& operator<<(std::ostream& out, const Array& array) { return out << to_string(array); }

}  // namespace damo
