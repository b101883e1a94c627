// Tiles of rows beside each other (Layout::beside): columns that a kernel goes over more than once, and rows that lie in short pieces beside each other's. Neighbouring threads have neighbouring vectors of columns, or
// neighbouring rows, so that lines of the cache are read together, and a block, or a cluster of blocks, holds all elements of its rows in registers. Each block of a cluster has a stretch of them.
//
//   by a block, or a cluster, a tile   as many as there are tiles. A block of 256 threads whose tile is a line of the cache wide, or blocks of a tile of half of one, or the largest cluster of more threads and narrower tiles
//   that stay                          instead of a cluster a tile: the fewest blocks that hold one, of 1,024 threads with 32 words each and a tile of two lines or one, of 512 with 64 words of 16-bit floats, or with half a line where
//                                      some array is turned, as many of them as are resident, each with every n-th tile. While it joins and writes one the next is on its way
//                                      to shared memory. The condition:
//                                        - the kernel writes elements, else a tile's reading is all there is to do, and it joins nothing across rows
//                                        - a cluster of blocks of 256 threads would hold the tile, not one of them alone: several of those are resident, and some read while others wait
//                                        - all that a thread holds, but for what is the same for a vector of columns and so little that caches have it, lies along the tile's neighbours, in pieces that memory can be asked for (kLeastFetch), of kMostArraysAhead arrays at most; what the last pass alone reads
//                                          beside it is so little that caches have it (kTimesRead)
//                                        - a thread has registers for its part and what it joins, and shared memory has room for the next beside what threads give each other
//                                        - there are kRowsToStay tiles for each cluster
//
// Why these, and what they were measured against: docs/performance.md, "How a GPU's rows are shared out". See tests/runtime/cuda/tile_schedule_test.cpp.
#pragma once
#include <cstddef>
#include <cstdint>

#include "runtime/cuda/reducing_vectors.hpp"
#include "runtime/kernel/dialect.hpp"

namespace damo {

/// Whether neighbours of a row are few and the next row's beside them, so that threads which have neighbouring rows read lines of the cache together.
bool lies_in_pieces(const KernelSpec& spec, const Layout& layout, const Geometry& geometry);
/// Bytes of memory that lie beside each other of what a thread has at a time: of columns a vector, of rows in pieces a piece.
int bytes_together(const KernelSpec& spec, const Layout& layout, const Geometry& geometry);
/// The layout of blocks, or of a cluster, that hold a tile; false if nothing does, or another form is better, and the layout is as it was.
bool hold_tile(const KernelSpec& spec, Layout& layout, const Geometry& geometry, std::int64_t length, const Processors& processors, const AskedRows& asked);
/// Shared memory, at most, that a block of a tile takes for what threads and blocks give each other.
std::size_t tile_meeting_bytes(const KernelSpec& spec, const Layout& tile);

}  // namespace damo
