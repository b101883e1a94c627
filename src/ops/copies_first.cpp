#include "ops/copies_first.hpp"

#include <cstdlib>

namespace damo {
namespace {

constexpr std::int64_t kLineBytes = 64;

/// How neighbours along the space's last axis of more than one element lie in an array.
enum class Along { kNothing, kLine, kAcross, kApart };

class Lines {
 public:
  explicit Lines(const Shape& space) : space_(space), last_(space.rank() - 1) {
    while (last_ >= 0 && space[last_] <= 1) --last_;
  }
  std::int64_t sweep_bytes() const { return last_ < 0 ? 0 : space_[last_] * kLineBytes; }

  Along of(const ArrayLayout& array, std::int64_t bytes) const {
    const int lead = space_.rank() - array.shape->rank();
    if (last_ < lead || (*array.shape)[last_ - lead] == 1) return Along::kNothing;
    bool across = false;
    for (int axis = 0; axis < array.shape->rank(); ++axis) {
      const std::int64_t extent = (*array.shape)[axis], apart = std::abs((*array.strides)[axis]) * bytes;
      if (extent == 1) continue;
      if (apart == 0) return Along::kNothing;
      if (apart >= kLineBytes) continue;
      if (axis + lead == last_) return Along::kLine;
      across |= extent * apart >= kLineBytes;
    }
    return across ? Along::kAcross : Along::kApart;
  }

 private:
  const Shape& space_;
  int last_;
};

}  // namespace

std::vector<int> copies_first(const KernelSpec& spec, const Shape& space, std::span<const ArrayLayout> arrays) {
  const Lines lines(space);
  std::vector<int> copied;
  bool reads_along = false, writes_along = false;
  int array = 0;
  for (int i = 0; i < spec.parameter_count(); ++i) {
    if (spec.is_ordinals(i)) continue;
    const int at = array++;
    if (!spec.is_output(i) && spec.is_value(i)) continue;
    if (arrays[static_cast<std::size_t>(at)].taken) {  // found where it is, or else it is in order
      reads_along = true;
      continue;
    }
    const Along along = lines.of(arrays[static_cast<std::size_t>(at)], spec.element_bytes(i));
    (spec.is_output(i) ? writes_along : reads_along) |= along == Along::kLine;
    if (!spec.is_output(i) && along == Along::kAcross) copied.push_back(at);
  }
  if (!writes_along && !(reads_along && lines.sweep_bytes() > kNearBytes)) copied.clear();
  return copied;
}

}  // namespace damo
