#include "runtime/library/pooling.hpp"

#include <map>
#include <mutex>
#include <string>

#include <damo/launch_config.hpp>

#include "runtime/array/array_layout.hpp"
#include "runtime/kernel/cache.hpp"
#include "runtime/library/convolution_text.hpp"

namespace damo {
namespace {

// K0.., S0.., P0..: window, stride and padding, which loops and divisions are made of.
constexpr const char* kCommonText = R"(
// Whether value, found later, takes the place of best. No branch: which element is the greatest nobody can guess.
[[maybe_unused]] static __device__ inline bool is_greater(SUM value, SUM best) { return (value > best) | ((value != value) & (best == best)); }

// Whether an element of a window that begins there is x's. Without padding all are.
[[maybe_unused]] static __device__ inline bool is_in(const Sizes& s, long long i0, long long i1, long long i2) {
  return (P0 == 0 || (i0 >= 0 && i0 < s.in[0])) && (P1 == 0 || (i1 >= 0 && i1 < s.in[1])) && (P2 == 0 || (i2 >= 0 && i2 < s.in[2]));
}
[[maybe_unused]] static __device__ inline long long place_of(const Sizes& s, long long i0, long long i1, long long i2) { return (i0 * s.in[1] + i1) * s.in[2] + i2; }

#define FOR_EACH_OF(E0, E1, E2) \
  _Pragma("unroll") for (int j0 = 0; j0 < E0; ++j0) _Pragma("unroll") for (int j1 = 0; j1 < E1; ++j1) _Pragma("unroll") for (int j2 = 0; j2 < E2; ++j2)

// The greatest element of the window that begins at (i0, i1, i2).
[[maybe_unused]] static __device__ inline SUM greatest_value(const T* picture, const Sizes& s, long long i0, long long i1, long long i2) {
  SUM best = -INFINITY;
  FOR_EACH_OF(K0, K1, K2) {
    if (is_in(s, i0 + j0, i1 + j1, i2 + j2)) {
      const SUM value = TO_SUM(picture[place_of(s, i0 + j0, i1 + j1, i2 + j2)]);
      best = is_greater(value, best) ? value : best;
    }
  }
  return best;
}

// Which one is the first greatest.
[[maybe_unused]] static __device__ inline int greatest(const T* picture, const Sizes& s, long long i0, long long i1, long long i2, SUM& best) {
  int which = -1;
  best = 0;
  FOR_EACH_OF(K0, K1, K2) {
    if (is_in(s, i0 + j0, i1 + j1, i2 + j2)) {
      const SUM value = TO_SUM(picture[place_of(s, i0 + j0, i1 + j1, i2 + j2)]);
      const bool better = (which < 0) | is_greater(value, best);
      best = better ? value : best;
      which = better ? (j0 * K1 + j1) * K2 + j2 : which;
    }
  }
  return which;
}

// Elements of x in a window, of one axis.
[[maybe_unused]] static __device__ inline long long inside(long long begin, long long window, long long extent) {
  const long long first = begin < 0 ? 0 : begin, last = begin + window < extent ? begin + window : extent;
  return last - first;
}
[[maybe_unused]] static __device__ inline SUM count_of(const Sizes& s, long long p0, long long p1, long long p2) {
#if COUNTS_PADDING
  return (SUM)(K0 * K1 * K2);
#else
  return (SUM)(inside(p0 * S0 - P0, K0, s.in[0]) * inside(p1 * S1 - P1, K1, s.in[1]) * inside(p2 * S2 - P2, K2, s.in[2]));
#endif
}
)";

// Windows of two along the last axis, on a CPU: a vector has HALF windows side by side, and what is said of a window stands in both of its lanes.
constexpr const char* kPairsText = R"(
#if PAIRS
#define PAIR_LANES (32 / (int)sizeof(T))
#define HALF (PAIR_LANES / 2)
typedef T Pairs __attribute__((vector_size(32)));
typedef Word Masks __attribute__((vector_size(32)));
typedef T AnyPairs __attribute__((vector_size(32), aligned(sizeof(T)), may_alias));
typedef Word AnyMasks __attribute__((vector_size(32), aligned(sizeof(T)), may_alias));
#if PAIR_DOUBLES
#define BOTH_FIRST(v) __builtin_shufflevector(v, v, 0, 0, 2, 2)
#define BOTH_SECOND(v) __builtin_shufflevector(v, v, 1, 1, 3, 3)
#else
#define BOTH_FIRST(v) __builtin_shufflevector(v, v, 0, 0, 2, 2, 4, 4, 6, 6)
#define BOTH_SECOND(v) __builtin_shufflevector(v, v, 1, 1, 3, 3, 5, 5, 7, 7)
#endif

static __device__ inline Pairs greater_of(Pairs value, Pairs best) {
  const Masks is_better = (Masks)(value > best) | ((Masks)(value != value) & (Masks)(best == best));
  return (Pairs)(((Masks)value & is_better) | ((Masks)best & ~is_better));
}

// Of the windows that begin at (i0, i1, i2), (i0, i1, i2 + 2)...
static __device__ inline Pairs greatest_of_pairs(const T* picture, const Sizes& s, long long i0, long long i1, long long i2) {
  Pairs best = Pairs{} - INFINITY;
  FOR_EACH_OF(K0, K1, 1) {
    if (is_in(s, i0 + j0, i1 + j1, i2 + j2)) {
      const Pairs values = *(const AnyPairs*)(picture + place_of(s, i0 + j0, i1 + j1, i2));
      best = greater_of(BOTH_SECOND(values), greater_of(BOTH_FIRST(values), best));
    }
  }
  return best;
}

[[maybe_unused]] static __device__ inline void write_greatest(const T* picture, T* y, const Sizes& s, long long i0, long long i1, long long p2) {
  const Pairs best = greatest_of_pairs(picture, s, i0, i1, p2 * 2);
  _Pragma("unroll") for (int l = 0; l < HALF; ++l) y[p2 + l] = best[2 * l];
}

// y's elements where the windows' greatest are.
[[maybe_unused]] static __device__ inline void write_where_greatest(const T* picture, const Word* y, Word* z, const Sizes& s, long long i0, long long i1, long long p2) {
  const Pairs best = greatest_of_pairs(picture, s, i0, i1, p2 * 2);
  Masks value, is_second, is_left = ~Masks{};
  _Pragma("unroll") for (int l = 0; l < HALF; ++l) {
    value[2 * l] = value[2 * l + 1] = y[p2 + l];
    is_second[2 * l] = 0, is_second[2 * l + 1] = ~(Word)0;
  }
  FOR_EACH_OF(S0, S1, 1) {
    const bool is_there = is_in(s, i0 + j0, i1 + j1, p2 * 2 + j2) && (S0 == K0 || i0 + j0 < s.in[0]) && (S1 == K1 || i1 + j1 < s.in[1]);
    if (is_there) {
      const long long at = place_of(s, i0 + j0, i1 + j1, p2 * 2);
      const Pairs own = *(const AnyPairs*)(picture + at);
      Masks is_equal = (Masks)(own == best) | ((Masks)(own != own) & (Masks)(best != best));
      if (j0 >= K0 || j1 >= K1) is_equal = Masks{};
      const Masks first = BOTH_FIRST(is_equal);
      *(AnyMasks*)(z + at) = value & is_equal & is_left & ~(first & is_second);
      is_left &= ~(first | BOTH_SECOND(is_equal));
    }
  }
}

// As many at a time as HALF, the last ones again with some before them.
#define IF_PAIRS(statement) \
  if (s.out[2] >= HALF) { \
    for (long long p2 = 0; p2 < s.out[2]; p2 += HALF) { \
      const long long p = p2 + HALF <= s.out[2] ? p2 : s.out[2] - HALF; \
      statement; \
    } \
    continue; \
  }
#else
#define IF_PAIRS(statement)
#endif
)";

constexpr const char* kOutText = R"(
extern "C" __global__ void pool(const T* __restrict__ x, const T* __restrict__ v, T* __restrict__ y, Sizes s) {
  const long long in_size = s.in[0] * s.in[1] * s.in[2];
  FOR_EACH_ROW(row, s.batch * s.groups * s.out[0] * s.out[1]) {
    const long long p1 = row % s.out[1], p0 = row / s.out[1] % s.out[0], plane = row / (s.out[1] * s.out[0]) * in_size;
    const T* picture = x + plane;
#if ROLE_IS_MAX
    IF_PAIRS(write_greatest(picture, y + row * s.out[2], s, p0 * S0 - P0, p1 * S1 - P1, p))
#endif
    FOR_EACH_IN_ROW(p2, s.out[2]) {
      const long long i0 = p0 * S0 - P0, i1 = p1 * S1 - P1, i2 = p2 * S2 - P2;
#if ROLE_IS_MAX
      y[row * s.out[2] + p2] = TO_T(greatest_value(picture, s, i0, i1, i2));
#elif ROLE_IS_AT
      SUM best;
      const int which = greatest(picture, s, i0, i1, i2, best);
      y[row * s.out[2] + p2] = v[plane + place_of(s, i0 + which / (K1 * K2), i1 + which / K2 % K1, i2 + which % K2)];
#else
      SUM sum = 0;
      FOR_EACH_OF(K0, K1, K2) {
        if (is_in(s, i0 + j0, i1 + j1, i2 + j2)) sum += TO_SUM(picture[place_of(s, i0 + j0, i1 + j1, i2 + j2)]);
      }
      y[row * s.out[2] + p2] = TO_T(sum / count_of(s, p0, p1, p2));
#endif
    }
  }
}
)";

// Windows that do not overlap: each writes the part of x from its beginning to the next one's. What is left behind the last ones is 0 before. Elements are
// written as bits, since a choice between two floats is a branch, and which element is the greatest nobody can guess.
constexpr const char* kApartText = R"(
extern "C" __global__ void pool(const T* __restrict__ x, const T* __restrict__ y, T* __restrict__ z, Sizes s) {
  const long long in_size = s.in[0] * s.in[1] * s.in[2];
  FOR_EACH_ROW(row, s.batch * s.groups * s.out[0] * s.out[1]) {
    const long long p1 = row % s.out[1], p0 = row / s.out[1] % s.out[0], plane = row / (s.out[1] * s.out[0]) * in_size;
    IF_PAIRS(write_where_greatest(x + plane, (const Word*)y + row * s.out[2], (Word*)z + plane, s, p0 * S0 - P0, p1 * S1 - P1, p))
    FOR_EACH_IN_ROW(p2, s.out[2]) {
      const long long i0 = p0 * S0 - P0, i1 = p1 * S1 - P1, i2 = p2 * S2 - P2;
      const SUM best = greatest_value(x + plane, s, i0, i1, i2);
      const Word value = ((const Word*)y)[row * s.out[2] + p2];
      Word is_left = ~(Word)0;
      FOR_EACH_OF(S0, S1, S2) {
        const bool is_there = is_in(s, i0 + j0, i1 + j1, i2 + j2) && (S0 == K0 || i0 + j0 < s.in[0]) && (S1 == K1 || i1 + j1 < s.in[1]) && (S2 == K2 || i2 + j2 < s.in[2]);
        if (is_there) {
          const long long at = plane + place_of(s, i0 + j0, i1 + j1, i2 + j2);
          const SUM own = TO_SUM(x[at]);
          const Word is_equal = (Word)0 - (Word)(((own == best) | ((own != own) & (best != best))) & (j0 < K0) & (j1 < K1) & (j2 < K2));
          ((Word*)z)[at] = value & is_equal & is_left;
          is_left &= ~is_equal;
        }
      }
    }
  }
}
)";

// Each element of x asks the windows that have it, in order. M0..: most of them along an axis.
constexpr const char* kGatherText = R"(
extern "C" __global__ void pool(const T* __restrict__ x, const T* __restrict__ y, T* __restrict__ z, Sizes s) {
  const long long in_size = s.in[0] * s.in[1] * s.in[2], out_size = s.out[0] * s.out[1] * s.out[2];
  FOR_EACH_ROW(row, s.batch * s.groups * s.in[0] * s.in[1]) {
    const long long i1 = row % s.in[1], i0 = row / s.in[1] % s.in[0], plane = row / (s.in[1] * s.in[0]);
    FOR_EACH_IN_ROW(i2, s.in[2]) {
      SUM sum = 0;
      for (int m0 = M0 - 1; m0 >= 0; --m0)
        for (int m1 = M1 - 1; m1 >= 0; --m1)
          for (int m2 = M2 - 1; m2 >= 0; --m2) {
            const long long p0 = (i0 + P0) / S0 - m0, p1 = (i1 + P1) / S1 - m1, p2 = (i2 + P2) / S2 - m2;
            const long long j0 = i0 + P0 - p0 * S0, j1 = i1 + P1 - p1 * S1, j2 = i2 + P2 - p2 * S2;
            if (p0 >= 0 && p0 < s.out[0] && j0 < K0 && p1 >= 0 && p1 < s.out[1] && j1 < K1 && p2 >= 0 && p2 < s.out[2] && j2 < K2) {
              const SUM value = TO_SUM(y[plane * out_size + (p0 * s.out[1] + p1) * s.out[2] + p2]);
#if ROLE_IS_MEAN
              sum += value / count_of(s, p0, p1, p2);
#else
              SUM best;
              if (greatest(x + plane * in_size, s, i0 - j0, i1 - j1, i2 - j2, best) == (j0 * K1 + j1) * K2 + j2) sum += value;
#endif
            }
          }
      z[row * s.in[2] + i2] = TO_T(sum);
    }
  }
}
)";

/// Of the gradient of a maximum: windows that do not overlap write their own part of x.
bool writes_apart(const Pooling& pooling) {
  const Convolution& c = pooling.windows;
  return pooling.role == PoolingRole::kMaxGradient && c.kernel[0] <= c.stride[0] && c.kernel[1] <= c.stride[1] && c.kernel[2] <= c.stride[2];
}

class KernelPooling final : public PreparedPooling {
 public:
  KernelPooling(Backend& backend, const Pooling& pooling) : backend_(backend), sizes_(pooling.windows), itemsize_(itemsize(pooling.windows.dtype)) {
    const Convolution& c = pooling.windows;
    const bool is_apart = writes_apart(pooling), is_gradient = pooling.role == PoolingRole::kMaxGradient || pooling.role == PoolingRole::kMeanGradient;
    bool leaves_some = false;
    for (std::size_t i = 0; i < 3; ++i) leaves_some |= c.out[i] * c.stride[i] - c.padding[i] < c.in[i];
    if (is_apart && leaves_some) cleared_ = static_cast<std::size_t>(c.input_size());
    CompileRequest request;
    request.source = pooling_text(pooling, is_host(backend));
    request.kind = SourceKind::kCudaC;
    request.file_name = "pooling.cu";
    request.kernels = {"pool"};
    module_ = backend.cache().get(request);
    kernel_ = module_->kernel("pool");
    const Extents3& extents = is_gradient && !is_apart ? c.in : c.out;
    config_ = rows_launch_of(is_host(backend), c.batch * c.groups * extents[0] * extents[1], extents[2]);
    check_launch(*kernel_, config_);
  }

  void run(const void* first, const void* second, void* out, void* stream) const override {
    const std::uint64_t zero = 0;
    if (cleared_ > 0) backend_.fill(out, &zero, itemsize_, cleared_, stream);
    Sizes sizes = sizes_;
    void* arguments[] = {&first, &second, &out, &sizes};
    backend_.launch(*kernel_, config_, arguments, stream);
    backend_.note_work(stream);
    ++backend_.launches;
  }

 private:
  Backend& backend_;
  Sizes sizes_;
  std::size_t itemsize_, cleared_ = 0;  // elements of the result that are set to 0 before
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

std::string pooling_text(const Pooling& pooling, bool is_host) {
  const Convolution& c = pooling.windows;
  std::string text = element_text(c.dtype);
  const auto define = [&](const std::string& name, std::int64_t value) { text += "#define " + name + " " + std::to_string(value) + "\n"; };
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string axis = std::to_string(i);
    define("K" + axis, c.kernel[i]);
    define("S" + axis, c.stride[i]);
    define("P" + axis, c.padding[i]);
    define("M" + axis, (c.kernel[i] + c.stride[i] - 1) / c.stride[i]);
  }
  define("IS_HOST", is_host ? 1 : 0);
  define("PAIRS", is_host && !is_half(c.dtype) && c.kernel[2] == 2 && c.stride[2] == 2 && c.padding[2] == 0 ? 1 : 0);
  define("PAIR_DOUBLES", c.dtype == float64 ? 1 : 0);
  define("COUNTS_PADDING", pooling.counts_padding ? 1 : 0);
  define("ROLE_IS_MAX", pooling.role == PoolingRole::kMax ? 1 : 0);
  define("ROLE_IS_AT", pooling.role == PoolingRole::kMaxAt ? 1 : 0);
  define("ROLE_IS_MEAN", pooling.role == PoolingRole::kMeanGradient ? 1 : 0);
  const bool is_gradient = pooling.role == PoolingRole::kMaxGradient || pooling.role == PoolingRole::kMeanGradient;
  return text + kRowsText + kSizesText + kCommonText + kPairsText + (writes_apart(pooling) ? kApartText : is_gradient ? kGatherText : kOutText);
}

std::shared_ptr<const PreparedPooling> prepare_pooling(Backend& backend, const Pooling& pooling) { return backend.companion<PoolingLibrary>()->prepare(pooling); }

}  // namespace damo
