#include "function/finite_guard_op.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <damo/thunk.hpp>
#include "runtime/kernel/float_bits.hpp"

namespace damo {
namespace {

constexpr int kMostLines = 128, kBlock = 256;
constexpr std::int64_t kHostChunk = 8192, kDeviceChunk = 4096;  // elements of a block
constexpr std::size_t kLoadBytes = 16;  // of a GPU's thread

/// Lines of one dtype, as the kernel has them: a whole array as a rule.
struct GuardedLines {
  const void* at[kMostLines];
  std::int64_t sizes[kMostLines], strides[kMostLines];
  int first_chunks[kMostLines + 1];
};
static_assert(sizeof(GuardedLines) + 16 <= kMaxArgumentBytes);

/// LOAD elements are read at once where they lie one behind another. On the CPU that is
/// one, in a loop without branches, which the compiler turns into wide instructions, and a block is one thread, whose elements are neighbours; on a GPU 16 bytes, and what a
/// thread reads of a chunk is under way at once.
constexpr const char* kGuardText = R"(
struct GuardedLines { const WORD* at[LINES]; long long sizes[LINES], strides[LINES]; int first_chunks[LINES + 1]; };
struct alignas(sizeof(WORD) * LOAD) Words { WORD e[LOAD]; };
extern "C" __global__ void finite_guard(GuardedLines lines, unsigned int* found) {
  WAIT;
  int line = 0;
  for (int half = LINES / 2; half > 0; half /= 2) {
    if (lines.first_chunks[line + half] <= (int)blockIdx.x) line += half;
  }
  const long long begin = ((long long)blockIdx.x - lines.first_chunks[line]) * CHUNK, left = lines.sizes[line] - begin, stride = lines.strides[line];
  const int count = left < CHUNK ? (int)left : CHUNK;
  const WORD* x = lines.at[line] + begin * stride;
  WORD most = 0;
  int done = 0;
  if (stride == 1 && (unsigned long long)x % sizeof(Words) == 0) {
    done = count / LOAD * LOAD;
    UNROLL
    for (int i = FIRST; i < done / LOAD; i += STEP) {
      const Words words = ((const Words*)x)[i];
      for (int j = 0; j < LOAD; ++j) {
        const WORD size = words.e[j] & MAGNITUDE;
        most = size > most ? size : most;
      }
    }
  }
  for (int i = done + FIRST; i < count; i += STEP) {
    const WORD size = x[i * stride] & MAGNITUDE;
    most = size > most ? size : most;
  }
  if (most >= INFINITE) *found = 1;
}
)";

std::string guard_text(DType dtype, bool on_host) {
  std::string text;
  const auto define = [&](const char* name, const std::string& value) { text += "#define " + std::string(name) + " " + value + "\n"; };
  define("LINES", std::to_string(kMostLines)), define("CHUNK", std::to_string(on_host ? kHostChunk : kDeviceChunk));
  const FloatBits bits = float_bits(dtype);
  define("WORD", bits.word), define("MAGNITUDE", bits.magnitude), define("INFINITE", bits.infinite);
  if (on_host) {
    define("FIRST", "0"), define("STEP", "1"), define("LOAD", "1"), define("UNROLL", ""), define("WAIT", "");
  } else {
    define("FIRST", "(int)threadIdx.x"), define("STEP", std::to_string(kBlock)), define("LOAD", std::to_string(kLoadBytes / itemsize(dtype)));
    define("UNROLL", "_Pragma(\"unroll 4\")");
    // Before all else: a replayed graph launches it early then (runtime/cuda/cubin_waits.hpp).
    text += "#if __CUDA_ARCH__ >= 900\n#define WAIT asm volatile(\"griddepcontrol.wait;\" ::: \"memory\")\n#else\n#define WAIT\n#endif";
  }
  return text + kGuardText;
}

/// Calls with address, size and stride of lines that hold each element of an array, and none twice but where its axes overlap. Of one that is dense, whatever the order
/// of its axes, a single line.
template <class Visit>
void each_line(const Array& array, Visit visit) {
  struct Axis {
    std::int64_t stride, extent;
  };
  if (array.size() == 0) return;
  std::vector<Axis> axes;
  const auto* base = static_cast<const std::byte*>(array.data());
  const auto item = static_cast<std::int64_t>(itemsize(array.dtype()));
  for (int axis = 0; axis < array.rank(); ++axis) {
    const std::int64_t stride = array.strides()[axis], extent = array.shape()[axis];
    if (extent == 1 || stride == 0) continue;
    if (stride < 0) base += (extent - 1) * stride * item;
    axes.push_back({std::abs(stride), extent});
  }
  std::sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return a.stride < b.stride; });
  std::vector<Axis> merged;
  for (const Axis& axis : axes) {
    if (!merged.empty() && axis.stride == merged.back().stride * merged.back().extent) merged.back().extent *= axis.extent;
    else merged.push_back(axis);
  }
  if (merged.empty()) return visit(base, std::int64_t{1}, std::int64_t{1});
  const auto longest = std::max_element(merged.begin(), merged.end(), [](const Axis& a, const Axis& b) { return a.extent < b.extent; });
  const Axis line = *longest;
  merged.erase(longest);
  std::int64_t lines = 1;
  for (const Axis& axis : merged) lines *= axis.extent;
  for (std::int64_t i = 0; i < lines; ++i) {
    std::int64_t rest = i, offset = 0;
    for (const Axis& axis : merged) offset += rest % axis.extent * axis.stride, rest /= axis.extent;
    visit(base + offset * item, line.extent, line.stride);
  }
}

class FiniteGuardThunk {
 public:
  FiniteGuardThunk(const Apply& node, ThunkContext& context) : found_(context.fault_flag()), on_host_(context.device().is_host()) {
    for (const DType dtype : {float8_e4m3, float8_e5m2, float16, bfloat16, float32, float64}) {
      std::vector<const Cell*> cells;
      for (const Variable& input : node.inputs()) {
        if (input.dtype() == dtype) cells.push_back(&context.storage(input));
      }
      if (!cells.empty()) groups_.push_back({context.compile(guard_text(dtype, on_host_), "finite_guard"), std::move(cells)});
    }
  }

  void operator()() {
    const std::int64_t chunk = on_host_ ? kHostChunk : kDeviceChunk;
    for (const Group& group : groups_) {
      GuardedLines lines{};
      int count = 0;
      const auto launch = [&] {
        std::fill(std::begin(lines.first_chunks) + count + 1, std::end(lines.first_chunks), std::numeric_limits<int>::max());
        if (count > 0) group.kernel.launch({.grid = {lines.first_chunks[count]}, .block = {on_host_ ? 1 : kBlock}}, lines, static_cast<unsigned int*>(found_));
        count = 0;
      };
      for (const Cell* cell : group.cells) {
        each_line(cell->array(), [&](const void* at, std::int64_t size, std::int64_t stride) {
          if (count == kMostLines) launch();
          lines.at[count] = at, lines.sizes[count] = size, lines.strides[count] = stride;
          lines.first_chunks[count + 1] = lines.first_chunks[count] + static_cast<int>((size + chunk - 1) / chunk);
          ++count;
        });
      }
      launch();
    }
  }

 private:
  struct Group {
    Kernel kernel;
    std::vector<const Cell*> cells;
  };
  void* found_;
  bool on_host_;
  std::vector<Group> groups_;
};

}  // namespace

Apply FiniteGuardOp::make_node(Inputs in) const { return {*this, {in.begin(), in.end()}, {{bool_, {0}}}}; }

Thunk FiniteGuardOp::make_thunk(const Apply& node, ThunkContext& context) const {
  context.promise_recordable();
  context.promise_repeatable();
  context.promise_contained();
  return [thunk = std::make_shared<FiniteGuardThunk>(node, context)] { (*thunk)(); };
}

}  // namespace damo
