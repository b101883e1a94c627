#include "runtime/cuda/small_product.hpp"

#include <algorithm>
#include <exception>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <damo/launch_config.hpp>
#include <damo/log.hpp>

#include "runtime/cuda/backend.hpp"
#include "runtime/kernel/cache.hpp"

namespace damo::cuda_backend {
namespace {

/// What a block does. rows x columns / 16 threads make the tile, 4 x 4 elements each, from `depth` steps of k at a time; there are so many slices of
/// them, each with its own part of k. `stages` pieces of both operands are on the way or in use.
struct Tile {
  int rows, columns, slices, depth, stages;
  constexpr int threads() const { return rows * columns / 16 * slices; }
  constexpr int steps() const { return slices * depth; }
  constexpr int gap() const { return rows * columns < 128 ? 8 : 0; }  // words between slices, see kText
};
constexpr Tile kWideTile{16, 16, 16, 8, 3}, kNarrowTile{16, 8, 32, 16, 2}, kFewRowsTile{4, 8, 128, 8, 2};
/// Each element of the tile is added up by as many threads, which are lanes of one warp.
constexpr bool is_shared_out(const Tile& tile) {
  const int parts = tile.threads() / (tile.rows * tile.columns);
  return parts * tile.rows * tile.columns == tile.threads() && 32 % parts == 0;
}
static_assert(is_shared_out(kWideTile) && is_shared_out(kNarrowTile) && is_shared_out(kFewRowsTile));

constexpr std::int64_t kLeastColumns = 8, kLeastSum = 128, kMostSum = 4096, kMostElements = std::int64_t{1} << 17;

// Operands come to shared memory as they lie: where k lies along memory as [row][k], 4 words further apart than k needs, which keeps the
// loads of neighbouring rows in other banks; else as [k][row], with a gap behind each slice's steps
// where several slices are read at once. A thread's 4 rows are neighbours in the second form and lie a quarter of the
// tile apart in the first. What is outside of an operand is 0, in both operands where it is k, so that it adds nothing.
constexpr const char* kText = R"(
#define EACH (ROWS * COLUMNS / 16)
#define THREADS (EACH * SLICES)
#define PARTS (THREADS / (ROWS * COLUMNS))
#define STEPS (SLICES * DEPTH)
#define GAP (EACH < 8 ? 8 : 0)
#define WORDS(rows, along) ((along) ? (STEPS + 4) * (rows) : STEPS * (rows) + SLICES * GAP)
#define PIECE (WORDS(ROWS, A_ALONG) + WORDS(COLUMNS, B_ALONG))

// The first words of 1 or 4; the others become 0.
__device__ __forceinline__ void fetch(float* to, const float* from, int words, int most) {
  const unsigned shared = (unsigned)__cvta_generic_to_shared(to);
  if (most == 4) asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(shared), "l"(from), "r"(words * 4));
  else asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" :: "r"(shared), "l"(from), "r"(words * 4));
}

// Where a vector's step of k lies in a piece.
template <int COUNT, bool ALONG>
__device__ __forceinline__ int place(int vector, int step) { return ALONG ? vector * (STEPS + 4) + step : step * COUNT + step / DEPTH * GAP + vector; }

// STEPS steps of k from the step `at` on, of COUNT vectors from the vector `first` on.
template <int COUNT, bool ALONG, int VECTOR>
__device__ __forceinline__ void fetch_piece(float* piece, const float* x, long long stride, int first, int count, int at, int k) {
  constexpr int inner = (ALONG ? STEPS : COUNT) / VECTOR, outer = ALONG ? COUNT : STEPS;
  const int inner_left = ALONG ? k - at : count - first, outer_left = ALONG ? count - first : k - at;
  const float* origin = ALONG ? x + first * stride + at : x + at * stride + first;
  #pragma unroll 2
  for (int i = threadIdx.x; i < outer * inner; i += THREADS) {
    const int line = i / inner, word = i % inner * VECTOR;
    const int left = line < outer_left ? min(max(inner_left - word, 0), VECTOR) : 0;
    fetch(piece + (ALONG ? place<COUNT, true>(line, word) : place<COUNT, false>(word, line)), left ? origin + line * stride + word : x, left, VECTOR);
  }
}

// 4 vectors of a thread, 4 steps of k from `step` on: values[vector][step].
template <int COUNT, bool ALONG>
__device__ __forceinline__ void read(float (&values)[4][4], const float* piece, int mine, int step) {
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float4 four = *(const float4*)(piece + (ALONG ? place<COUNT, true>(mine + i * (COUNT / 4), step) : place<COUNT, false>(mine * 4, step + i)));
    const float loaded[4] = {four.x, four.y, four.z, four.w};
    #pragma unroll
    for (int j = 0; j < 4; ++j) (ALONG ? values[i][j] : values[j][i]) = loaded[j];
  }
}
template <int COUNT, bool ALONG>
__device__ __forceinline__ int vector_of(int mine, int i) { return ALONG ? mine + i * (COUNT / 4) : mine * 4 + i; }

extern "C" __global__ void __launch_bounds__(THREADS) small_product(const float* a, const float* b, const float* start, const float* bias, float* c, int m, int n, int k,
    long long a_stride, long long b_stride, long long c_stride, long long a_batch, long long b_batch, long long c_batch, float alpha, float beta) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");  // cubin_waits.hpp
#endif
  extern __shared__ __align__(16) float shared[];
  a += blockIdx.z * a_batch, b += blockIdx.z * b_batch, c += blockIdx.z * c_batch;
  const int i0 = blockIdx.y * ROWS, j0 = blockIdx.x * COLUMNS;
  const int slice = threadIdx.x / EACH, me = threadIdx.x % EACH, my_row = me % (ROWS / 4), my_column = me / (ROWS / 4);
  const int pieces = (k + STEPS - 1) / STEPS;
  const auto fetch_both = [&](int number) {
    if (number < pieces) {
      float* piece = shared + number % STAGES * PIECE;
      fetch_piece<ROWS, A_ALONG, A_VECTOR>(piece, a, a_stride, i0, m, number * STEPS, k);
      fetch_piece<COLUMNS, B_ALONG, B_VECTOR>(piece + WORDS(ROWS, A_ALONG), b, b_stride, j0, n, number * STEPS, k);
    }
    asm volatile("cp.async.commit_group;");
  };
  float sum[4][4] = {};
  #pragma unroll 1
  for (int number = 1 - STAGES; number < pieces; ++number) {
    if (number >= 0) {
      asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory");
      __syncthreads();  // all threads' copies are there, and nobody reads the piece that comes next in its place
    }
    fetch_both(number + STAGES - 1);
    if (number < 0) continue;
    const float* piece_a = shared + number % STAGES * PIECE;
    const float* piece_b = piece_a + WORDS(ROWS, A_ALONG);
    if (number * STEPS + slice * DEPTH >= k) continue;
    #pragma unroll 2
    for (int step = slice * DEPTH; step < slice * DEPTH + DEPTH; step += 4) {
      float x[4][4], y[4][4];
      read<ROWS, A_ALONG>(x, piece_a, my_row, step);
      read<COLUMNS, B_ALONG>(y, piece_b, my_column, step);
      #pragma unroll
      for (int l = 0; l < 4; ++l)
        #pragma unroll
        for (int i = 0; i < 4; ++i)
          #pragma unroll
          for (int j = 0; j < 4; ++j) sum[i][j] += x[i][l] * y[j][l];
    }
  }
  __syncthreads();
  #pragma unroll
  for (int i = 0; i < 4; ++i)
    #pragma unroll
    for (int j = 0; j < 4; ++j)
      shared[(slice * ROWS + vector_of<ROWS, A_ALONG>(my_row, i)) * (COLUMNS + 1) + vector_of<COLUMNS, B_ALONG>(my_column, j)] = sum[i][j];
  __syncthreads();
  // PARTS neighbouring threads add up one element.
  const int e = threadIdx.x / PARTS, i = e / COLUMNS, j = e % COLUMNS;
  float total = 0;
  #pragma unroll 4
  for (int s = threadIdx.x % PARTS; s < SLICES; s += PARTS) total += shared[(s * ROWS + i) * (COLUMNS + 1) + j];
  #pragma unroll
  for (int other = PARTS / 2; other > 0; other /= 2) total += __shfl_xor_sync(0xffffffff, total, other);
  if (threadIdx.x % PARTS != 0 || i0 + i >= m || j0 + j >= n) return;
  const long long at = (i0 + i) * c_stride + j0 + j;
  float value = alpha * total;
  if (beta != 0) value += beta * start[blockIdx.z * c_batch + at];
  if (bias) value += bias[j0 + j];
  c[at] = value;
}
)";

/// How an operand lies: k along memory or not, and whether 16 bytes may be read at once.
struct Lie {
  bool along;
  std::int64_t stride;
  int vector;
};
Lie lie_of(MatrixOrder order, bool rows_are_sums, std::int64_t batch) {
  const bool is_whole = order.leading % 4 == 0 && batch % 4 == 0;
  return {order.is_transposed == rows_are_sums, order.leading, is_whole ? 4 : 1};
}

std::size_t shared_bytes(const Tile& tile, const Lie& a, const Lie& b) {
  const auto words = [&](int rows, bool along) { return along ? rows * (tile.steps() + 4) : rows * tile.steps() + tile.slices * tile.gap(); };
  const int pieces = tile.stages * (words(tile.rows, a.along) + words(tile.columns, b.along)), sums = tile.slices * tile.rows * (tile.columns + 1);
  return static_cast<std::size_t>(std::max(pieces, sums)) * sizeof(float);
}

CompileRequest request_of(const Tile& tile, const Lie& a, const Lie& b) {
  CompileRequest request;
  const auto define = [&](const char* name, int value) { request.source += "#define " + std::string(name) + " " + std::to_string(value) + "\n"; };
  define("ROWS", tile.rows), define("COLUMNS", tile.columns), define("SLICES", tile.slices), define("DEPTH", tile.depth), define("STAGES", tile.stages);
  define("A_ALONG", a.along), define("A_VECTOR", a.vector), define("B_ALONG", b.along), define("B_VECTOR", b.vector);
  request.source += kText;
  request.kind = SourceKind::kCudaC;
  request.file_name = "small_product.cu";
  request.kernels = {"small_product"};
  return request;
}

class PreparedSmallProduct final : public SmallProduct {
 public:
  PreparedSmallProduct(CudaBackend& backend, const MatrixProduct& product, SmallProductKernel kernel) : backend_(backend), p_(product), launch_(std::move(kernel)) {
    code_ = std::async(std::launch::async, [&backend, request = launch_.request] { return backend.cache().get(request); });
  }

  bool is_ready() override {
    const std::lock_guard lock(mutex_);
    if (code_.valid()) {
      try {
        module_ = code_.get();
        kernel_ = module_->kernel("small_product");
      } catch (const std::exception& error) {
        log(LogLevel::kWarning, std::string("the kernel of small matrix products can't be had, the library's are taken: ") + error.what());
      }
    }
    return kernel_ != nullptr;
  }

  void run(const MatrixAddresses& addresses, void* stream) override {
    SmallProductArguments arguments(p_, launch_, addresses);
    backend_.launch(*kernel_, launch_.config, arguments.pointers, stream);
    backend_.note_work(stream);
    backend_.launches.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  CudaBackend& backend_;
  MatrixProduct p_;
  SmallProductKernel launch_;
  std::mutex mutex_;
  std::future<std::shared_ptr<const LoadedModule>> code_;
  std::shared_ptr<const LoadedModule> module_;
  std::shared_ptr<const LoadedKernel> kernel_;
};

}  // namespace

std::optional<SmallProductKernel> small_product_kernel(const MatrixProduct& p, int multiprocessors, std::size_t max_shared_bytes) {
  const auto a = order_of(p.a, p.m, p.k), b = order_of(p.b, p.k, p.n);
  if (!a || !b || p.operands != float32 || p.result != float32 || p.tf32 || p.activation != Activation::kNone) return std::nullopt;
  if (p.m < 1 || p.n < kLeastColumns || p.k < kLeastSum || p.k > kMostSum || p.m * p.n > kMostElements || p.batches > kMostElements / (p.m * p.n)) return std::nullopt;
  const auto tiles = [&](std::int64_t count, int each) { return (count + each - 1) / each; };
  const std::int64_t batches = std::max<std::int64_t>(p.batches, 1), wide = tiles(p.m, kWideTile.rows) * tiles(p.n, kWideTile.columns) * batches;
  const Tile& tile = p.m <= kFewRowsTile.rows ? kFewRowsTile : wide * 4 < multiprocessors * 3 ? kNarrowTile : kWideTile;
  const Lie lie_a = lie_of(*a, false, p.a.batch), lie_b = lie_of(*b, true, p.b.batch);
  SmallProductKernel kernel{request_of(tile, lie_a, lie_b), {}, lie_a.stride, lie_b.stride};
  kernel.config.grid = {tiles(p.n, tile.columns), tiles(p.m, tile.rows), batches};
  kernel.config.block = {tile.threads()};
  kernel.config.shared_bytes = shared_bytes(tile, lie_a, lie_b);
  return kernel.config.shared_bytes <= max_shared_bytes ? std::optional(std::move(kernel)) : std::nullopt;
}

SmallProductArguments::SmallProductArguments(const MatrixProduct& p, const SmallProductKernel& kernel, const MatrixAddresses& addresses)
    : at(addresses), m(static_cast<int>(p.m)), n(static_cast<int>(p.n)), k(static_cast<int>(p.k)), a_stride(kernel.a_stride), b_stride(kernel.b_stride), c_stride(p.c.row),
      a_batch(p.a.batch), b_batch(p.b.batch), c_batch(p.c.batch), alpha(static_cast<float>(p.alpha)), beta(static_cast<float>(p.beta)) {
  if (p.beta == 0) at.start = at.result;  // not read
  if (!p.has_bias) at.bias = nullptr;
}

std::optional<SmallProductKernel> small_product_kernel(const CudaBackend& backend, const MatrixProduct& product) {
  if (backend.architecture() < 80) return std::nullopt;  // cp.async
  const DeviceProperties& limits = backend.limits();
  return small_product_kernel(product, limits.multiprocessors, limits.max_shared_bytes);
}

std::shared_ptr<SmallProduct> small_product(CudaBackend& backend, const MatrixProduct& product) {
  auto kernel = small_product_kernel(backend, product);
  return kernel ? std::make_shared<PreparedSmallProduct>(backend, product, std::move(*kernel)) : nullptr;
}

}  // namespace damo::cuda_backend
