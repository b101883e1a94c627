// What the compositions are written with (compositions.cpp, cells_and_grids.cpp, images_and_signals.cpp, losses_and_updates.cpp).
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "workload.hpp"

namespace damo::bench {

inline constexpr std::int64_t kFullElements = 1 << 27;  // to which the extents below give the arrays that are read or written most

/// Appends the graphs for one dtype.
class CompositionList {
 public:
  using Inputs = std::span<const Variable>;
  using Outputs = std::vector<Variable>;

  CompositionList(std::vector<Workload>& all, std::int64_t elements, DType dtype) : all_(all), elements_(elements), dtype_(dtype) {}

  /// So many of kFullElements, scaled to the elements asked for, at least 1.
  std::int64_t scaled(std::int64_t count) const { return std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(count) * static_cast<double>(elements_) / kFullElements)); }

  /// read_again: elements that the first kernel to read them can't keep until something is known of all of them.
  void add(Workload work, std::int64_t read_again = 0) {
    if (dtype_ == bfloat16) work.name += "_bf16";
    work.dtype = dtype_;
    work.knows_extents = true;
    const std::vector<Variable> inputs = work.variables();
    const auto count = [&](const Variable& value) {
      if (!value.dims().is_known()) throw std::logic_error(work.name + ": not all extents are known");
      work.bytes += static_cast<double>(value.dims().size()) * static_cast<double>(itemsize(value.dtype()));
    };
    work.bytes = static_cast<double>(read_again) * static_cast<double>(itemsize(dtype_));
    for (const Variable& input : inputs) count(input);
    for (const Variable& output : work.graph(inputs)) count(output);
    all_.push_back(std::move(work));
  }
  void add(std::string name, std::vector<Shape> shapes, std::function<Outputs(Inputs)> graph, std::int64_t read_again = 0) {
    add(Workload{.name = std::move(name), .shapes = std::move(shapes), .graph = std::move(graph)}, read_again);
  }

 private:
  std::vector<Workload>& all_;
  std::int64_t elements_;
  DType dtype_;
};

inline std::vector<Variable> gradients(const Variable& y, const Variable& by_y, std::initializer_list<Variable> inputs) { return lop({y}, {by_y}, inputs); }

void add_cells(CompositionList& list);
void add_similarities(CompositionList& list);
void add_grids(CompositionList& list);
void add_images_and_signals(CompositionList& list);
void add_losses_and_updates(CompositionList& list);

}  // namespace damo::bench
