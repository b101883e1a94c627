#include "runtime/cpu/fourier.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "runtime/cpu/fourier_plan.hpp"
#include "runtime/stream/capture.hpp"

namespace damo::cpu_backend {
namespace {

constexpr std::size_t kMostPlans = 64;
constexpr std::int64_t kWorthAThread = 1 << 15;  ///< numbers

/// Plans by extent. A plan outlives its place here while somebody uses it.
template <class T>
class Plans {
 public:
  std::shared_ptr<const FourierPlan<T>> of(std::int64_t extent) {
    const std::lock_guard lock(mutex_);
    if (const auto found = plans_.find(extent); found != plans_.end()) return found->second;
    if (plans_.size() == kMostPlans) plans_.clear();
    return plans_[extent] = std::make_shared<const FourierPlan<T>>(extent);
  }

 private:
  std::mutex mutex_;
  std::map<std::int64_t, std::shared_ptr<const FourierPlan<T>>> plans_;
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
  /// A block's arrays, and as much beside.
  class Block {
   public:
    Block(std::int64_t extent, std::int64_t arrays) : memory_(static_cast<std::size_t>(4 * extent * arrays)) {
      T* at = memory_.data();
      const std::int64_t size = extent * arrays;
      x = {at, at + size}, other = {at + 2 * size, at + 3 * size};
    }
    /// The next transform is the inverse one, or the last one was: real and imaginary parts change places.
    void exchange() {
      std::swap(x.re, x.im);
      std::swap(other.re, other.im);
    }
    SplitArrays<T> x{}, other{};

   private:
    std::vector<T> memory_;
  };

  /// work(first, end) for blocks of [0, arrays).
  template <class Work>
  void in_blocks(std::int64_t arrays, std::int64_t extent, const Work& work) const {
    constexpr std::int64_t kBlock = kSideBySide<T>;
    const auto share = [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t block = first; block < last; ++block) work(block * kBlock, std::min(arrays, (block + 1) * kBlock));
    };
    void* arguments[] = {const_cast<void*>(static_cast<const void*>(&share))};
    const auto entry = [](void* const* given, const LaunchFrame*, std::int64_t first, std::int64_t last) { (*static_cast<const decltype(share)*>(given[0]))(first, last); };
    workers_.run(entry, arguments, LaunchFrame{}, (arrays + kBlock - 1) / kBlock, std::max<std::int64_t>(kWorthAThread / (kBlock * extent), 1));
  }

  /// Complex transforms along the middle axis of (outer, extent, inner) pairs.
  void along(const T* from, T* to, std::int64_t outer, std::int64_t extent, std::int64_t inner) const {
    const auto plan = plans_.of(extent);
    in_blocks(outer * inner, extent, [&](std::int64_t first, std::int64_t end) {
      const std::int64_t arrays = end - first;
      Block block(extent, arrays);
      const auto each = [&](auto&& act) {
        for (std::int64_t j = 0; j < extent; ++j) {
          for (std::int64_t b = 0; b < arrays; ++b) act(j * arrays + b, 2 * (((first + b) / inner * extent + j) * inner + (first + b) % inner));
        }
      };
      each([&](std::int64_t here, std::int64_t there) { block.x.re[here] = from[there], block.x.im[here] = from[there + 1]; });
      if (t_.inverse) block.exchange();
      plan->run(block.x, block.other, arrays);
      if (t_.inverse) block.exchange();
      each([&](std::int64_t here, std::int64_t there) { to[there] = block.x.re[here], to[there + 1] = block.x.im[here]; });
    });
  }

  void spectra(const T* from, T* to, std::int64_t rows) const {
    const std::int64_t n = t_.extent(), pairs = t_.pairs();
    const auto plan = plans_.of(n);
    in_blocks(rows, n, [&](std::int64_t first, std::int64_t end) {
      const std::int64_t arrays = end - first;
      Block block(n, arrays);
      for (std::int64_t b = 0; b < arrays; ++b) {
        for (std::int64_t j = 0; j < n; ++j) block.x.re[j * arrays + b] = from[(first + b) * n + j];
      }
      plan->run(block.x, block.other, arrays);
      for (std::int64_t b = 0; b < arrays; ++b) {
        for (std::int64_t k = 0; k < pairs; ++k) put(to, (first + b) * pairs + k, block.x.re[k * arrays + b], block.x.im[k * arrays + b]);
      }
    });
  }
  /// Even elements as real parts, odd ones as imaginary parts: Z_k. Then X_k is the sum of both's transforms, E_k = (Z_k + Z*_(h - k)) / 2 and
  /// exp(-2 pi i k / n) O_k, O_k = (Z_k - Z*_(h - k)) / 2i.
  void spectra_by_halves(const T* from, T* to, std::int64_t rows) const {
    const std::int64_t n = t_.extent(), half = n / 2;
    const auto plan = plans_.of(half);
    const RootsOfUnity<T> roots(n, half + 1);
    in_blocks(rows, n, [&](std::int64_t first, std::int64_t end) {
      const std::int64_t arrays = end - first;
      Block block(half, arrays);
      for (std::int64_t b = 0; b < arrays; ++b) {
        const T* row = from + (first + b) * n;
        for (std::int64_t j = 0; j < half; ++j) block.x.re[j * arrays + b] = row[2 * j], block.x.im[j * arrays + b] = row[2 * j + 1];
      }
      plan->run(block.x, block.other, arrays);
      for (std::int64_t b = 0; b < arrays; ++b) {
        for (std::int64_t k = 0; k <= half; ++k) {
          const std::int64_t here = k % half * arrays + b, mirrored = (half - k) % half * arrays + b;
          const T zr = block.x.re[here], zi = block.x.im[here], mr = block.x.re[mirrored], mi = -block.x.im[mirrored];
          const T er = (zr + mr) / 2, ei = (zi + mi) / 2, odd_r = (zi - mi) / 2, odd_i = (mr - zr) / 2;
          const T wr = roots.re[static_cast<std::size_t>(k)], wi = roots.im[static_cast<std::size_t>(k)];
          put(to, (first + b) * (half + 1) + k, er + (odd_r * wr - odd_i * wi), ei + (odd_r * wi + odd_i * wr));
        }
      }
    });
  }
  void reals(const T* from, T* to, std::int64_t rows) const {
    const std::int64_t n = t_.extent(), pairs = t_.pairs();
    const auto plan = plans_.of(n);
    in_blocks(rows, n, [&](std::int64_t first, std::int64_t end) {
      const std::int64_t arrays = end - first;
      Block block(n, arrays);
      for (std::int64_t b = 0; b < arrays; ++b) {
        for (std::int64_t k = 0; k < n; ++k) {
          const T* pair = from + 2 * ((first + b) * pairs + std::min(k, n - k));
          block.x.re[k * arrays + b] = pair[0];
          block.x.im[k * arrays + b] = k < pairs ? pair[1] : -pair[1];
        }
      }
      block.exchange();
      plan->run(block.x, block.other, arrays);
      block.exchange();
      for (std::int64_t b = 0; b < arrays; ++b) {
        for (std::int64_t j = 0; j < n; ++j) to[(first + b) * n + j] = block.x.re[j * arrays + b];
      }
    });
  }
  /// The reverse of spectra_by_halves: Z_k = (X_k + X*_(h - k)) + i exp(+2 pi i k / n) (X_k - X*_(h - k)).
  void reals_by_halves(const T* from, T* to, std::int64_t rows) const {
    const std::int64_t n = t_.extent(), half = n / 2;
    const auto plan = plans_.of(half);
    const RootsOfUnity<T> roots(n, half + 1);
    in_blocks(rows, n, [&](std::int64_t first, std::int64_t end) {
      const std::int64_t arrays = end - first;
      Block block(half, arrays);
      for (std::int64_t b = 0; b < arrays; ++b) {
        const T* row = from + 2 * (first + b) * (half + 1);
        for (std::int64_t k = 0; k < half; ++k) {
          const T xr = row[2 * k], xi = row[2 * k + 1], mr = row[2 * (half - k)], mi = -row[2 * (half - k) + 1];
          const T wr = roots.re[static_cast<std::size_t>(k)], wi = -roots.im[static_cast<std::size_t>(k)], dr = xr - mr, di = xi - mi;
          block.x.re[k * arrays + b] = (xr + mr) - (dr * wi + di * wr);
          block.x.im[k * arrays + b] = (xi + mi) + (dr * wr - di * wi);
        }
      }
      block.exchange();
      plan->run(block.x, block.other, arrays);
      block.exchange();
      for (std::int64_t b = 0; b < arrays; ++b) {
        T* row = to + (first + b) * n;
        for (std::int64_t j = 0; j < half; ++j) row[2 * j] = block.x.re[j * arrays + b], row[2 * j + 1] = block.x.im[j * arrays + b];
      }
    });
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
    check_default_stream(backend_);
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
