// Of a generated CUDA kernel that reduces: other schedules with the same bits, and what each is expected to take.
//
// Which bits a result has follows from what is joined with what, in which order: JoinOrder says all that decides it. A thread joins its elements one after the
// other, each place of its vectors apart, then those places; then the lanes of a warp, the warps of a block, the blocks of a cluster, and the chunks of a row, each in one order. So
// lanes, the width of vectors and the blocks of a cluster are the order, and so are blocks that join across rows, whose number says which rows one has. These follow from
// shape and device alone (reducing_schedule.hpp), and no measurement chooses them. What it may choose:
//
//   residents   of rows that are held: registers that the compiler may use
//   ahead       rows that blocks which stay have on their way
//   rows_each   of runs of short rows: how many of them a thread goes through, one after the other
//   items       of rows that are not held: vectors that a thread reads at a time. It joins them one after the other all the same, and begins a new partial value after as
//               many (vectors_of_a_sum). Not where a join takes what it reads at a time as a group (vectors_of_a_group), which is the order, too
//
// The model, in microseconds: what is the greater of
//   memory        bytes of all arrays, and of chunks' values there and back, at kBytesOfANanosecond a multiprocessor (of an H200 32, of an H100 23, of an A100 13)
//                 x starving: bytes that a multiprocessor should have on their way (48 KB) by those that its resident threads read at a time, 1 at least
//                 x waves: of blocks that come and go (w + 1/2) / w, where w times as many blocks are as may be resident; 1 / w where there are fewer than multiprocessors.
//                   Of blocks that stay the rows of the one that has most by the mean
//   instructions  of all elements, at kLanesOfAMultiprocessor a cycle of kNanosecondsOfACycle
// and kLaunch for each launch. It is a model of what differs between schedules of one kernel; of kernels it says no more than which take long.
// See tests/runtime/cuda/row_alternatives_test.cpp.
#pragma once
#include <cstdint>
#include <vector>

#include "runtime/kernel/dialect.hpp"

namespace damo {

struct JoinOrder {
  int vector = 1, lanes = 1, block = 1, cluster = 1;
  bool columns = false;
  int beside = 0;            ///< rows of a tile: what lanes of a warp have is joined before what warps have
  bool anywhere = false;     ///< vectors lie where memory wants them, not where the row begins
  bool pairs_warps = false;  ///< a block's warps are joined in pairs (blocks that stay), not one after the other
  bool own_maximum = false;  ///< exponentials are summed against each block's own maximum
  std::int64_t run = 0;      ///< vectors of a thread's partial value
  int group = 1;             ///< vectors that some join appends to it at once
  std::int64_t chunk = 0, chunks = 1;  ///< of a row; of joins across rows the blocks that have each n-th row

  friend bool operator==(const JoinOrder&, const JoinOrder&) = default;
};
JoinOrder join_order(const KernelSpec& spec, const Layout& layout, const Geometry& geometry, const Processors& processors);

double predicted_microseconds(const KernelSpec& spec, const Layout& layout, const Geometry& geometry, const Processors& processors);

/// The layout, which share_cuda_rows gave, first.
std::vector<ScheduleGuess> row_alternatives(const KernelSpec& spec, const Layout& layout, const Geometry& geometry, const Processors& processors);

/// The same of a kernel whose arrays are turned in tiles, which joins nothing: tiles of all sizes have the same bits. The model: bytes of all arrays, of which tiles that reach over the edges
/// count as whole ones.
std::vector<ScheduleGuess> tile_alternatives(const KernelSpec& spec, const Layout& layout, const Geometry& geometry, const Processors& processors);

}  // namespace damo
