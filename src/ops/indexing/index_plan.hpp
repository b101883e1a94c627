// How indices among which are tensors are followed: as a view of x, in which the axes that tensors name lie side by side, and one walk over these axes.
#pragma once
#include <span>
#include <string>
#include <vector>

#include <damo/axes.hpp>
#include <damo/index.hpp>

namespace damo {

/// Throws ShapeError, in that name, for more indices than axes.
void require_axes_for(const std::string& user, std::size_t indices, int rank);

struct IndexPlan {
  /// Of one tensor: which of the indices it is, the first axis of x that it names, and how many.
  struct Tensor {
    int index, axis, axes;
  };
  /// What one index is, which of the caller's, and how many axes of x a tensor names, 1 but for masks.
  struct Item {
    IndexKind kind;
    Index index;
    int axes = 1, number = -1;
  };
  /// Throws ShapeError for more indices than axes and for a second ellipsis. user: the op in whose name errors speak.
  static IndexPlan of(const std::string& user, const std::vector<Item>& items, int rank);

  std::vector<Index> part;      ///< of each axis of x: what remains of it as a view
  std::vector<Tensor> tensors;  ///< in order
  std::vector<int> turned;      ///< dimshuffle of that part: the named axes side by side, new axes where they belong
  std::vector<int> turned_back; ///< the reverse
  int axis = 0, axes = 0;       ///< of the turned part: those that the positions walk over, whose place their common shape takes

  std::span<const Index> shortest() const;  ///< the part, without whole axes at its end
  bool takes_all() const;  ///< the part is x
  bool is_turned() const;  ///< the turned part is not the part
};

template <class Tensor, class AxesOf>
IndexPlan index_plan(const std::string& user, std::span<const AnyIndex<Tensor>> indices, int rank, AxesOf axes_of) {
  std::vector<IndexPlan::Item> items;
  for (const AnyIndex<Tensor>& index : indices) {
    const bool is_tensor = index.kind() == IndexKind::kTensor;
    items.push_back({index.kind(), index.index(), is_tensor ? axes_of(index.tensor()) : 1, static_cast<int>(items.size())});
  }
  return IndexPlan::of(user, items, rank);
}

}  // namespace damo
