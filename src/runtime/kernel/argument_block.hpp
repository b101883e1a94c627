// ArgumentBlock: the one struct that a generated kernel takes by value, as text for the kernel and as bytes for a launch.
//   pointers of all arrays, or in a pointer's place the element of one that is passed by value, or a table's pointer and size; of a spec with guarded outputs that of its flag; the spec's numbers; n; and unless the layout is flat: extents, magic numbers of division (32-bit indices only),
//   of flat tiles runs of positions, with magic numbers in any width; strides of the arrays that are neither dense nor scalar; last the flags `fast`: 1 if every array meets the
//   alignment that vector accesses need, and then 2 if the arrays are too large for the caches (Dialect::streams).
// Of each array that is taken, before the numbers: the pointer to its positions (positions0) and how far slices lie apart (apart0), in elements; and behind its strides, or those along the kept axes,
//   its positions' (of0); of columns also those along the reduced axes (by0).
// Of each array that is framed, before the numbers: the value around it (frame0), as that of an array that is passed by value; and behind its strides, along each axis, places before it (before0) and its own (inside0), of axes
//   without a frame 0.
// Of a spec with turns (SerialLoop), before n: their number, and of each array that moves with them its stride (t0) and, if it is written, the first turn that
//   is stored (b0), in 64 bits.
// Of a kernel that reduces: behind the pointers that of the scratch memory; n, length, chunk, chunks, tile in 64 bits (n: rows);
//   the extents of the kept and of the reduced axes, with magic numbers of division where there are several (32-bit places only); of each array that is no scalar its strides along the kept axes (k0)
//   and, unless it has one element a row, along the reduced ones (r0); the flags.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/kernel/dialect.hpp"
#include "runtime/kernel/interleaved.hpp"
#include "runtime/kernel/layout.hpp"
#include "runtime/kernel/spec.hpp"

namespace damo {

/// Whether the strides of an array of this class are part of the block.
inline bool has_strides(Access access) { return access != Access::kDense && !is_scalar(access); }

/// Whether kernels that reduce divide by the extents of so many axes with the block's magic numbers: numbers below 2^31, of which places are made.
inline bool divides_by_magic(const Layout& layout, int rank) { return !layout.wide && rank > 1; }

/// The declaration of struct Numbers; empty if the spec has none.
std::string number_struct(const KernelSpec& spec);
/// The declaration of struct Arguments, which has a member `numbers` if the spec has some.
std::string argument_struct(const KernelSpec& spec, const Layout& layout);

/// What a joined kernel takes (joined_kernel.hpp): struct Member, the Arguments of each and the number of its first block, and struct Joined.
std::string joined_structs();

class ArgumentBlock {
 public:
  ArgumentBlock() = default;
  /// geometry of the layout's rank. vector_width: see Dialect.
  ArgumentBlock(const KernelSpec& spec, const Layout& layout, const Geometry& geometry, int vector_width, const Work& work = {});

  void set_pointer(int parameter, const void* address) {
    pointers()[slot_[static_cast<std::size_t>(parameter)]] = reinterpret_cast<std::uintptr_t>(address);
  }
  /// Of a table, beside its pointer.
  void set_size(int parameter, std::int64_t size) { pointers()[slot_[static_cast<std::size_t>(parameter)] + 1] = static_cast<std::uintptr_t>(size); }
  /// Of an array that is taken.
  void set_positions(int parameter, const void* address) {
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      if (taken_[i] == parameter) pointers()[taken_at_ + 2 * i] = reinterpret_cast<std::uintptr_t>(address);
    }
  }
  /// In the place of the spec's numbers, of the same dtypes.
  void set_numbers(std::span<const Scalar> numbers);
  /// Of a spec with turns.
  void set_run(const KernelSpec& spec, const LoopRun& run);
  /// The element of a parameter whose access is kValue, in the bits' first bytes.
  void set_value(int parameter, std::uint64_t bits) { pointers()[slot_[static_cast<std::size_t>(parameter)]] = bits; }
  /// After the pointers are set: recomputes the flag. Whether it is set, and what is to lie interleaved does.
  bool set_fast() {
    std::uintptr_t misaligned = 0;
    for (std::size_t i = 0; i < alignment_.size(); ++i) misaligned |= pointers()[slot_[i]] & alignment_[i];
    const bool is_fast = can_be_fast_ && misaligned == 0;
    *reinterpret_cast<std::uint32_t*>(bytes_.data() + flag_at_) = is_fast ? flags_ : 0u;
    return is_fast && (interleaved_.empty() || are_interleaved());
  }
  void set_streams(bool streams) { flags_ = streams ? 3 : 1; }
  /// Of a kernel that reduces in chunks.
  void set_scratch(const void* address) { pointers()[scratch_at_] = reinterpret_cast<std::uintptr_t>(address); }
  /// Of a spec with guarded outputs: the 32-bit number that becomes 1 where one of them receives a value that is not finite.
  void set_flag(const void* address) { pointers()[guard_at_] = reinterpret_cast<std::uintptr_t>(address); }
  /// Addresses, elements in their place and numbers of another launch with the same arrays, whose layout differs in how its work is shared out alone.
  void take_values(const ArgumentBlock& other) { std::copy_n(other.bytes_.begin(), values_end_, bytes_.begin()); }
  const void* pointer(int parameter) const { return reinterpret_cast<const void*>(reinterpret_cast<const std::uintptr_t*>(bytes_.data())[slot_[static_cast<std::size_t>(parameter)]]); }
  void* data() { return bytes_.data(); }
  std::size_t size() const { return bytes_.size(); }

 private:
  /// Arrays of one piece of memory.
  struct Piece {
    std::vector<int> parameters;
    int item_bytes, access_bytes;
  };
  bool are_interleaved();
  std::uintptr_t* pointers() { return reinterpret_cast<std::uintptr_t*>(bytes_.data()); }
  std::vector<std::byte> bytes_;
  std::vector<std::uintptr_t> alignment_;  // a mask for each array
  std::vector<std::uint32_t> slot_;        // of each array: which of the words is its pointer
  std::vector<int> taken_;                 // arrays
  std::vector<Piece> interleaved_;
  std::size_t scratch_at_ = 0, guard_at_ = 0, taken_at_ = 0, numbers_at_ = 0, turns_at_ = 0, values_end_ = 0, flag_at_ = 0;
  std::uint32_t flags_ = 1;
  bool can_be_fast_ = true;
};

}  // namespace damo
