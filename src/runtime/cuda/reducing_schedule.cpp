#include "runtime/cuda/reducing_schedule.hpp"

#include <algorithm>

#include "runtime/kernel/passes.hpp"
#include "runtime/kernel/pressure.hpp"

namespace damo {
namespace {

constexpr int kBlock = 256;
constexpr int kVectorBytes = 16;                // the widest access of a thread
constexpr int kBytesInFlight = 32;              // of reads a thread, as in elementwise kernels
constexpr int kWordsHeld = 32;                  // registers of a thread that hold a row's elements
constexpr std::int64_t kSmallestChunk = 4096;   // elements of a block of which there are several a row
constexpr std::int64_t kMostChunks = 65535;     // the grid's second axis
constexpr std::int64_t kOneWarpRow = 4096;      // of one pass: longer rows take a block
constexpr int kMostLanes = 1024;
constexpr std::int64_t kManyElements = std::int64_t{1} << 20;  // which few blocks read for longer than launches more take

/// Bytes of one element of every array that is read element by element.
int bytes_read(const KernelSpec& spec, const Layout& layout) {
  int bytes = 0;
  for (int i = 0; i < spec.input_count(); ++i) {
    const Access access = layout.access[static_cast<std::size_t>(i)];
    if (!is_scalar(access) && access != Access::kRepeat) bytes += static_cast<int>(itemsize(spec.parameter_dtype(i)));
  }
  return std::max(bytes, 1);
}

/// Registers that one element of a row takes while it is held: as it was read, or as what is kept of it.
int words_of_place(const KernelSpec& spec, const Layout& layout) {
  const Passes passes(spec, [](int, const Passes&) { return true; });
  int words = 0;
  for (int i = 0; i < spec.input_count(); ++i) {
    const Access access = layout.access[static_cast<std::size_t>(i)];
    if (!is_scalar(access) && access != Access::kRepeat && !passes.is_read_late(i)) words += words_of(spec.parameter_dtype(i));
  }
  std::size_t kept = 0;
  for (const Passes::Pass& pass : passes.all()) kept = std::max(kept, pass.kept.size());
  return std::max({words, static_cast<int>(kept), 1});
}

bool goes_again(const KernelSpec& spec) {
  const Passes passes(spec, [](int, const Passes&) { return false; });
  return passes.all().size() > 1;
}

}  // namespace

int reducing_block(const Layout& layout) { return std::max(layout.lanes, kBlock); }

int reducing_vector(const KernelSpec& spec, const Layout& layout) {
  if (layout.form != Form::kRows) return 1;
  int widest = 1;
  bool some = false;  // array lies along rows
  for (int i = 0; i < spec.parameter_count(); ++i) {
    const Access access = layout.access[static_cast<std::size_t>(i)];
    if (is_scalar(access) || access == Access::kRepeat) continue;
    widest = std::max(widest, static_cast<int>(itemsize(spec.parameter_dtype(i))));
    some |= access == Access::kRow;
  }
  return some ? kVectorBytes / widest : 1;
}

Layout share_cuda_rows(const KernelSpec& spec, Layout layout, const Geometry& geometry, int multiprocessors) {
  const std::int64_t length = std::max<std::int64_t>(geometry.reduced.count, 1), outputs = geometry.count;
  const int vector = reducing_vector(spec, layout);
  const bool again = goes_again(spec);
  const int held = std::max(kWordsHeld / words_of_place(spec, layout) / vector, 1);  // vectors
  const auto whole = [&](int lanes) { return std::int64_t{lanes} * vector * held >= length; };
  if (layout.form == Form::kColumns) {
    int slots = 1;
    while (slots < 32 && slots < outputs) slots *= 2;
    layout.lanes = length <= 16 && outputs >= kBlock ? 1 : kBlock / slots;
    layout.items = std::max(kBytesInFlight / bytes_read(spec, layout), 1);
  } else {
    layout.lanes = 1;
    while (layout.lanes < 32 && std::int64_t{layout.lanes} * vector < length) layout.lanes *= 2;
    const bool many = outputs / (kBlock / 32) >= std::int64_t{32} * std::max(multiprocessors, 1);
    if (again) {
      while (layout.lanes < kMostLanes && !whole(layout.lanes)) layout.lanes = layout.lanes < kBlock ? kBlock : layout.lanes * 2;
    } else if (length > 32 * vector && !(length <= kOneWarpRow && many)) {
      layout.lanes = kBlock;
    }
    layout.items = std::max(kBytesInFlight / (bytes_read(spec, layout) * vector), 1);
  }
  layout.whole = again && whole(layout.lanes);
  if (layout.whole) {
    layout.items = 1;
    while (std::int64_t{layout.lanes} * vector * layout.items < length) layout.items *= 2;
  }
  layout.chunked = reducing_cuda_work(spec, layout, geometry, multiprocessors).chunks > 1;
  return layout;
}

bool prefers_cuda_passes(const KernelSpec& spec, const Geometry& geometry, int multiprocessors) {
  const Layout layout = classify_reducing(geometry);
  const std::int64_t rows = geometry.count, in_block = layout.form == Form::kColumns ? 32 : 1;
  const std::int64_t blocks = divide_up(rows, in_block);
  return goes_again(spec) && rows * geometry.reduced.count >= kManyElements && blocks * 2 < std::max(multiprocessors, 1);
}

Work reducing_cuda_work(const KernelSpec& spec, const Layout& layout, const Geometry& geometry, int multiprocessors) {
  Work work;
  const std::int64_t length = std::max<std::int64_t>(geometry.reduced.count, 1);
  const int threads = reducing_block(layout);
  const std::int64_t blocks = std::max<std::int64_t>(divide_up(geometry.count, threads / layout.lanes), 1);
  work.chunk = length;
  if (joins_in_one_pass(spec)) {
    const std::int64_t wanted = std::int64_t{32} * std::max(multiprocessors, 1);  // blocks that share the work evenly
    const std::int64_t smallest = std::max<std::int64_t>(kSmallestChunk * layout.lanes / threads, 1);
    const std::int64_t most = std::min({divide_up(wanted, blocks), divide_up(length, smallest), kMostChunks});
    work.chunk = divide_up(divide_up(length, std::max<std::int64_t>(most, 1)), 32) * 32;  // chunks begin where a line of the cache does
  }
  work.chunks = divide_up(length, work.chunk);
  work.launches.push_back({0, {{blocks, work.chunks}, {threads}}});
  if (work.chunks == 1) return work;
  work.launches.push_back({1, {{blocks}, {threads}}});
  work.scratch_bytes = static_cast<std::size_t>(geometry.count * work.chunks) * partial_bytes(spec);
  return work;
}

}  // namespace damo
