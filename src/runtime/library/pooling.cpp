#include "runtime/library/pooling.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <string>

#include <damo/launch_config.hpp>

#include "runtime/kernel/cache.hpp"
#include "runtime/library/convolution_text.hpp"

namespace damo {
namespace {

// K0.., S0.., P0..: window, stride and padding, which loops and divisions are made of. A row of the result along its last axis is a row of threads.
constexpr const char* kCommonText = R"(
// Whether value, found later, takes the place of best. Of nothing yet best is -inf, which the first element, at whatever place, replaces.
static __device__ inline bool is_greater(SUM value, SUM best) { return value > best || (value != value && best == best); }

// The place in the picture of the first greatest element of the window that begins at (i0, i1, i2).
static __device__ inline long long greatest(const T* picture, const Sizes& s, long long i0, long long i1, long long i2, SUM& best) {
  long long place = -1;
  best = 0;
  #pragma unroll
  for (int j0 = 0; j0 < K0; ++j0) {
    #pragma unroll
    for (int j1 = 0; j1 < K1; ++j1) {
      #pragma unroll
      for (int j2 = 0; j2 < K2; ++j2) {
        const long long a0 = i0 + j0, a1 = i1 + j1, a2 = i2 + j2;
        const bool is_in = (P0 == 0 || (a0 >= 0 && a0 < s.in[0])) && (P1 == 0 || (a1 >= 0 && a1 < s.in[1])) && (P2 == 0 || (a2 >= 0 && a2 < s.in[2]));
        if (is_in) {
          const long long at = (a0 * s.in[1] + a1) * s.in[2] + a2;
          const SUM value = TO_SUM(picture[at]);
          const bool better = place < 0 || is_greater(value, best);
          best = better ? value : best;
          place = better ? at : place;
        }
      }
    }
  }
  return place;
}

// Elements of x in a window, of one axis.
static __device__ inline long long inside(long long begin, long long window, long long extent) {
  const long long first = begin < 0 ? 0 : begin, last = begin + window < extent ? begin + window : extent;
  return last - first;
}
static __device__ inline SUM count_of(const Sizes& s, long long p0, long long p1, long long p2) {
#if COUNTS_PADDING
  return (SUM)(K0 * K1 * K2);
#else
  return (SUM)(inside(p0 * S0 - P0, K0, s.in[0]) * inside(p1 * S1 - P1, K1, s.in[1]) * inside(p2 * S2 - P2, K2, s.in[2]));
#endif
}

#define FOR_EACH_ROW(e) \
  const long long rows = s.batch * s.groups * s.e[0] * s.e[1], step = (long long)gridDim.x * blockDim.y, in_size = s.in[0] * s.in[1] * s.in[2], out_size = s.out[0] * s.out[1] * s.out[2]; \
  for (long long row = (long long)blockIdx.x * blockDim.y + threadIdx.y; row < rows; row += step)
)";

constexpr const char* kMaxText = R"(
extern "C" __global__ void pool(const T* x, const T* v, T* y, Sizes s) {
  FOR_EACH_ROW(out) {
    const long long p1 = row % s.out[1], p0 = row / s.out[1] % s.out[0], plane = row / (s.out[1] * s.out[0]);
    for (long long p2 = threadIdx.x; p2 < s.out[2]; p2 += blockDim.x) {
      SUM best;
      const long long place = greatest(x + plane * in_size, s, p0 * S0 - P0, p1 * S1 - P1, p2 * S2 - P2, best);
      y[row * s.out[2] + p2] = IS_AT ? v[plane * in_size + place] : TO_T(best);
    }
  }
}
)";

// Windows that do not overlap: each writes its own part of x, the last ones what is left.
constexpr const char* kMaxGradientApartText = R"(
static __device__ inline long long last_of(long long p, long long stride, long long padding, long long windows, long long extent) {
  return p == windows - 1 || (p + 1) * stride - padding > extent ? extent : (p + 1) * stride - padding;
}
extern "C" __global__ void pool(const T* x, const T* y, T* z, Sizes s) {
  FOR_EACH_ROW(out) {
    const long long p1 = row % s.out[1], p0 = row / s.out[1] % s.out[0], plane = row / (s.out[1] * s.out[0]);
    const long long end0 = last_of(p0, S0, P0, s.out[0], s.in[0]), end1 = last_of(p1, S1, P1, s.out[1], s.in[1]);
    for (long long p2 = threadIdx.x; p2 < s.out[2]; p2 += blockDim.x) {
      SUM best;
      const long long i0 = p0 * S0 - P0, i1 = p1 * S1 - P1, i2 = p2 * S2 - P2, end2 = last_of(p2, S2, P2, s.out[2], s.in[2]);
      const long long place = greatest(x + plane * in_size, s, i0, i1, i2, best);
      const T value = y[row * s.out[2] + p2];
      for (long long a0 = i0 < 0 ? 0 : i0; a0 < end0; ++a0)
        for (long long a1 = i1 < 0 ? 0 : i1; a1 < end1; ++a1)
          for (long long a2 = i2 < 0 ? 0 : i2; a2 < end2; ++a2) {
            const long long at = (a0 * s.in[1] + a1) * s.in[2] + a2;
            z[plane * in_size + at] = at == place ? value : TO_T((SUM)0);
          }
    }
  }
}
)";

// Each element of x asks the windows that have it, in order. M0..: most of them along an axis.
constexpr const char* kGatherText = R"(
extern "C" __global__ void pool(const T* x, const T* y, T* z, Sizes s) {
  FOR_EACH_ROW(in) {
    const long long i1 = row % s.in[1], i0 = row / s.in[1] % s.in[0], plane = row / (s.in[1] * s.in[0]);
    for (long long i2 = threadIdx.x; i2 < s.in[2]; i2 += blockDim.x) {
      SUM sum = 0;
      const long long at = (i0 * s.in[1] + i1) * s.in[2] + i2;
      for (int m0 = M0 - 1; m0 >= 0; --m0)
        for (int m1 = M1 - 1; m1 >= 0; --m1)
          for (int m2 = M2 - 1; m2 >= 0; --m2) {
            const long long p0 = (i0 + P0) / S0 - m0, p1 = (i1 + P1) / S1 - m1, p2 = (i2 + P2) / S2 - m2;
            const bool has = p0 >= 0 && p0 < s.out[0] && i0 + P0 - p0 * S0 < K0 && p1 >= 0 && p1 < s.out[1] && i1 + P1 - p1 * S1 < K1 && p2 >= 0 && p2 < s.out[2] && i2 + P2 - p2 * S2 < K2;
            if (has) {
              const SUM value = TO_SUM(y[plane * out_size + (p0 * s.out[1] + p1) * s.out[2] + p2]);
#if IS_MEAN
              sum += value / count_of(s, p0, p1, p2);
#else
              SUM best;
              if (greatest(x + plane * in_size, s, p0 * S0 - P0, p1 * S1 - P1, p2 * S2 - P2, best) == at) sum += value;
#endif
            }
          }
      z[plane * in_size + at] = TO_T(sum);
    }
  }
}
)";

constexpr const char* kMeanText = R"(
extern "C" __global__ void pool(const T* x, const T* v, T* y, Sizes s) {
  FOR_EACH_ROW(out) {
    const long long p1 = row % s.out[1], p0 = row / s.out[1] % s.out[0], plane = row / (s.out[1] * s.out[0]);
    const T* picture = x + plane * in_size;
    for (long long p2 = threadIdx.x; p2 < s.out[2]; p2 += blockDim.x) {
      SUM sum = 0;
      #pragma unroll
      for (int j0 = 0; j0 < K0; ++j0) {
        #pragma unroll
        for (int j1 = 0; j1 < K1; ++j1) {
          #pragma unroll
          for (int j2 = 0; j2 < K2; ++j2) {
            const long long a0 = p0 * S0 - P0 + j0, a1 = p1 * S1 - P1 + j1, a2 = p2 * S2 - P2 + j2;
            const bool is_in = (P0 == 0 || (a0 >= 0 && a0 < s.in[0])) && (P1 == 0 || (a1 >= 0 && a1 < s.in[1])) && (P2 == 0 || (a2 >= 0 && a2 < s.in[2]));
            if (is_in) sum += TO_SUM(picture[(a0 * s.in[1] + a1) * s.in[2] + a2]);
          }
        }
      }
      y[row * s.out[2] + p2] = TO_T(sum / count_of(s, p0, p1, p2));
    }
  }
}
)";

constexpr std::int64_t kThreads = 128, kMostBlocks = 1 << 20;

class KernelPooling final : public PreparedPooling {
 public:
  KernelPooling(Backend& backend, const Pooling& pooling) : backend_(backend), sizes_(pooling.windows) {
    const Convolution& c = pooling.windows;
    bool are_apart = true;
    std::string source = element_text(c.dtype);
    const auto define = [&](const std::string& name, std::int64_t value) { source += "#define " + name + " " + std::to_string(value) + "\n"; };
    for (std::size_t i = 0; i < 3; ++i) {
      are_apart &= c.kernel[i] <= c.stride[i];
      const std::string axis = std::to_string(i);
      define("K" + axis, c.kernel[i]);
      define("S" + axis, c.stride[i]);
      define("P" + axis, c.padding[i]);
      define("M" + axis, (c.kernel[i] + c.stride[i] - 1) / c.stride[i]);
    }
    define("COUNTS_PADDING", pooling.counts_padding ? 1 : 0);
    define("IS_AT", pooling.role == PoolingRole::kMaxAt ? 1 : 0);
    define("IS_MEAN", pooling.role == PoolingRole::kMeanGradient ? 1 : 0);
    source += std::string(kSizesText) + kCommonText;
    bool is_of_in = false;  // a thread an element of x, or of y
    switch (pooling.role) {
      case PoolingRole::kMax:
      case PoolingRole::kMaxAt: source += kMaxText; break;
      case PoolingRole::kMean: source += kMeanText; break;
      case PoolingRole::kMaxGradient:
        is_of_in = !are_apart;
        source += are_apart ? kMaxGradientApartText : kGatherText;
        break;
      case PoolingRole::kMeanGradient:
        is_of_in = true;
        source += kGatherText;
    }
    CompileRequest request;
    request.source = std::move(source);
    request.kind = SourceKind::kCudaC;
    request.file_name = "pooling.cu";
    request.kernels = {"pool"};
    module_ = backend.cache().get(request);
    kernel_ = module_->kernel("pool");
    const std::int64_t along = is_of_in ? c.in[2] : c.out[2], rows = c.batch * c.groups * product_of(is_of_in ? c.in : c.out) / along;
    const auto width = static_cast<std::int64_t>(std::min<std::uint64_t>(std::bit_ceil(static_cast<std::uint64_t>(along)), kThreads)), across = kThreads / width;
    config_ = {.grid = {std::min((rows + across - 1) / across, kMostBlocks)}, .block = {width, across}};
    check_launch(*kernel_, config_);
  }

  void run(const void* first, const void* second, void* out, void* stream) const override {
    Sizes sizes = sizes_;
    void* arguments[] = {&first, &second, &out, &sizes};
    backend_.launch(*kernel_, config_, arguments, stream);
    backend_.note_work(stream);
    ++backend_.launches;
  }

 private:
  Backend& backend_;
  Sizes sizes_;
  std::shared_ptr<const LoadedModule> module_;
  std::shared_ptr<const LoadedKernel> kernel_;
  LaunchConfig config_;
};

class PoolingLibrary final : public Companion {
 public:
  explicit PoolingLibrary(Backend& backend) : backend_(backend) {}
  std::shared_ptr<const PreparedPooling> prepare(const Pooling& pooling) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = prepared_.find(pooling); found != prepared_.end()) return found->second;
    }
    auto made = std::make_shared<const KernelPooling>(backend_, pooling);
    const std::lock_guard lock(mutex_);
    if (prepared_.size() >= kMost) prepared_.clear();
    return prepared_.try_emplace(pooling, std::move(made)).first->second;
  }

 private:
  static constexpr std::size_t kMost = 512;
  Backend& backend_;
  std::mutex mutex_;
  std::map<Pooling, std::shared_ptr<const PreparedPooling>> prepared_;
};

}  // namespace

std::shared_ptr<const PreparedPooling> prepare_pooling(Backend& backend, const Pooling& pooling) { return backend.companion<PoolingLibrary>()->prepare(pooling); }

}  // namespace damo
