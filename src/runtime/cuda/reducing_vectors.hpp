// How generated CUDA kernels that reduce or scan move elements: by vectors of neighbours, along rows or across columns. What all of their schedules ask of a spec stands here
// too: how many bytes and registers an element takes, and whether the kernel goes over it again.
#pragma once
#include <cstddef>

#include "runtime/kernel/dialect.hpp"
#include "runtime/kernel/passes.hpp"

namespace damo {

inline constexpr int kReducingBlock = 256;                        ///< threads, where nothing asks for more
inline constexpr int kMostLanes = 1024;                           ///< threads of a block that share a row
inline constexpr int kLanesOfAMultiprocessor = 128;               ///< that compute at once
inline constexpr int kLeastOwnRegisters = 16;                     ///< as kOwnRegisters, of a thread that holds much of a row: with fewer it spills more than a block more is worth
inline constexpr int kMostItems = 8;                              ///< vectors of a thread, of kernels that read little or nothing
inline constexpr int kMostWordsHeld = 32;                         ///< registers of a thread that hold elements, beyond kWordsHeld, and of 16-bit floats, which are half the bytes
inline constexpr std::size_t kColumnSharedBytes = 48 * 1024;      ///< that any block may have, for the values that threads of a column join

/// What DAMO_CUDA_ROWS asks for; 0: the default.
struct AskedRows {
  int lanes = 0, items = 0, cluster = 0, residents = 0;
};
/// OptionError: a schedule that no kernel can have.
AskedRows asked_rows();

inline Access access_of(const Layout& layout, int parameter) { return layout.access[static_cast<std::size_t>(parameter)]; }
inline bool is_moved(Access access) { return !is_scalar(access) && access != Access::kRepeat; }
/// Bytes of one element of every array that is read element by element, but for those that rows share, which the caches have, and those of which a vector has one element.
int bytes_read(const KernelSpec& spec, const Layout& layout);
/// Registers that one element of a row takes while it is held: as it was read, or as what is kept of it. Of columns without words_of_steady, as one element serves all of a vector.
int words_of_place(const KernelSpec& spec, const Layout& layout);
/// Registers that a vector takes of arrays of which it has one element (Access::kSteady), with or without those that the last pass alone reads.
int words_of_steady(const KernelSpec& spec, const Layout& layout, bool with_late);
/// Registers that one element of a row takes while pass number `pass` begins, for what prefix joins have left to it and to later ones.
int words_of_prefixes(const KernelSpec& spec, const Passes& passes, std::size_t pass);
/// Whether a thread that holds its part of a row asks for what vectors have one element of (Access::kSteady) together with the row, though a later pass alone reads it: it has come when the joins are done.
/// Where registers that the resident blocks leave a thread have room for it.
bool asks_early(const KernelSpec& spec, const Layout& layout);
/// Words that the joins of one pass take, at most, of each element of a vector.
int most_joined_words(const KernelSpec& spec);
/// Whether any pass stores element by element.
bool writes_elements(const KernelSpec& spec);
/// Whether there are several passes where nothing is held.
bool goes_again(const KernelSpec& spec);
/// Whether vectors of so many neighbours, along rows or across columns, are whole and lie alike in every row.
bool has_whole_vectors(const KernelSpec& spec, const Layout& layout, const Geometry& geometry, int vector);
/// Sets Layout::vector, and what a row does at its ends.
void move_in_vectors(const KernelSpec& spec, Layout& layout, const Geometry& geometry);

}  // namespace damo
