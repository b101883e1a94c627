// What convolutions and pooling ask of their operands, of a graph's and of Arrays.
#pragma once
#include <span>
#include <string>
#include <vector>

#include <damo/error.hpp>
#include <damo/type.hpp>
#include "ops/conv/window_form.hpp"

namespace damo {

/// What is wrong with values that describe() describes.
template <class E, class Value>
[[noreturn]] void refuse_pictures(const std::string& name, const std::string& what, std::span<const Value> values, SourceLine line, const std::string& remedy) {
  ErrorParts parts{name + ": " + what, {}, {}, remedy};
  for (const Value& value : values) parts.operands.push_back(describe(value));
  if (line) parts.where = name + " built at " + to_string(line);
  throw E(std::move(parts));
}

/// Ranks and dtypes; the dtype to which they are promoted. TypeError, ShapeError.
template <class Value>
DType require_pictures(const WindowForm& form, std::span<const Value> values, SourceLine line) {
  std::vector<Promotable> promotables;
  for (const Value& value : values) {
    promotables.push_back({value.dtype()});
    if (value.rank() != form.axes + 2) {
      const bool is_x = &value == &values[0];
      refuse_pictures<ShapeError>(form.name, "operands have " + std::to_string(form.axes + 2) + " axes, " + (is_x ? "x" : "w") + " has " + std::to_string(value.rank()), values, line,
                                  std::string(is_x ? "x has the axes (n, channels, extents...)" : "w has two axes before those of the window") +
                                      (value.rank() < form.axes + 2 ? ": expand_dims adds one" : ": flatten or reshape takes one away"));
    }
  }
  const DType dtype = result_type(promotables);
  if (!is_floating(dtype)) refuse_pictures<TypeError>(form.name, "takes floating dtypes, not " + std::string(name(dtype)), values, line, "cast(x, float32)");
  return dtype;
}

/// All behind the first two, of which there must be some.
template <class Value>
std::vector<int> spatial_axes(const std::string& name, const Value& x, SourceLine line) {
  if (x.rank() < 3) refuse_pictures<ShapeError>(name, "x has no spatial axes", std::span<const Value>(&x, 1), line, "x has the axes (n, channels, extents...)");
  std::vector<int> axes;
  for (int i = 2; i < x.rank(); ++i) axes.push_back(i);
  return axes;
}

}  // namespace damo
