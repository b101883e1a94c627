// Blocks that hold rows in all registers of their threads, where 512 threads of 32 registers' worth do not, or where elements take many: of each number of blocks on a multiprocessor the compiler may give a
// thread so many registers, and what a row's elements, its steps and 16 more take must fit. Why these blocks: docs/performance.md, "Rows in as many registers as a thread has".
//
// Each of the three gives a layout its lanes, items, residents and cluster; false: none of its blocks holds the row, and the layout is as it was. They serve kernels that write elements, of rows of which there is one for
// each multiprocessor. vectors: of a row.
#pragma once
#include <cstdint>

#include "runtime/kernel/dialect.hpp"

namespace damo {

inline constexpr int kLanesOfACluster = 256;  ///< of each block, unless the longest cluster needs more
inline constexpr int kLanesAlone = 512;       ///< of a row that is not worth a cluster: with 1,024 one block is resident and waits for itself
inline constexpr int kManyMeetings = 3;       ///< of a row's threads: fewer of them meet sooner

/// Whether the threads of a row that is held give each other what they have joined kManyMeetings times or more, as gradients do.
bool meets_often(const KernelSpec& spec);
/// Registers beyond one of each element of a vector that the structs of joins of several values take while a thread joins its elements.
int words_of_members(const KernelSpec& spec, const Layout& layout);
/// Registers that one element of a row takes where a later pass wants what was read beside what is kept of it: not what vectors have one element of, nor what a block that stays finds in shared memory.
int words_wanted_again(const KernelSpec& spec, const Layout& layout);
/// Bytes of registers that one element of a row takes where a later pass wants what was read beside what is kept of it. The compiler keeps a bfloat16 as the float that it was made to for the first pass, of a
/// float16 the half word.
int bytes_wanted_again(const KernelSpec& spec, const Layout& layout);

/// Of rows of which three words an element are wanted again, or two where threads meet three times: few lanes that have many elements. is_short: of 16-bit floats.
bool hold_many_words(const KernelSpec& spec, Layout& layout, const Geometry& geometry, std::int64_t vectors, const Processors& processors, bool is_short);
/// Of rows of 16-bit floats that kLanesOfACluster threads hold.
bool hold_short_row(const KernelSpec& spec, Layout& layout, const Geometry& geometry, std::int64_t vectors, const Processors& processors);
/// Of longer rows: a block, or a cluster of two, each alone on its multiprocessor.
bool hold_long_row(const KernelSpec& spec, Layout& layout, const Geometry& geometry, std::int64_t vectors, const Processors& processors);

}  // namespace damo
