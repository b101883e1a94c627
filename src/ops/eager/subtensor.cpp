#include <damo/array_subtensor.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include <damo/array_masks.hpp>
#include <damo/array_math.hpp>
#include <damo/array_shape.hpp>
#include "graph/base/computed_dtype.hpp"
#include "ops/both_worlds.hpp"
#include "ops/eager/index_kernels.hpp"
#include "ops/indexing/index_plan.hpp"
#include "ops/indexing/masked_shape.hpp"
#include "ops/indexing/positions.hpp"
#include "ops/promotion.hpp"

namespace damo {
namespace {

using ArrayIndices = std::span<const AnyIndex<Array>>;

/// x[indices], at once.
class IndexedArray {
 public:
  IndexedArray(std::string user, const Array& x, ArrayIndices indices) : user_(std::move(user)), x_(given(x, "x")), indices_(indices), plan_(index_plan(user_, indices, x.rank(), [&](const Array& tensor) { return axes_of(tensor); })) {}

  Array taken() const {
    const Array from = turned(x_);
    if (plan_.tensors.empty()) return from;
    const Array at = positions(), out = Array::empty(taken_shape(from.shape(), at.shape(), plan_.axis, plan_.axes), x_.dtype(), x_.device());
    const bool strided = plan_.is_turned() || !plan_.takes_all();
    gather(strided ? from : contiguous(from), at, out, plan_.axis, plan_.axes, strided);
    return out;
  }

  Array written(ScatterKind kind, const ArrayOperand& y) const {
    if (kind == ScatterKind::kAdd) require_computed(user_, x_.dtype());
    if (kind == ScatterKind::kAdd && x_.dtype() == bool_) throw TypeError(user_ + ": x is bool, which nothing is added to", "cast it to an integer");
    require_stays(user_, x_.dtype(), y);
    const Array value = y.is_number() ? Array::scalar(y.number().cast(x_.dtype()), x_.device()) : astype(y.array(), x_.dtype());
    const Array z = x_.copy(), part = turned(z);
    if (plan_.tensors.empty()) {
      require_fits_part(user_, part.shape(), value.shape(), value.shape());
      part.copy_from(kind == ScatterKind::kSet ? value.broadcast_to(part.shape()) : part + value);
      return z;
    }
    const Array at = positions();
    const Shape shape = taken_shape(part.shape(), at.shape(), plan_.axis, plan_.axes);
    require_fits_part(user_, shape, value.shape(), value.shape());
    const Array target = contiguous(part);
    scatter(kind, value.broadcast_to(shape), at, target, plan_.axis, plan_.axes, plan_.tensors.size() > 1 || tensor(plan_.tensors[0]).dtype() != bool_);
    if (target.data() != part.data()) part.copy_from(target);
    return z;
  }

 private:
  const Array& given(const Array& x, const char* what) const {
    if (!x) throw TypeError(user_ + ": " + what + " is an empty Array", "check the Array with if (array)");
    return x;
  }
  int axes_of(const Array& tensor) const {
    given(tensor, "an index");
    if (!(tensor.device() == x_.device())) throw DeviceError(user_ + ": " + describe(x_) + " with indices " + describe(tensor), "move one of them: x.to(device)");
    if (tensor.dtype() != bool_ && !is_integer(tensor.dtype())) throw TypeError(user_ + ": tensors among the indices are integers or bools, this is " + describe(tensor), "astype(index, int64)");
    if (tensor.dtype() == bool_ && tensor.rank() == 0) throw TypeError(user_ + ": a mask has at least one axis, this is " + describe(tensor), "where(condition, x, y) chooses by one bool");
    return tensor.dtype() == bool_ ? tensor.rank() : 1;
  }
  const Array& tensor(const IndexPlan::Tensor& at) const { return indices_[static_cast<std::size_t>(at.index)].tensor(); }

  /// A view.
  Array turned(const Array& x) const {
    Shape shape;
    Strides strides;
    std::vector<Slice> slices;
    for (int axis = 0; axis < x.rank(); ++axis) {
      const Index& index = plan_.part[static_cast<std::size_t>(axis)];
      if (!index.is_position()) {
        slices.push_back(index.slice());
        continue;
      }
      const std::int64_t position = position_on_axis(user_, index.position(), axis, x.shape()[axis]);
      slices.push_back({position, position + 1});
    }
    const Array sliced = x.slice(slices);
    for (int axis = 0; axis < x.rank(); ++axis) {
      if (plan_.part[static_cast<std::size_t>(axis)].is_position()) continue;
      shape.push_back(sliced.shape()[axis]);
      strides.push_back(sliced.strides()[axis]);
    }
    const Array part = sliced.view(x.dtype(), shape, strides, 0);
    return plan_.is_turned() ? dimshuffle(part, plan_.turned) : part;
  }

  /// Of the axes that tensors name, in their common shape.
  Array positions() const {
    Array all;
    for (const IndexPlan::Tensor& of : plan_.tensors) {
      const Array one = numbers(of);
      if (all) require_common(user_, all.shape(), one.shape());
      all = all ? all * extent(of) + one : one;
    }
    return contiguous(all);
  }
  std::int64_t extent(const IndexPlan::Tensor& of) const { return walked_extent(x_.shape(), of.axis, of.axes); }
  Array numbers(const IndexPlan::Tensor& of) const {
    const Array& index = tensor(of);
    if (index.dtype() == bool_) {
      Shape masked(std::span(x_.shape().begin() + of.axis, x_.shape().end()));
      check_mask(user_, masked, bool_, index.shape());
      return flatnonzero(index);
    }
    if (index.size() > 0 && x_.shape()[of.axis] == 0) refuse_empty_axis(user_, of.axis);
    return checked_positions(user_.c_str(), index, of.axis, x_.shape()[of.axis], 0);
  }

  std::string user_;
  const Array& x_;
  ArrayIndices indices_;
  IndexPlan plan_;
};

/// Indices none of which is a tensor.
std::vector<AnyIndex<Array>> any_of(std::span<const Index> indices) { return {indices.begin(), indices.end()}; }

}  // namespace

Array subtensor(const Array& x, ArrayIndices indices) {
  return asked_at_once("subtensor", [&] { return IndexedArray("subtensor", x, indices).taken(); }, x);
}
Array set_subtensor(const Array& x, ArrayIndices indices, const ArrayOperand& y) {
  return asked_at_once("set_subtensor", [&] { return IndexedArray("set_subtensor", x, indices).written(ScatterKind::kSet, y); }, x, y);
}
Array inc_subtensor(const Array& x, ArrayIndices indices, const ArrayOperand& y) {
  return asked_at_once("inc_subtensor", [&] { return IndexedArray("inc_subtensor", x, indices).written(ScatterKind::kAdd, y); }, x, y);
}

Array subtensor(const Array& x, std::span<const Index> indices) { return subtensor(x, any_of(indices)); }
Array set_subtensor(const Array& x, std::span<const Index> indices, const ArrayOperand& y) { return set_subtensor(x, any_of(indices), y); }
Array inc_subtensor(const Array& x, std::span<const Index> indices, const ArrayOperand& y) { return inc_subtensor(x, any_of(indices), y); }

}  // namespace damo
