// Interleaved arrays: 2 to 4 of them are every second (third, fourth) element of one piece of memory, one from its first element on, one from its second, and so on, as the even and the odd places that a
// rotary embedding turns, or real and imaginary parts. A thread that has neighbours of all of them moves them as the one piece that they are, where each alone would be moved element by element.
//
// Condition: of a kernel that reduces nothing, and has no turns, all inputs (outputs) that are strided so are just as many as their stride along the last axis says, of one dtype, with the same strides; vectors of
// them begin where they are aligned, if the first element does (mark_interleaved). That they lie beside each other shows at the launch, by their addresses (lie_interleaved): arrays that do not are read and
// written by a text for any addresses (Dialect::unaligned). Which of them begins first shows there too. A complex product, of two such pieces, has four strided inputs: not told apart.
// See tests/runtime/kernel/interleaved_test.cpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/kernel/layout.hpp"
#include "runtime/kernel/spec.hpp"

namespace damo {

inline constexpr int kMostInterleaved = 4;

/// Inputs, or outputs, that lie interleaved (Access::kInterleaved): as many as each one's stride along the last axis.
struct Interleaved {
  std::vector<int> parameters;
  int item_bytes = 1;

  int count() const { return static_cast<int>(parameters.size()); }
  /// Of one access to the piece, where a thread has so many neighbours of each array: at most 16.
  int access_bytes(int vector) const;
  /// Accesses to the piece for those neighbours.
  int accesses(int vector) const { return count() * vector * item_bytes / access_bytes(vector); }
};

/// The pieces of a layout: at most one of inputs and one of outputs, in this order.
std::vector<Interleaved> interleaved_of(const KernelSpec& spec, const Layout& layout);

/// Of what classify() gave: strided arrays that meet the condition become Access::kInterleaved.
Layout mark_interleaved(const KernelSpec& spec, Layout layout, const Geometry& geometry);
/// Neighbours of each array with which a thread has 16 bytes of the narrowest piece, 32 of elements of less than a word, or whole accesses of 16 bytes of three arrays; 0: nothing is interleaved.
int interleaved_vector(const KernelSpec& spec, const Layout& layout);
/// Whether vectors of so many neighbours begin where an access to their piece is aligned, if the piece does.
bool begin_aligned(const KernelSpec& spec, const Layout& layout, const Geometry& geometry, int vector);
/// Whether arrays at these addresses, one for each parameter of the piece, are the elements of one piece that is aligned for accesses of so many bytes.
bool lie_interleaved(std::span<const std::uintptr_t> addresses, int item_bytes, int access_bytes);

}  // namespace damo
