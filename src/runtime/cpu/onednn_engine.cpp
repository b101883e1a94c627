#include "runtime/cpu/onednn_engine.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include <damo/half.hpp>

#include "runtime/cpu/isa_level.hpp"
#include "runtime/cpu/onednn_library.hpp"
#include "runtime/stream/capture.hpp"
#include "runtime/stream/work_log.hpp"

namespace damo::cpu_backend {
namespace {

/// Rows and columns of a tile: from some 200 on the library is as quick as with the whole.
constexpr std::int64_t kProductTile = 256;
/// Multiplications, and elements to look at, that are worth a thread.
constexpr std::int64_t kWorthAProductShare = 1 << 19, kWorthAScan = 1 << 16;
/// Of the summed axis at a time, where operands are widened.
constexpr std::int64_t kWidened = 512;
constexpr std::size_t kCacheLine = 64;

std::size_t in_lines(std::size_t bytes) { return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine; }
std::int64_t tiles_of(std::int64_t extent) { return (extent + kProductTile - 1) / kProductTile; }
char turn_of(MatrixOrder order) { return order.is_transposed ? 'T' : 'N'; }
/// Where a row and a column of a matrix in this order are.
MatrixStrides strides_in(MatrixOrder order) { return order.is_transposed ? MatrixStrides{1, order.leading} : MatrixStrides{order.leading, 1}; }

/// The tiles of the results of all batches.
struct ProductTiling {
  std::int64_t m, n, rows, columns, count;

  explicit ProductTiling(const MatrixProduct& p) : m(p.m), n(p.n), rows(tiles_of(p.m)), columns(tiles_of(p.n)), count(p.batches * rows * columns) {}

  struct Tile {
    std::int64_t batch, row, column;  ///< the last two in tiles
    std::int64_t m, n;                ///< elements
  };
  Tile tile(std::int64_t number) const {
    const std::int64_t column = number % columns, row = number / columns % rows;
    return {number / columns / rows, row, column, std::min(kProductTile, m - row * kProductTile), std::min(kProductTile, n - column * kProductTile)};
  }
  /// Tiles worth a thread.
  std::int64_t share(std::int64_t k) const { return std::max<std::int64_t>(kWorthAProductShare / (std::min(m, kProductTile) * std::min(n, kProductTile) * k), 1); }
};

class Int8Product final : public PreparedProduct {
 public:
  Int8Product(const Backend& backend, const WorkerPool& workers, const OneDnnLibrary& library, const MatrixProduct& product, MatrixOrder a, MatrixOrder b)
      : backend_(backend), workers_(workers), library_(library), p_(product), a_(a), b_(b), tiling_(product) {}

  void run(const MatrixAddresses& addresses, void* workspace, void*) override {
    if (WorkLog* log = current_log(backend_); log && log->multiply(*this, addresses, workspace)) return;
    check_default_stream(backend_);
    void* const arguments[] = {this, const_cast<MatrixAddresses*>(&addresses)};
    workers_.run(run_share, arguments, LaunchFrame{}, tiling_.count, tiling_.share(p_.k));
  }

 private:
  static void run_share(void* const* arguments, const LaunchFrame*, std::int64_t first, std::int64_t last) {
    const OneDnnThread here;
    for (std::int64_t tile = first; tile < last; ++tile) static_cast<const Int8Product*>(arguments[0])->multiply(*static_cast<const MatrixAddresses*>(arguments[1]), tile);
  }

  void multiply(const MatrixAddresses& at, std::int64_t number) const {
    const ProductTiling::Tile tile = tiling_.tile(number);
    const std::int8_t* a = static_cast<const std::int8_t*>(at.a) + tile.batch * p_.a.batch + tile.row * kProductTile * strides_in(a_).row;
    const std::int8_t* b = static_cast<const std::int8_t*>(at.b) + tile.batch * p_.b.batch + tile.column * kProductTile * strides_in(b_).column;
    std::int32_t* c = static_cast<std::int32_t*>(at.result) + tile.batch * p_.c.batch + tile.row * kProductTile * p_.c.row + tile.column * kProductTile;
    const std::int32_t offset = 0;
    check_onednn(library_.gemm_s8s8s32(turn_of(a_), turn_of(b_), 'F', tile.m, tile.n, p_.k, 1, a, a_.leading, 0, b, b_.leading, 0, 0, c, p_.c.row, &offset), "dnnl_gemm_s8s8s32");
  }

  const Backend& backend_;
  const WorkerPool& workers_;
  const OneDnnLibrary& library_;
  MatrixProduct p_;
  MatrixOrder a_, b_;
  ProductTiling tiling_;
};

/// Bits of a bfloat16 without its sign, less 1, so that 0 comes last; of vectors of them the least.
using Sizes = std::uint16_t __attribute__((vector_size(64)));

/// The exponent's bits of the element next to 0 that is not 0, of lines of elements; a denormal has 0, and where all are 0 it is above all others.
__attribute__((target("avx512f,avx512bw"))) std::uint16_t least_exponent(const std::uint16_t* elements, std::int64_t leading, std::int64_t lines, std::int64_t length) {
  Sizes least;
  std::memset(&least, 0xff, sizeof least);
  constexpr std::int64_t kLanes = sizeof(Sizes) / sizeof(std::uint16_t);
  std::uint16_t rest = 0xffff;
  for (std::int64_t line = 0; line < lines; ++line) {
    const std::uint16_t* from = elements + line * leading;
    std::int64_t i = 0;
    for (; i + kLanes <= length; i += kLanes) {
      Sizes some;
      std::memcpy(&some, from + i, sizeof some);
      some = (some & 0x7fff) - 1;
      least = some < least ? some : least;
    }
    for (; i < length; ++i) rest = std::min(rest, static_cast<std::uint16_t>((from[i] & 0x7fff) - 1));
  }
  for (std::int64_t lane = 0; lane < kLanes; ++lane) rest = std::min(rest, static_cast<std::uint16_t>(least[lane]));
  return static_cast<std::uint16_t>((std::uint32_t{rest} + 1) >> 7);
}

/// Whether no operand is a denormal and no sum of products can be one. An element is a multiple of 2^(e - 134) where e are its exponent's bits; so products, their sums, and these rounded
/// are multiples of 2^(e + f - 268). If that is 2^-126 or more, the least number that is no denormal, each of them is 0 or no denormal.
bool stays_normal(std::uint16_t a, std::uint16_t b) { return a > 0 && b > 0 && a + b >= 268 - 126; }

/// Lines of bfloat16 as lines of float32 without gaps.
__attribute__((target("avx512f"))) void widen(const std::uint16_t* from, std::int64_t leading, std::int64_t lines, std::int64_t length, float* to) {
  using Narrow = std::uint16_t __attribute__((vector_size(32)));
  using Wide = std::uint32_t __attribute__((vector_size(64)));
  constexpr std::int64_t kLanes = sizeof(Narrow) / sizeof(std::uint16_t);
  for (std::int64_t line = 0; line < lines; ++line, from += leading, to += length) {
    std::int64_t i = 0;
    for (; i + kLanes <= length; i += kLanes) {
      Narrow some;
      std::memcpy(&some, from + i, sizeof some);
      const Wide words = __builtin_convertvector(some, Wide) << 16;
      std::memcpy(to + i, &words, sizeof words);
    }
    for (; i < length; ++i) to[i] = std::bit_cast<float>(std::uint32_t{from[i]} << 16);
  }
}

class Bfloat16Product final : public PreparedProduct {
 public:
  Bfloat16Product(const Backend& backend, const WorkerPool& workers, const OneDnnLibrary& library, const MatrixProduct& product, MatrixOrder a, MatrixOrder b)
      : backend_(backend), workers_(workers), library_(library), p_(product), a_(a), b_(b), tiling_(product), is_plain_(product.alpha == 1 && product.beta == 0 && !product.has_bias && product.result != float64), scans_of_a_((p_.a.batch == 0 ? 1 : p_.batches) * tiling_.rows), scans_of_b_((p_.b.batch == 0 ? 1 : p_.batches) * tiling_.columns) {}

  /// False if the library has no such product.
  bool create() {
    const OneDnnThread here;
    std::size_t scratch = 0;
    for (const bool is_last_row : {false, true}) {
      for (const bool is_last_column : {false, true}) {
        const std::int64_t m = is_last_row ? p_.m - (tiling_.rows - 1) * kProductTile : kProductTile, n = is_last_column ? p_.n - (tiling_.columns - 1) * kProductTile : kProductTile;
        if ((!is_last_row && tiling_.rows == 1) || (!is_last_column && tiling_.columns == 1)) continue;
        const MatrixStrides a = packs_a(m) ? MatrixStrides{p_.k, 1} : strides_in(a_), b = packs_b(n) ? MatrixStrides{1, p_.k} : strides_in(b_);
        auto& made = matmul(is_last_row, is_last_column) = OneDnnMatmul::make(m, n, p_.k, a, b, {is_direct(n) ? p_.c.row : n, 1}, is_direct(n) ? p_.result : float32);
        if (!made) return false;
        scratch = std::max(scratch, made->scratch_bytes());
      }
    }
    const std::int64_t most_m = std::min(p_.m, kProductTile), most_n = std::min(p_.n, kProductTile), most_k = std::min(p_.k, kWidened);
    tile_bytes_ = in_lines(static_cast<std::size_t>(most_m * most_n) * sizeof(float));
    wide_bytes_ = in_lines(static_cast<std::size_t>(most_m * most_k) * sizeof(float));
    vector_bytes_ = in_lines(static_cast<std::size_t>(p_.k) * sizeof(std::uint16_t));
    scratch_bytes_ = tile_bytes_ + std::max(2 * vector_bytes_ + scratch, wide_bytes_ + in_lines(static_cast<std::size_t>(most_n * most_k) * sizeof(float)));
    return true;
  }

  /// The least exponents of strips of A, then of B.
  std::size_t workspace_bytes() const override { return static_cast<std::size_t>(scans_of_a_ + scans_of_b_) * sizeof(std::uint16_t); }

  void run(const MatrixAddresses& addresses, void* workspace, void*) override {
    if (WorkLog* log = current_log(backend_); log && log->multiply(*this, addresses, workspace)) return;
    check_default_stream(backend_);
    void* const arguments[] = {this, const_cast<MatrixAddresses*>(&addresses), workspace};
    const std::int64_t strip = std::min(std::max(p_.m, p_.n), kProductTile) * p_.k;
    workers_.run(scan_share, arguments, LaunchFrame{}, scans_of_a_ + scans_of_b_, std::max<std::int64_t>(kWorthAScan / strip, 1));
    workers_.run(multiply_share, arguments, LaunchFrame{}, tiling_.count, tiling_.share(p_.k), scratch_bytes_);
  }

 private:
  static void scan_share(void* const* arguments, const LaunchFrame*, std::int64_t first, std::int64_t last) {
    const auto& product = *static_cast<const Bfloat16Product*>(arguments[0]);
    for (std::int64_t strip = first; strip < last; ++strip) static_cast<std::uint16_t*>(arguments[2])[strip] = product.scan(*static_cast<const MatrixAddresses*>(arguments[1]), strip);
  }
  static void multiply_share(void* const* arguments, const LaunchFrame* frame, std::int64_t first, std::int64_t last) {
    const OneDnnThread here;
    const auto& product = *static_cast<const Bfloat16Product*>(arguments[0]);
    for (std::int64_t tile = first; tile < last; ++tile) {
      product.multiply(*static_cast<const MatrixAddresses*>(arguments[1]), static_cast<const std::uint16_t*>(arguments[2]), tile, static_cast<std::byte*>(frame->shared));
    }
  }

  const std::uint16_t* a_at(const MatrixAddresses& at, std::int64_t batch, std::int64_t tile) const {
    return static_cast<const std::uint16_t*>(at.a) + batch * p_.a.batch + tile * kProductTile * strides_in(a_).row;
  }
  const std::uint16_t* b_at(const MatrixAddresses& at, std::int64_t batch, std::int64_t tile) const {
    return static_cast<const std::uint16_t*>(at.b) + batch * p_.b.batch + tile * kProductTile * strides_in(b_).column;
  }

  // oneDNN 3.7.2 takes a row or a column whose elements lie apart for one without gaps, of operands as of results. Such vectors, which tiles at the border can be, are copied.
  bool packs_a(std::int64_t rows) const { return rows == 1 && a_.is_transposed && a_.leading > 1; }
  bool packs_b(std::int64_t columns) const { return columns == 1 && !b_.is_transposed && b_.leading > 1; }
  /// Whether the library writes the result itself.
  bool is_direct(std::int64_t columns) const { return is_plain_ && (columns > 1 || p_.c.row == 1); }
  const std::uint16_t* packed(const std::uint16_t* from, std::int64_t step, std::uint16_t* to) const {
    for (std::int64_t l = 0; l < p_.k; ++l) to[l] = from[l * step];
    return to;
  }

  std::uint16_t scan(const MatrixAddresses& at, std::int64_t strip) const {
    if (strip < scans_of_a_) {
      const std::int64_t tile = strip % tiling_.rows, rows = std::min(kProductTile, p_.m - tile * kProductTile);
      const std::uint16_t* a = a_at(at, strip / tiling_.rows, tile);
      return a_.is_transposed ? least_exponent(a, a_.leading, p_.k, rows) : least_exponent(a, a_.leading, rows, p_.k);
    }
    strip -= scans_of_a_;
    const std::int64_t tile = strip % tiling_.columns, columns = std::min(kProductTile, p_.n - tile * kProductTile);
    const std::uint16_t* b = b_at(at, strip / tiling_.columns, tile);
    return b_.is_transposed ? least_exponent(b, b_.leading, columns, p_.k) : least_exponent(b, b_.leading, p_.k, columns);
  }

  void multiply(const MatrixAddresses& at, const std::uint16_t* exponents, std::int64_t number, std::byte* scratch) const {
    const ProductTiling::Tile tile = tiling_.tile(number);
    const std::uint16_t *a = a_at(at, tile.batch, tile.row), *b = b_at(at, tile.batch, tile.column);
    const std::int64_t in_c = tile.batch * p_.c.batch + tile.row * kProductTile * p_.c.row + tile.column * kProductTile;
    const std::uint16_t of_a = exponents[(p_.a.batch == 0 ? 0 : tile.batch * tiling_.rows) + tile.row];
    const std::uint16_t of_b = exponents[scans_of_a_ + (p_.b.batch == 0 ? 0 : tile.batch * tiling_.columns) + tile.column];
    auto* const sums = reinterpret_cast<float*>(scratch);
    const bool by_library = stays_normal(of_a, of_b), is_done = by_library && is_direct(tile.n);
    if (by_library) {
      void* const c = is_done ? static_cast<std::byte*>(at.result) + in_c * static_cast<std::int64_t>(itemsize(p_.result)) : scratch;
      auto *const row = reinterpret_cast<std::uint16_t*>(scratch + tile_bytes_), *const column = reinterpret_cast<std::uint16_t*>(scratch + tile_bytes_ + vector_bytes_);
      if (packs_a(tile.m)) a = packed(a, a_.leading, row);
      if (packs_b(tile.n)) b = packed(b, b_.leading, column);
      matmul(tile.row == tiling_.rows - 1, tile.column == tiling_.columns - 1)->run(a, b, c, scratch + tile_bytes_ + 2 * vector_bytes_);
    } else {
      multiply_widened(a, b, tile, sums, scratch + tile_bytes_);
    }
    if (is_done) return;
    if (p_.result == bfloat16) finish<BFloat16>(at, tile, in_c, sums);
    else if (p_.result == float32) finish<float>(at, tile, in_c, sums);
    else finish<double>(at, tile, in_c, sums);
  }

  /// By float32, whose instructions keep denormals.
  void multiply_widened(const std::uint16_t* a, const std::uint16_t* b, const ProductTiling::Tile& tile, float* sums, std::byte* scratch) const {
    auto *const wide_a = reinterpret_cast<float*>(scratch), *const wide_b = reinterpret_cast<float*>(scratch + wide_bytes_);
    for (std::int64_t first = 0; first < p_.k; first += kWidened) {
      const std::int64_t k = std::min(kWidened, p_.k - first);
      const std::int64_t a_length = a_.is_transposed ? tile.m : k, b_length = b_.is_transposed ? k : tile.n;
      widen(a + first * strides_in(a_).column, a_.leading, a_.is_transposed ? k : tile.m, a_length, wide_a);
      widen(b + first * strides_in(b_).row, b_.leading, b_.is_transposed ? tile.n : k, b_length, wide_b);
      check_onednn(library_.sgemm(turn_of(a_), turn_of(b_), tile.m, tile.n, k, 1, wide_a, a_length, wide_b, b_length, first == 0 ? 0.0f : 1.0f, sums, tile.n), "dnnl_sgemm");
    }
  }

  /// alpha sums + beta C0 + bias, rounded.
  template <class T>
  void finish(const MatrixAddresses& at, const ProductTiling::Tile& tile, std::int64_t in_c, const float* sums) const {
    using Number = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const auto alpha = static_cast<Number>(p_.alpha), beta = static_cast<Number>(p_.beta);
    const T* bias = p_.has_bias ? static_cast<const T*>(at.bias) + tile.column * kProductTile : nullptr;
    for (std::int64_t i = 0; i < tile.m; ++i) {
      T* to = static_cast<T*>(at.result) + in_c + i * p_.c.row;
      const T* start = static_cast<const T*>(at.start) + in_c + i * p_.c.row;
      for (std::int64_t j = 0; j < tile.n; ++j) {
        Number value = alpha * sums[i * tile.n + j];
        if (p_.beta != 0) value += beta * static_cast<Number>(start[j]);
        if (bias) value += static_cast<Number>(bias[j]);
        to[j] = T(value);
      }
    }
  }

  std::unique_ptr<OneDnnMatmul>& matmul(bool is_last_row, bool is_last_column) { return matmuls_[static_cast<std::size_t>(2 * is_last_row + is_last_column)]; }
  const std::unique_ptr<OneDnnMatmul>& matmul(bool is_last_row, bool is_last_column) const { return matmuls_[static_cast<std::size_t>(2 * is_last_row + is_last_column)]; }

  const Backend& backend_;
  const WorkerPool& workers_;
  const OneDnnLibrary& library_;
  MatrixProduct p_;
  MatrixOrder a_, b_;
  ProductTiling tiling_;
  bool is_plain_;  // a product that is only rounded
  std::int64_t scans_of_a_, scans_of_b_;
  std::array<std::unique_ptr<OneDnnMatmul>, 4> matmuls_;  // of tiles inside, and of those at the lower and right borders
  std::size_t tile_bytes_ = 0, vector_bytes_ = 0, wide_bytes_ = 0, scratch_bytes_ = 0;
};

/// The product of the transposes, C' = B' A', whose result lies as C does: a row by a matrix is quicker than a matrix by a column.
class TurnedProduct final : public PreparedProduct {
 public:
  explicit TurnedProduct(std::shared_ptr<PreparedProduct> product) : product_(std::move(product)) {}
  static bool fits(const MatrixProduct& p) { return p.n == 1 && p.m > 1 && p.c.row == 1 && !p.has_bias; }
  static MatrixProduct turned(MatrixProduct p) {
    std::swap(p.m, p.n);
    std::swap(p.a, p.b);
    std::swap(p.a.row, p.a.column);
    std::swap(p.b.row, p.b.column);
    p.c.row = p.n;
    return p;
  }
  std::size_t workspace_bytes() const override { return product_->workspace_bytes(); }
  void run(const MatrixAddresses& at, void* workspace, void* stream) override {
    product_->run({.a = at.b, .b = at.a, .start = at.start, .bias = nullptr, .result = at.result}, workspace, stream);
  }

 private:
  std::shared_ptr<PreparedProduct> product_;
};

class OneDnnEngine final : public MatrixEngine {
 public:
  OneDnnEngine(const Backend& backend, const WorkerPool& workers) : backend_(backend), workers_(workers), may_use_all_(isa_level().empty()) {}

  const std::string& name(DType) const override { return onednn()->name; }
  std::optional<DType> computes_as(DType operands) const override { return operands == bfloat16 && has(operands) ? std::optional(operands) : std::nullopt; }
  bool has_epilogues(DType operands) const override { return operands == bfloat16; }
  std::shared_ptr<PreparedProduct> prepare(const MatrixProduct& asked) override {
    MatrixProduct product = asked;
    if (product.m <= 1) product.c.row = product.n;  // one row's stride means nothing
    if (!has(product.operands) || product.b_operands || product.activation != Activation::kNone || product.m == 0 || product.n == 0 || product.k == 0) return nullptr;
    if (product.operands == bfloat16 && TurnedProduct::fits(product)) {
      auto turned = prepare(TurnedProduct::turned(product));
      return turned ? std::make_shared<TurnedProduct>(std::move(turned)) : nullptr;
    }
    const auto a = order_of(product.a, product.m, product.k), b = order_of(product.b, product.k, product.n);
    if (!a || !b) return nullptr;
    if (product.operands == int8) {
      if (product.result != int32 || product.alpha != 1 || product.beta != 0 || product.has_bias) return nullptr;
      return std::make_shared<Int8Product>(backend_, workers_, *onednn(), product, *a, *b);
    }
    if (product.result != bfloat16 && product.result != float32 && product.result != float64) return nullptr;
    auto made = std::make_shared<Bfloat16Product>(backend_, workers_, *onednn(), product, *a, *b);
    return made->create() ? made : nullptr;
  }

 private:
  bool has(DType operands) const {
    if (!may_use_all_ || (operands != bfloat16 && operands != int8)) return false;
    const OneDnnLibrary* library = onednn();
    return library && (operands == bfloat16 ? library->has_bfloat16 : library->has_int8);
  }

  const Backend& backend_;
  const WorkerPool& workers_;
  bool may_use_all_;
};

}  // namespace

std::unique_ptr<MatrixEngine> make_onednn_engine(const Backend& backend, const WorkerPool& workers) { return std::make_unique<OneDnnEngine>(backend, workers); }

}  // namespace damo::cpu_backend
