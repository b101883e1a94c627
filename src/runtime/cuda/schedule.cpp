#include "runtime/cuda/schedule.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <damo/error.hpp>

#include "graph/base/environment.hpp"
#include "runtime/kernel/interleaved.hpp"
#include "runtime/kernel/pressure.hpp"

namespace damo {
namespace {

constexpr int kBytesInFlight = 32;   // of reads a thread: 48 KB a multiprocessor keep an H200's memory busy
constexpr std::size_t kSharedBytes = 48 * 1024;       // that a kernel may declare
constexpr std::size_t kLargeTileBytes = 20 * 1024;    // beyond it too few blocks share a multiprocessor
constexpr int kStridedBytes = 4;     // that a thread stores side by side where outputs are strided
constexpr int kHeavyCost = 150;      // instructions an element from which arithmetic, not memory, is the limit
constexpr int kVeryHeavyCost = 1024;  // from which a second element of a thread saves 2 % of the time or nothing, and compiling takes twice as long with it

// Where a number stands for every so few instructions, reading numbers counts: that is an instruction for each pair, once for all elements that a thread takes at once.
constexpr int kCostOfNumber = 4;
constexpr int kPartCost = 32;        // ptxas looks at least so far ahead
constexpr int kCostOfThread = 8192;  // of all elements of a vector: 64 to 128 KB of code, which the caches of instructions hold
constexpr int kCostOfVectors = 4096;  // of several vectors: beyond it they save 6 % of the instructions at most, of sums of products no time, and compiling, which grows faster than the text, takes three times as long

constexpr int kTileVector = 2;       // elements that a thread of a tile moves together
constexpr int kWidestInTiles = 4;    // bytes of an element of the narrowest array that is moved so
constexpr int kMostRegisters = 255;  // of a thread

/// Whether the values that a thread holds at once lie in registers: as many as its block leaves it, those of all elements that it takes at once.
bool has_registers(const CudaSchedule& schedule, int words) {
  const int elements = schedule.vector * (schedule.part > 0 ? schedule.unroll : 1);
  return kOwnRegisters + elements * words <= std::min(kMostRegisters, kRegisters / schedule.block);
}

/// Whether it computes little for each of its numbers, and parts of its body can be had.
bool is_full_of_numbers(const KernelSpec& spec) {
  return static_cast<int>(spec.numbers.size()) * kCostOfNumber >= spec.cost() && !spec.has_ordinals() && !spec.reduces();
}

/// Bytes of an element of the narrowest output that is strided along the last axis; 0: there is none. Its elements are stored one by one, so neighbours in memory had better
/// be neighbouring threads': where a thread had the elements of a vector, each store of a warp would touch four times as many sectors.
int narrowest_strided(const KernelSpec& spec, const Layout& layout) {
  int narrowest = 0;
  for (int i = spec.input_count(); i < static_cast<int>(layout.access.size()) && layout.form == Form::kElements; ++i) {
    const int bytes = spec.element_bytes(i);
    if (layout.access[static_cast<std::size_t>(i)] == Access::kStrided && (narrowest == 0 || bytes < narrowest)) narrowest = bytes;
  }
  return narrowest;
}

bool is_block(int threads) { return threads >= 32 && threads <= 1024 && threads % 32 == 0; }
bool is_power_of_two(int value) { return value > 0 && (value & (value - 1)) == 0; }

[[noreturn]] void refuse(const char* variable, const std::string& text, const char* wanted) {
  throw OptionError(std::string(variable) + "=" + text + " is no schedule of a kernel", wanted);
}

/// DAMO_CUDA_SCHEDULE=block,vector,unroll replaces the choice: for measuring.
void measured(CudaSchedule& schedule) {
  const std::string text = environment("DAMO_CUDA_SCHEDULE");
  if (text.empty()) return;
  const int count = std::sscanf(text.c_str(), "%d,%d,%d", &schedule.block, &schedule.vector, &schedule.unroll);
  if (count == 3 && is_block(schedule.block) && is_power_of_two(schedule.vector) && schedule.vector <= 16 && schedule.unroll >= 1 && schedule.unroll <= 16) return;
  refuse("DAMO_CUDA_SCHEDULE", text, "block,vector,unroll: a multiple of 32 up to 1024, a power of 2 up to 16, 1 to 16");
}

/// DAMO_CUDA_TILE=inner,other,threads,other_first likewise. Threads that do not divide the tile would leave elements out.
void measured(CudaTile& tile) {
  const std::string text = environment("DAMO_CUDA_TILE");
  if (text.empty()) return;
  int first = 0;
  const int count = std::sscanf(text.c_str(), "%d,%d,%d,%d", &tile.inner, &tile.other, &tile.threads, &first);
  tile.other_first = first != 0;
  if (count == 4 && is_block(tile.threads) && tile.inner > 0 && tile.other > 0 && tile.inner * tile.other % tile.threads == 0) return;
  refuse("DAMO_CUDA_TILE", text, "inner,other,threads,0 or 1: threads a multiple of 32 up to 1024 that divides inner times other");
}

}  // namespace

CudaSchedule cuda_schedule(const KernelSpec& spec, const Layout& layout) {
  // Turns wait for each other, so what counts is how many elements are on their way: one a thread.
  if (spec.loop) return {128, 1, 1};
  int widest = 1, read = 0, written = 0;
  for (int i = 0; i < spec.parameter_count(); ++i) {
    const int bytes = spec.element_bytes(i);
    const bool is_scalar = static_cast<std::size_t>(i) < layout.access.size() && layout.access[static_cast<std::size_t>(i)] == Access::kScalar;
    if (!is_scalar) widest = std::max(widest, bytes);  // a number is in no vector: those of a draw's key and counter have 64 bits
    (spec.is_output(i) ? written : read) += bytes;
  }
  CudaSchedule schedule;
  schedule.vector = kVectorBytes / widest;
  const int in_flight = std::max(read, 1) * schedule.vector;
  while (schedule.unroll < 4 && in_flight * schedule.unroll < kBytesInFlight) schedule.unroll *= 2;
  // Three streams of writes interleave better in halves: x + y, x - y, x * y took 651 us in place of 654.
  if (spec.outputs.size() >= 3 && written > read) schedule.vector = std::max(schedule.vector / 2, 1);
  if (spec.cost() >= kHeavyCost && is_full_of_numbers(spec)) {
    schedule.part = kPartCost;
    while (spec.cost() * schedule.vector * schedule.unroll > kCostOfVectors && schedule.unroll > 1) schedule.unroll /= 2;
    while (spec.cost() * schedule.vector > kCostOfThread && schedule.vector > 1) schedule.vector /= 2;
  } else if (spec.cost() >= kHeavyCost) {
    schedule.vector = std::min(schedule.vector, spec.cost() < kVeryHeavyCost ? 2 : 1);
    schedule.unroll = 1;
    schedule.block = 512;
  }
  // Spilled values go through memory, which costs more than narrow accesses and few threads do.
  const int words = words_held(spec);
  while (schedule.part > 0 && !has_registers(schedule, words) && schedule.unroll > 1) schedule.unroll /= 2;
  while (!has_registers(schedule, words) && schedule.vector > 1) schedule.vector /= 2;
  if (!has_registers(schedule, words)) schedule.block = std::min(schedule.block, 256);
  if (const int narrowest = narrowest_strided(spec, layout); narrowest > 0) {
    const int elements = schedule.vector * schedule.unroll;
    schedule.vector = std::clamp(kStridedBytes / narrowest, 1, schedule.vector);
    schedule.unroll = elements / schedule.vector;
  }
  if (const int vector = interleaved_vector(spec, layout); vector > 0) schedule.vector = std::min(schedule.vector, vector);
  measured(schedule);
  return schedule;
}

CudaTile cuda_tile(const KernelSpec& spec, const Layout& layout) {
  std::size_t bytes = 0;  // of one element of every transposed array
  for (int i = 0; i < spec.input_count(); ++i) {
    if (layout.access[static_cast<std::size_t>(i)] == Access::kTransposed) bytes += itemsize(spec.parameter_dtype(i));
  }
  // Other tiles than the model's, by Layout::tiling. 32 elements are a line of the cache of 4 bytes each.
  static constexpr CudaTile kTiles[kCudaTilings] = {
      {.inner = 64, .other = 64, .threads = 512, .other_first = true},
      {.inner = 32, .other = 32, .threads = 256},
      {.inner = 64, .other = 32, .threads = 256},
      {.inner = 32, .other = 64, .threads = 256},
      {.inner = 64, .other = 64, .threads = 256},
      {.inner = 64, .other = 64, .threads = 1024},
  };
  CudaTile tile;
  const auto shared = [&] { return bytes * static_cast<std::size_t>(tile.inner * (tile.other + 2) + kTileVector); };
  if (shared() > kLargeTileBytes) tile = {32, 32, 256};
  // Of few places along one axis, as colours are, a tile has all of them, and many of the other.
  const int flat = bytes < 4 ? 4096 : 2048;  // elements: 16 or 8 of a thread are on their way
  if (layout.tile_inner > 0) tile = {.inner = layout.tile_inner, .other = flat / layout.tile_inner, .threads = 256};
  if (layout.tile_other > 0) tile = {.inner = flat / layout.tile_other, .other = layout.tile_other, .threads = 256};
  if (layout.tiling > 0) tile = kTiles[layout.tiling - 1];
  if (layout.places == 0 && layout.vector > 1) tile.threads /= layout.vector;  // as many accesses each
  measured(tile);
  tile.fits = shared() <= kSharedBytes;
  return tile;
}

int tile_vector(const KernelSpec& spec, const Layout& layout, const Geometry& geometry) {
  if (layout.tile_axis < 0 || layout.tile_inner + layout.tile_other > 0) return 1;
  const auto is_whole = [](std::int64_t places) { return places % kTileVector == 0; };
  if (!is_whole(geometry.extents[-1]) || !is_whole(geometry.extents[layout.tile_axis])) return 1;
  int narrowest = kVectorBytes;
  for (int i = 0; i < spec.parameter_count(); ++i) {
    const Access access = layout.access[static_cast<std::size_t>(i)];
    if (is_scalar(access) || spec.is_ordinals(i)) continue;
    narrowest = std::min(narrowest, spec.element_bytes(i));
    if (access != Access::kRow && access != Access::kTransposed) continue;
    const int along = access == Access::kRow ? layout.rank - 1 : layout.tile_axis;
    for (int axis = 0; axis < layout.rank; ++axis) {
      if (axis != along && !is_whole(geometry.strides[static_cast<std::size_t>(i)][axis])) return 1;
    }
  }
  return narrowest <= kWidestInTiles ? kTileVector : 1;
}

}  // namespace damo
