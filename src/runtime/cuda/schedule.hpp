// How a generated CUDA kernel divides its work, from the spec, and from whether its outputs are strided.
#pragma once
#include "runtime/kernel/layout.hpp"
#include "runtime/kernel/spec.hpp"

namespace damo {

inline constexpr int kVectorBytes = 16;   ///< the widest access of a thread
inline constexpr int kRegisters = 65536;  ///< of a multiprocessor, for the threads of its blocks
inline constexpr int kThreadsOfAMultiprocessor = 2048;
/// Of a thread, for addresses, coordinates and what a step needs within itself.
inline constexpr int kOwnRegisters = 24;

struct CudaSchedule {
  int block = 128;   ///< threads
  int vector = 4;    ///< elements of one access
  int unroll = 1;    ///< vectors of one thread
  int part = 0;      ///< cost of the parts of the body that a thread runs for all its elements, one after the other (body_parts.hpp); 0: the whole body, element by element

  int elements_per_block() const { return block * vector * unroll; }
};

/// layout: of elements; without arrays: as if all lay in C order, and none were scalars.
CudaSchedule cuda_schedule(const KernelSpec& spec, const Layout& layout = {});

/// The tile that turns transposed arrays around: `inner` elements along the last axis by `other` along the transposed one.
struct CudaTile {
  int inner = 64, other = 64;
  int threads = 512;
  bool fits = true;          ///< into the shared memory that every block may have
  bool other_first = false;  ///< neighbouring blocks lie along the transposed axis

  friend bool operator==(const CudaTile&, const CudaTile&) = default;
};

inline constexpr int kCudaTilings = 6;  ///< Layout::tiling: 1 to so many

CudaTile cuda_tile(const KernelSpec& spec, const Layout& layout);
/// Neighbours that a thread of a tile moves together, of arrays that are turned and of the others (Layout::vector): more than one where some array has elements of a word or less, each of which would take an access,
/// and where all that is moved so begins, with each row, at a multiple of them. Of few places along an axis: one.
int tile_vector(const KernelSpec& spec, const Layout& layout, const Geometry& geometry);

}  // namespace damo
