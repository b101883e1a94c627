#include "runtime/kernel/interleaved.hpp"

#include <algorithm>
#include <bit>

namespace damo {
namespace {

constexpr int kAccessBytes = 16;      // the widest of a thread
constexpr int kAccessesOfShorts = 2;  // of elements of less than a word: to find where a piece begins takes as long, whatever it holds

bool is_power_of_two(int count) { return std::has_single_bit(static_cast<unsigned>(count)); }

/// The strided parameters from first on, before last, that lie every so many elements, if they are so many and nothing else tells them apart.
std::vector<int> find_piece(const KernelSpec& spec, const Layout& layout, const Geometry& geometry, int first, int last) {
  const auto strides = [&](int i) -> const Strides& { return geometry.strides[static_cast<std::size_t>(i)]; };
  const auto is_strided = [&](int i) { return layout.access[static_cast<std::size_t>(i)] == Access::kStrided && !layout.is_taken(i) && !layout.frame_of(i) && !spec.is_ordinals(i); };
  for (int i = first; i < last; ++i) {
    const std::int64_t apart = strides(i)[-1];
    if (!is_strided(i) || apart < 2 || apart > kMostInterleaved) continue;
    std::vector<int> alike;
    for (int other = first; other < last; ++other) {
      if (is_strided(other) && strides(other) == strides(i) && spec.parameter_dtype(other) == spec.parameter_dtype(i)) alike.push_back(other);
    }
    if (static_cast<std::int64_t>(alike.size()) == apart) return alike;
  }
  return {};
}

}  // namespace

int Interleaved::access_bytes(int vector) const { return std::min(kAccessBytes, (is_power_of_two(count()) ? count() : 1) * vector * item_bytes); }

std::vector<Interleaved> interleaved_of(const KernelSpec& spec, const Layout& layout) {
  std::vector<Interleaved> pieces;
  const auto add = [&](int first, int last) {
    Interleaved piece;
    for (int i = first; i < last; ++i) {
      if (layout.access[static_cast<std::size_t>(i)] == Access::kInterleaved) piece.parameters.push_back(i);
    }
    if (piece.parameters.empty()) return;
    piece.item_bytes = static_cast<int>(itemsize(spec.parameter_dtype(piece.parameters[0])));
    pieces.push_back(std::move(piece));
  };
  if (layout.access.empty()) return pieces;
  add(0, spec.input_count());
  add(spec.input_count(), spec.parameter_count());
  return pieces;
}

Layout mark_interleaved(const KernelSpec& spec, Layout layout, const Geometry& geometry) {
  if (layout.form != Form::kElements || layout.tile_axis >= 0 || spec.loop) return layout;
  std::vector<int> inputs = find_piece(spec, layout, geometry, 0, spec.input_count());
  const std::vector<int> outputs = find_piece(spec, layout, geometry, spec.input_count(), spec.parameter_count());
  inputs.insert(inputs.end(), outputs.begin(), outputs.end());
  for (int i : inputs) layout.access[static_cast<std::size_t>(i)] = Access::kInterleaved;
  return layout;
}

int interleaved_vector(const KernelSpec& spec, const Layout& layout) {
  int least = 0;
  for (const Interleaved& piece : interleaved_of(spec, layout)) {
    const int accesses = piece.item_bytes < 4 ? kAccessesOfShorts : 1;
    const int vector = std::max(kAccessBytes / piece.item_bytes * accesses / (is_power_of_two(piece.count()) ? piece.count() : accesses), 1);
    least = least == 0 ? vector : std::min(least, vector);
  }
  return least;
}

bool begin_aligned(const KernelSpec& spec, const Layout& layout, const Geometry& geometry, int vector) {
  if (geometry.extents[-1] % vector != 0) return false;
  for (const Interleaved& piece : interleaved_of(spec, layout)) {
    const Strides& strides = geometry.strides[static_cast<std::size_t>(piece.parameters[0])];
    for (int axis = 0; axis + 1 < strides.rank(); ++axis) {
      if (strides[axis] * piece.item_bytes % piece.access_bytes(vector) != 0) return false;
    }
  }
  return true;
}

bool lie_interleaved(std::span<const std::uintptr_t> addresses, int item_bytes, int access_bytes) {
  const std::uintptr_t first = *std::min_element(addresses.begin(), addresses.end());
  const auto item = static_cast<std::uintptr_t>(item_bytes);
  unsigned places = 0;
  for (const std::uintptr_t address : addresses) {
    const std::uintptr_t place = (address - first) / item;
    if ((address - first) % item != 0 || place >= addresses.size()) return false;
    places |= 1u << place;
  }
  return places == (1u << addresses.size()) - 1 && first % static_cast<std::uintptr_t>(access_bytes) == 0;
}

}  // namespace damo
