// How a generated CUDA kernel that reduces shares rows out: from the spec, the number and length of rows, and the GPU.
//
// A kernel is as fast as memory where enough bytes are on their way: 48 KB for each multiprocessor of an H200. A block that holds its rows
// reads for about a third of its time and computes and writes for the rest, so blocks that hold twice as much should be resident, and
// enough of them that some read while others wait. Measured on an H200 (docs/performance.md):
//
//   elements of a thread  16 registers' worth up to 512 lanes. Three blocks of 512 with 96 KB are then resident, for which the compiler is told to leave them
//                         registers: of itself it takes what two leave, of which both may wait at once (cross entropy with its gradient, 8,192 columns: 282 us, with
//                         three 265). Of smaller blocks 1,024 threads are enough (softmax of 4,096 columns: four of 256 258 us, six 262).
//                         Longer rows take 32, with which 1,024 threads are resident, where the compiler is told likewise
//   cluster               blocks of 256 lanes that share a row which 512 lanes do not hold, and give each other their values (sm_90): a block
//                         of 1,024 lanes would be resident alone and wait for itself. It costs each block two meetings of all
//   block that stays      one of 1,024 lanes with up to 32 registers' worth, or a cluster of the fewest such blocks that hold a row, as many as are resident, each
//                         with every n-th row. While it computes one row the next, or the next two where shared memory has room, are on their way there. Of kernels of
//                         one or two arrays that write elements, for rows that 512 lanes do not hold and of which each has kRowsToStay. Where a cluster sums exponentials of a row's
//                         elements less their maximum, each of its blocks does against its own maximum (own_maximum.hpp), so that a row costs one meeting of all.
//                         Which block has which row follows from the shape and the device, and a row's value from neither.
//                         Rows that begin anywhere are taken apart where lines of the cache begin: a warp whose vectors began within one would touch a line more,
//                         and share it with its neighbour (softmax of 2670 x 50257 on an H200: 298 us, where vectors alone are aligned; 284)
//   rows that begin       their first and last vectors are read whole where the array goes on beside the row: element by element 16-bit floats, which share words, would be waited
//   anywhere              for before the next vector is asked for (softmax of 1,001 bfloat16 columns on an H100: 564 us; 415, of which a copy takes 360). Of 16-bit floats a thread has a vector
//                         more, of which most are empty: of 8,191 columns 256 lanes of 5 take 401 us, 512 of 3 take 535
//   words wanted again    of 16-bit floats and what is made of them are more than half of the registers that 1,024 threads leave each: then 768 (smoothed cross entropy with its gradient, 8,192 bfloat16 columns: 264 us
//                         with 29 registers spilled, 213). A bfloat16 stays in a register of its own once it was a float, two float16 in the one that was read
//   short rows of 16-bit  up to five vectors of a thread, in as few lanes of a warp as hold the row so, 8 at least: what lanes give each other is a row's greatest cost. 768 threads are told to be
//   floats                resident, else the compiler saves registers by reading one vector after the other. Where vectors are not whole but halves of them are, those are taken (softmax
//                         of bfloat16 on an H100, a copy 185 us: of 100 columns 309 us, 193 so; of 200 216, 186; of 300 302, 184; of 301 310, 206; of 1,000 230, 185; of 1,004 220, 188)
//   runs of short rows    rows of up to 64 registers that lie one behind the other are one piece of memory, whatever their length is: a warp reads those of its 32 threads, and as many more of them as
//                         make 48 bytes a thread, by whole vectors into shared memory, and writes them so. Each thread has whole rows: it asks no other one, no vector is half empty, and a row's elements are joined
//                         in their order wherever it begins. It takes what vectors of the row leave room for at once from shared memory, where only rows that are a multiple of 128 bytes would wait for each
//                         other: those are left to lanes. Of arrays that lie otherwise, of few rows, and of joins across rows lanes share rows as before (softmax of 3 floats a row on an H100, a copy 360 us: 805 us, so
//                         359; of 3 bfloat16, 180: 1,146, 186; argmax of 31 bfloat16, 102: 316, 102)
//   pieces of short rows  of several axes, windows of an image say, of which neighbouring rows' pieces are neighbours in memory: a row a thread too, which reads them where they lie
//   rows joined across    of up to 32 lanes have four vectors a thread where registers hold them: what lanes of a short row give each other is its greatest cost (softmax of rows of 64 with the greatest, its place and sums of
//                         columns on an H200, one vector a thread 449 us, two 295, four 219)
//   columns of 16-bit     that a block holds: 32 elements a thread at most (softmax over 64 of an H200's bfloat16: with 64 elements 224 us, with 32 158)
//   floats
//   columns               that 8 lanes of a block of 256 do not hold in 32 registers each, of kernels that go over them more than once, are held as tiles (Layout::beside): neighbouring
//                         threads have neighbouring vectors of columns, a line of the cache together, or half of one where that leaves room for twice as many rows, or a quarter; blocks of
//                         256 threads, or clusters of them, or the largest cluster of blocks of 512 or 1,024 threads, with up to 32 registers' worth of elements a thread. Each block of a cluster
//                         has a stretch of the rows. A cluster serves where multiprocessors hold more than 64 KB, where there are no more tiles than they hold at once, or where an array does
//                         not lie along the columns, as lines of the cache would else be touched once for each element (softmax of a transposed array). The lanes of a warp exchange what they
//                         join, then warps do in shared memory, then blocks: two meetings fewer than by halves, and as few values
//   rows in pieces        of which the neighbours are few and the next row's beside them (means over axes 1 and 3 of 256 x 4096 x 32 x 4) are held as tiles likewise, or joined by threads that have neighbouring rows.
//                         Where a cluster would hold them and two passes are to be done, each is a kernel: meetings take more than a reading
//   past that             each pass reads the row again; of columns in a kernel of its own, cut into chunks, where two blocks of columns for each multiprocessor are not there, and of rows where multiprocessors,
//                         of which each has one at a time, would wait for the last of them for more than kBusyOfRows leaves (layer norm of 134 rows of 1,000,000 on 132 multiprocessors: 1,661 us, 724 of
//                         one reading for both moments, 552 with that in a kernel a pass)
//   exponentials          of rows that are read again the maximum and the sum of exponentials against it likewise (runtime/kernel/exponential_sums.hpp), 14 instructions an element. Not of columns of 16-bit floats, whose
//                         bytes take less than that (on an H200, us: log-sum-exp over axis 0 of 32,768 x 4,096 309, 130, of bfloat16 134, 150, so not; softmax of 134 rows of 1,000,000 499, 384, of bfloat16 321, 294)
//   moments               of rows that are read again the mean and the variance are joined together (runtime/kernel/moments.hpp), and of rows and tiles that a cluster holds where that leaves one pass: these
//                         wait for their meetings, what is read once waits for memory alone. A block's own rows are held as before, since there the second pass reads nothing. An element takes 11
//                         instructions, 65 us of 2^27 of them. Not of 16-bit floats whose rows begin anywhere: each element is asked whether it is the row's before five words change. On an H100, us,
//                         before and so: batch norm of 256 x 128 x 4096 721, 555; variance over axis 0 of 16,384 x 8,192 293, 189, of bfloat16 195, 120; variance of rows of 100,000 228, 188, of
//                         262,144 212, 178, of 1,000,000 370, 179; of bfloat16 of 50,257 172, 342, so not
//
// Columns of whole vectors with which little is done are cut into chunks for 8 blocks a multiprocessor, other rows for 32 (sums of columns of gelu on an H100: 183 us, with 8 blocks 224), and more threads join the chunks of a column than its elements: of few columns chunks are many (batch norm of
// 1,048,576 x 128 on an H100: 611 us with 32, 572).
//
// Reductions of one pass hold nothing: 128 bytes of a row a thread are on their way at a time, of columns too, and at most 32 elements of columns and of rows that begin anywhere. Of many short rows a thread has
// up to five vectors too. Of 16-bit floats a row's bytes are half, but what a thread does besides is the same, and a multiprocessor's instructions are what they wait for: a long row has as few lanes as have all of
// it on their way at once (argmax of 8,192 bfloat16 columns on an H100: 256 lanes, which join their values for longer than they read, 101 us, 128 90), and columns with which little is done have four blocks a
// multiprocessor, all of which are there at once, in place of 32 that share the work evenly (sums over the middle axis of 256 x 512 x 1024: 105 us, 91).
// Kernels that write no elements of a row hold 64 registers' worth with 128 lanes: many small blocks, of which some always read.
// A kernel that joins across rows has as many blocks as may be resident, or a multiple of that if a block had more than kRowsHeld rows: each goes over
// rows in turn, and holds a value for each place of the row and each join. It serves where a block, or a cluster, holds a row and shared memory those values; else the kernel is two
// (split_passes.hpp). The number of blocks follows from the shape and the GPU's number of multiprocessors. It has one of two forms:
//
//   reads ahead           512 threads a multiprocessor in blocks of 64 or more, with 16 elements of a row each, or more where 512 lanes hold the row so. A thread has its values and what all rows share in
//                         registers, 128 of them, and its part of the next row on its way to shared memory, in pieces of 8 bytes or more. Nothing waits for memory then, and what a row costs is its arithmetic and its
//                         meetings. Of kernels that write elements of a row, with a row for each block at least, where kWordsAhead registers hold it all
//   else                  values lie in shared memory, and what rows share is read again each time, from the cache
// DAMO_CUDA_ROWS=lanes,items,cluster,residents replaces what is not 0 in it, and leaves blocks that read ahead out where lanes, cluster or residents are given, and whole rows of
// a thread where anything is: for measuring.
#pragma once
#include <cstdint>
#include <vector>

#include "runtime/kernel/dialect.hpp"

namespace damo {

inline constexpr int kLineBytes = 128;   ///< of the cache: a row of blocks that stay, where it begins anywhere, is read and written in whole ones

inline constexpr int kLanesOfFinish = 32;  ///< that join the chunks of a column, at least

inline constexpr int kAcrossColumns = 8, kAcrossLanes = 32;  ///< of a block that joins what blocks have of places: neighbours, and threads of each

/// Vectors that a thread's partial value takes, of rows that are not held, before it is joined with others: the error of a sum grows slowly. As many whether a
/// thread reads 1, 2, 4 or 8 of them at a time, so that this does not change what is added to what.
constexpr int vectors_of_a_sum(const Layout& layout) { return 128 / layout.items * layout.items; }

/// Of shared memory of a block that reads ahead: one row's part, as its threads read it.
std::size_t ahead_bytes(const KernelSpec& spec, const Layout& layout);
/// The inputs of which rows are read ahead: those that lie along a row.
std::vector<int> arrays_ahead(const KernelSpec& spec, const Layout& layout);
/// Threads of a block.
int reducing_block(const Layout& layout);
/// Of the kernel that joins what the chunks of a row give: of columns each thread has one, and more threads share one than in the kernel before, as the chunks of few columns are many.
Layout finish_layout(Layout layout);
/// The layout with all that says how rows are shared out.
Layout share_cuda_rows(const KernelSpec& spec, Layout layout, const Geometry& geometry, const Processors& processors);
/// Whether a block a row leaves multiprocessors idle for longer than a launch more a pass takes.
bool prefers_cuda_passes(const KernelSpec& spec, const Geometry& geometry, const Processors& processors);
/// Whether the spec's form that goes through rows once less (moments.hpp, exponential_sums.hpp) is faster than the spec.
bool prefers_one_cuda_reading(const KernelSpec& spec, const KernelSpec& form, const Geometry& geometry, const Processors& processors);
/// Whether one kernel goes through the rows and joins across them.
bool joins_cuda_across(const KernelSpec& spec, const Geometry& geometry, const Processors& processors);
Work reducing_cuda_work(const KernelSpec& spec, const Layout& layout, const Geometry& geometry, const Processors& processors);

}  // namespace damo
