#include "runtime/cpu/fourier.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "runtime/cpu/fourier_plan.hpp"
#include "runtime/stream/work_log.hpp"

namespace damo::cpu_backend {
namespace {

constexpr std::size_t kMostPlans = 64;
constexpr std::int64_t kWorthAThread = 1 << 15;  ///< numbers
constexpr std::size_t kMostKept = std::size_t{1} << 20;  ///< bytes of a block's memory that a thread keeps from call to call

/// What was made for an extent. It outlives its place here while somebody uses it.
template <class Made>
class ByExtent {
 public:
  template <class Make>
  std::shared_ptr<const Made> of(std::int64_t extent, const Make& make) {
    const std::lock_guard lock(mutex_);
    if (const auto found = all_.find(extent); found != all_.end()) return found->second;
    if (all_.size() == kMostPlans) all_.clear();
    return all_[extent] = make();
  }

 private:
  std::mutex mutex_;
  std::map<std::int64_t, std::shared_ptr<const Made>> all_;
};

template <class T>
class Plans {
 public:
  std::shared_ptr<const FourierPlan<T>> of(std::int64_t extent) {
    return plans_.of(extent, [&] { return std::make_shared<const FourierPlan<T>>(extent); });
  }
  /// The first half of the roots of unity, for real transforms of an even extent.
  std::shared_ptr<const RootsOfUnity<T>> roots(std::int64_t extent) {
    return roots_.of(extent, [&] { return std::make_shared<const RootsOfUnity<T>>(extent, extent / 2 + 1); });
  }

 private:
  ByExtent<FourierPlan<T>> plans_;
  ByExtent<RootsOfUnity<T>> roots_;
};

/// Arrays that one block takes side by side, as many as a line of the cache has numbers: each element of all of them is one vector's work.
template <class T>
constexpr std::int64_t kSideBySide = 64 / sizeof(T);

template <class T>
class Transforming {
 public:
  Transforming(const WorkerPool& workers, Plans<T>& plans, const FourierTransform& transform) : workers_(workers), plans_(plans), t_(transform) {}

  void operator()(T* from, T* to) const {
    const std::int64_t n = t_.extent(), rows = t_.count * t_.extents[0] * t_.extents[1] * t_.extents[2] / n;
    if (t_.kind == FourierKind::kComplex) along(from, to, rows, n, 1);
    else if (t_.kind == FourierKind::kRealToComplex) n % 2 == 0 ? spectra_by_halves(from, to, rows) : spectra(from, to, rows);
    else n % 2 == 0 ? reals_by_halves(from, to, rows) : reals(from, to, rows);
    std::int64_t inner = t_.pairs(), outer = rows;
    for (int axis = t_.rank - 2; axis >= 0; --axis) {
      const std::int64_t extent = t_.extents[static_cast<std::size_t>(axis)];
      outer /= extent;
      along(to, to, outer, extent, inner);
      inner *= extent;
    }
  }

 private:
  /// A block's arrays, as much beside and the plan's scratch, in the thread's own memory (LaunchFrame::shared) or, where that is null, in memory of the block's.
  /// Contents are arbitrary.
  class Block {
   public:
    static std::size_t bytes(const FourierPlan<T>& plan, std::int64_t arrays) { return sizeof(T) * static_cast<std::size_t>((4 * plan.extent() + plan.scratch()) * arrays); }
    Block(void* threads, const FourierPlan<T>& plan, std::int64_t arrays) : own_(threads ? nullptr : std::make_unique_for_overwrite<std::byte[]>(bytes(plan, arrays))) {
      T* at = static_cast<T*>(threads ? threads : own_.get());
      const std::int64_t size = plan.extent() * arrays;
      scratch = at + 4 * size;
      x = {at, at + size}, other = {at + 2 * size, at + 3 * size};
    }
    /// The next transform is the inverse one, or the last one was: real and imaginary parts change places.
    void exchange() {
      std::swap(x.re, x.im);
      std::swap(other.re, other.im);
    }
    SplitArrays<T> x{}, other{};
    T* scratch;

   private:
    std::unique_ptr<std::byte[]> own_;
  };

  /// work(memory, first, end) for blocks of [0, arrays); memory: for the Block. extent: of an array, for what is worth a thread.
  template <class Work>
  void in_blocks(const FourierPlan<T>& plan, std::int64_t arrays, std::int64_t extent, const Work& work) const {
    constexpr std::int64_t kBlock = kSideBySide<T>;
    const auto share = [&](void* memory, std::int64_t first, std::int64_t last) {
      for (std::int64_t block = first; block < last; ++block) work(memory, block * kBlock, std::min(arrays, (block + 1) * kBlock));
    };
    void* arguments[] = {const_cast<void*>(static_cast<const void*>(&share))};
    const auto entry = [](void* const* given, const LaunchFrame* frame, std::int64_t first, std::int64_t last) { (*static_cast<const decltype(share)*>(given[0]))(frame->shared, first, last); };
    const std::size_t bytes = Block::bytes(plan, std::min(arrays, kBlock));
    workers_.run(entry, arguments, LaunchFrame{}, (arrays + kBlock - 1) / kBlock, std::max<std::int64_t>(kWorthAThread / (kBlock * extent), 1), bytes <= kMostKept ? bytes : 0);
  }

  /// Complex transforms along the middle axis of (outer, extent, inner) pairs.
  void along(const T* from, T* to, std::int64_t outer, std::int64_t extent, std::int64_t inner) const {
    const auto plan = plans_.of(extent);
    in_blocks(*plan, outer * inner, extent, [&](void* memory, std::int64_t first, std::int64_t end) {
      const std::int64_t arrays = end - first;
      Block block(memory, *plan, arrays);
      const auto each = [&](auto&& act) {
        for (std::int64_t j = 0; j < extent; ++j) {
          for (std::int64_t b = 0; b < arrays; ++b) act(j * arrays + b, 2 * (((first + b) / inner * extent + j) * inner + (first + b) % inner));
        }
      };
      each([&](std::int64_t here, std::int64_t there) { block.x.re[here] = from[there], block.x.im[here] = from[there + 1]; });
      if (t_.inverse) block.exchange();
      plan->run(block.x, block.other, arrays, block.scratch);
      if (t_.inverse) block.exchange();
      each([&](std::int64_t here, std::int64_t there) { to[there] = block.x.re[here], to[there + 1] = block.x.im[here]; });
    });
  }

  /// One array of a block: element k is at re[k * stride], im[k * stride].
  struct Lane {
    T *re, *im;
    std::int64_t stride;
    void set(std::int64_t k, T real, T imaginary) const { re[k * stride] = real, im[k * stride] = imaginary; }
  };

  /// Transforms of `extent` pairs, one a row, which load(lane, row) makes from x and store(lane, row) takes into the result.
  template <class Load, class Store>
  void by_rows(std::int64_t rows, std::int64_t extent, bool inverse, const Load& load, const Store& store) const {
    const auto plan = plans_.of(extent);
    in_blocks(*plan, rows, t_.extent(), [&](void* memory, std::int64_t first, std::int64_t end) {
      const std::int64_t arrays = end - first;
      Block block(memory, *plan, arrays);
      const auto lane = [&](std::int64_t b) { return Lane{block.x.re + b, block.x.im + b, arrays}; };
      for (std::int64_t b = 0; b < arrays; ++b) load(lane(b), first + b);
      if (inverse) block.exchange();
      plan->run(block.x, block.other, arrays, block.scratch);
      if (inverse) block.exchange();
      for (std::int64_t b = 0; b < arrays; ++b) store(lane(b), first + b);
    });
  }

  void spectra(const T* from, T* to, std::int64_t rows) const {
    const std::int64_t n = t_.extent(), pairs = t_.pairs();
    const auto load = [&](const Lane& lane, std::int64_t row) {
      for (std::int64_t j = 0; j < n; ++j) lane.set(j, from[row * n + j], 0);
    };
    const auto store = [&](const Lane& lane, std::int64_t row) {
      for (std::int64_t k = 0; k < pairs; ++k) put(to, row * pairs + k, lane.re[k * lane.stride], lane.im[k * lane.stride]);
    };
    by_rows(rows, n, false, load, store);
  }
  /// Even elements as real parts, odd ones as imaginary parts: Z_k. Then X_k is the sum of both's transforms, E_k = (Z_k + Z*_(h - k)) / 2 and
  /// exp(-2 pi i k / n) O_k, O_k = (Z_k - Z*_(h - k)) / 2i.
  void spectra_by_halves(const T* from, T* to, std::int64_t rows) const {
    const std::int64_t n = t_.extent(), half = n / 2;
    const auto roots = plans_.roots(n);
    const auto load = [&](const Lane& lane, std::int64_t row) {
      for (std::int64_t j = 0; j < half; ++j) lane.set(j, from[row * n + 2 * j], from[row * n + 2 * j + 1]);
    };
    const auto store = [&](const Lane& lane, std::int64_t row) {
      for (std::int64_t k = 0; k <= half; ++k) {
        const std::int64_t here = k % half * lane.stride, mirrored = (half - k) % half * lane.stride;
        const T zr = lane.re[here], zi = lane.im[here], mr = lane.re[mirrored], mi = -lane.im[mirrored];
        const T er = (zr + mr) / 2, ei = (zi + mi) / 2, odd_r = (zi - mi) / 2, odd_i = (mr - zr) / 2;
        const T wr = roots->re[static_cast<std::size_t>(k)], wi = roots->im[static_cast<std::size_t>(k)];
        put(to, row * (half + 1) + k, er + (odd_r * wr - odd_i * wi), ei + (odd_r * wi + odd_i * wr));
      }
    };
    by_rows(rows, half, false, load, store);
  }
  void reals(const T* from, T* to, std::int64_t rows) const {
    const std::int64_t n = t_.extent(), pairs = t_.pairs();
    const auto load = [&](const Lane& lane, std::int64_t row) {
      for (std::int64_t k = 0; k < n; ++k) {
        const T* pair = from + 2 * (row * pairs + std::min(k, n - k));
        lane.set(k, pair[0], k < pairs ? pair[1] : -pair[1]);
      }
    };
    const auto store = [&](const Lane& lane, std::int64_t row) {
      for (std::int64_t j = 0; j < n; ++j) to[row * n + j] = lane.re[j * lane.stride];
    };
    by_rows(rows, n, true, load, store);
  }
  /// The reverse of spectra_by_halves: Z_k = (X_k + X*_(h - k)) + i exp(+2 pi i k / n) (X_k - X*_(h - k)).
  void reals_by_halves(const T* from, T* to, std::int64_t rows) const {
    const std::int64_t n = t_.extent(), half = n / 2;
    const auto roots = plans_.roots(n);
    const auto load = [&](const Lane& lane, std::int64_t number) {
      const T* row = from + 2 * number * (half + 1);
      for (std::int64_t k = 0; k < half; ++k) {
        const T xr = row[2 * k], xi = row[2 * k + 1], mr = row[2 * (half - k)], mi = -row[2 * (half - k) + 1];
        const T wr = roots->re[static_cast<std::size_t>(k)], wi = -roots->im[static_cast<std::size_t>(k)], dr = xr - mr, di = xi - mi;
        lane.set(k, (xr + mr) - (dr * wi + di * wr), (xi + mi) + (dr * wr - di * wi));
      }
    };
    const auto store = [&](const Lane& lane, std::int64_t row) {
      for (std::int64_t j = 0; j < half; ++j) put(to, row * half + j, lane.re[j * lane.stride], lane.im[j * lane.stride]);
    };
    by_rows(rows, half, true, load, store);
  }
  static void put(T* to, std::int64_t pair, T re, T im) { to[2 * pair] = re, to[2 * pair + 1] = im; }

  const WorkerPool& workers_;
  Plans<T>& plans_;
  const FourierTransform& t_;
};

class CpuFourier final : public FourierEngine {
 public:
  CpuFourier(const Backend& backend, const WorkerPool& workers) : backend_(backend), workers_(workers) {}
  const std::string& name() const override { return name_; }
  void run(const FourierTransform& transform, void* from, void* to) override {
    enter_default_stream(backend_);
    if (transform.dtype == float64) Transforming<double>(workers_, doubles_, transform)(static_cast<double*>(from), static_cast<double*>(to));
    else Transforming<float>(workers_, floats_, transform)(static_cast<float*>(from), static_cast<float*>(to));
  }

 private:
  const Backend& backend_;
  const WorkerPool& workers_;
  std::string name_ = "Damo";
  Plans<float> floats_;
  Plans<double> doubles_;
};

}  // namespace

std::unique_ptr<FourierEngine> make_fourier_engine(const Backend& backend, const WorkerPool& workers) { return std::make_unique<CpuFourier>(backend, workers); }

}  // namespace damo::cpu_backend
