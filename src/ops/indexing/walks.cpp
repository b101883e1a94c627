#include "ops/indexing/walks.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "ops/indexing/take_kernels.hpp"
#include "runtime/array/array_layout.hpp"
#include "runtime/backend.hpp"

namespace damo {
namespace {

// x is (outer, extent, inner), positions (count), z (outer, count, inner). Words are elements, whatever they mean.
constexpr const char* kGather = R"(
template <int bytes>
__global__ void gather(const void* x, const long long* positions, void* z, long long rows, long long count, long long extent, long long inner, int wide) {
  typedef typename word<bytes>::type Word;
  const long long step = (long long)gridDim.x * blockDim.y;
  for (long long row = (long long)blockIdx.x * blockDim.y + threadIdx.y; row < rows; row += step) {
    const long long outer = rows == count ? 0 : row / count;
    const Word* from = (const Word*)x + (outer * extent + positions[row - outer * count]) * inner;
    Word* to = (Word*)z + row * inner;
    if (inner == 1) {
      *to = *from;
    } else if (wide) {
      for (long long k = threadIdx.x; k < inner * bytes / 16; k += blockDim.x) ((uint4*)to)[k] = ((const uint4*)from)[k];
    } else {
      for (long long k = threadIdx.x; k < inner; k += blockDim.x) to[k] = from[k];
    }
  }
}
)";

// Some axes of an array: where their i-th element in C order lies.
const std::string kSomeAxes = R"(
struct SomeAxes {
  long long rank, extents[16], strides[16];
};
__device__ long long place(const SomeAxes& axes, long long i) {
  long long offset = 0;
  for (long long axis = axes.rank - 1; axis > 0; --axis) {
    const long long rest = i / axes.extents[axis];
    offset += (i - rest * axes.extents[axis]) * axes.strides[axis];
    i = rest;
  }
  return axes.rank > 0 ? offset + i * axes.strides[0] : 0;
}
)";

constexpr const char* kGatherStrided = R"(
template <int bytes>
__global__ void gather_strided(const void* x, const long long* positions, void* z, long long rows, long long count, long long length, SomeAxes outer, SomeAxes walked, SomeAxes inner) {
  typedef typename word<bytes>::type Word;
  const long long step = (long long)gridDim.x * blockDim.y;
  for (long long row = (long long)blockIdx.x * blockDim.y + threadIdx.y; row < rows; row += step) {
    const long long before = rows == count ? 0 : row / count;
    const Word* from = (const Word*)x + place(outer, before) + place(walked, positions[row - before * count]);
    for (long long k = threadIdx.x; k < length; k += blockDim.x) ((Word*)z)[row * length + k] = from[place(inner, k)];
  }
}
)";

// z is (outer, extent, inner), y's axes (outer, count, inner). What has a key below 0 goes nowhere. The thread of the last of equal keys sets, that of the first adds them all up, four at a time: a
// key, its place and its element are read one after another, and a thread that read one element at a time would wait for memory three times for each. Blocks share
// the columns of a row, so that a long sum is one thread's for one column.
constexpr const char* kScatter = R"(
template <class T, class Sum, bool adds>
__global__ void scatter(const void* from, const long long* keys, const long long* order, void* to_there, long long rows, long long count, long long extent, long long inner, SomeAxes of_y) {
  const T* y = (const T*)from;
  T* z = (T*)to_there;
  const long long step = (long long)gridDim.x * blockDim.y;
  for (long long row = (long long)blockIdx.x * blockDim.y + threadIdx.y; row < rows; row += step) {
    const long long outer = rows == count ? 0 : row / count, i = row - outer * count, key = keys[i];
    if (key < 0 || (adds ? i > 0 && keys[i - 1] == key : i + 1 < count && keys[i + 1] == key)) continue;
    for (long long k = (long long)blockIdx.y * blockDim.x + threadIdx.x; k < inner; k += (long long)gridDim.y * blockDim.x) {
      T* to = z + (outer * extent + key) * inner + k;
      if (!adds) {
        *to = y[place(of_y, (outer * count + (order ? order[i] : i)) * inner + k)];
      } else {
        Sum sum = (Sum)*to;
        int equals = 4;
        for (long long j = i; equals == 4; j += 4) {
          long long next_keys[4], at[4];
          T terms[4];
#pragma unroll
          for (int m = 0; m < 4; ++m) {
            const long long next = j + m < count ? j + m : count - 1;
            next_keys[m] = keys[next];
            at[m] = order ? order[next] : next;
          }
          equals = 0;
#pragma unroll
          for (int m = 0; m < 4; ++m) equals += equals == m && j + m < count && next_keys[m] == key;
#pragma unroll
          for (int m = 0; m < 4; ++m) {
            if (m < equals) terms[m] = y[place(of_y, (outer * count + at[m]) * inner + k)];
          }
#pragma unroll
          for (int m = 0; m < 4; ++m) {
            if (m < equals) sum += (Sum)terms[m];
          }
        }
        *to = (T)sum;
      }
    }
  }
}
)";

// The same of positions in any order: each block goes through all of them and writes those of its own range of positions and of columns, so that what
// is written at one place comes in their order.
constexpr const char* kScatterInOrder = R"(
template <class T, bool adds, bool from_zero>
__global__ void scatter_in_order(const void* from, const long long* positions, void* to_there, long long outers, long long count, long long extent, long long inner, SomeAxes of_y) {
  const T* y = (const T*)from;
  const long long least = extent * blockIdx.x / gridDim.x, bound = extent * (blockIdx.x + 1) / gridDim.x;
  const long long left = inner * blockIdx.y / gridDim.y, right = inner * (blockIdx.y + 1) / gridDim.y;
  for (long long outer = blockIdx.z; outer < outers; outer += gridDim.z) {
    T* rows = (T*)to_there + outer * extent * inner;
    if (from_zero) {
      for (long long row = least; row < bound; ++row) {
        for (long long k = left; k < right; ++k) rows[row * inner + k] = 0;
      }
    }
    for (long long i = 0; i < count; ++i) {
      const long long position = positions[i], first = (outer * count + i) * inner;
      if (position < least || position >= bound) continue;
      T* to = rows + position * inner;
      for (long long k = left; k < right; ++k) {
        const T value = y[of_y.rank == 0 ? 0 : of_y.rank == 1 ? (first + k) * of_y.strides[0] : place(of_y, first + k)];
        if (adds) to[k] += value;
        else to[k] = value;
      }
    }
  }
}
)";

struct SomeAxes {
  std::int64_t rank = 0;
  std::array<std::int64_t, kMaxRank> extents{}, strides{};
};
static_assert(kMaxRank == 16, "kSomeAxes says 16");

/// Of the axes [first, end), as few as lie like them.
SomeAxes some_axes(const Array& x, int first, int end) {
  SomeAxes axes;
  for (int axis = first; axis < end; ++axis) {
    const std::int64_t extent = x.shape()[axis], stride = x.strides()[axis];
    if (extent == 1) continue;
    const auto last = static_cast<std::size_t>(axes.rank - 1);
    if (axes.rank > 0 && axes.strides[last] == extent * stride) {
      axes.extents[last] *= extent;
      axes.strides[last] = stride;
    } else {
      axes.extents[last + 1] = extent;
      axes.strides[last + 1] = stride;
      ++axes.rank;
    }
  }
  return axes;
}

std::string bits_type(DType dtype) {
  static constexpr const char* words[] = {"unsigned char", "unsigned short", "", "unsigned int"};
  return itemsize(dtype) == 8 ? "unsigned long long" : words[itemsize(dtype) - 1];
}

/// Of dtypes that are added up in themselves; integers wrap as unsigned ones.
std::string in_order_name(DType dtype, ScatterKind kind, bool from_zero) {
  const bool adds = kind == ScatterKind::kAdd;
  const std::string type = adds && dtype == float64 ? "double" : adds && dtype == float32 ? "float" : bits_type(dtype);
  return "scatter_in_order<" + type + (adds ? ", true" : ", false") + (from_zero ? ", true>" : ", false>");
}

/// A block for each worker: slices of axes before, else columns, so long as they fill lines of the cache, else ranges of positions.
LaunchConfig in_order_launch(Device device, std::int64_t outers, std::int64_t count, std::int64_t extent, std::int64_t inner) {
  constexpr std::int64_t kWorthAWorker = 1 << 14, kColumns = 32;
  const std::int64_t workers = std::clamp<std::int64_t>(outers * (count + extent) * inner / kWorthAWorker, 1, std::max(device.backend().limits().multiprocessors, 1));
  const std::int64_t along_outer = std::min(outers, workers), along_inner = std::clamp<std::int64_t>(inner / kColumns, 1, workers / along_outer);
  return {.grid = {std::clamp<std::int64_t>(workers / along_outer / along_inner, 1, extent), along_inner, along_outer}};
}

/// Integers wrap as unsigned ones.
std::string scatter_name(DType dtype, ScatterKind kind) {
  const bool adds = kind == ScatterKind::kAdd;
  std::string type = bits_type(dtype), sum = type;
  if (adds && is_floating(dtype)) {
    sum = dtype == float64 ? "double" : "float";
    type = dtype == float16 ? "__half" : dtype == bfloat16 ? "__nv_bfloat16" : sum;
  }
  return "scatter<" + type + ", " + sum + (adds ? ", true>" : ", false>");
}

}  // namespace

Shape taken_shape(const Shape& x, const Shape& positions, int axis, int axes) {
  Shape to;
  for (int i = 0; i < axis; ++i) to.push_back(x[i]);
  for (std::int64_t extent : positions) to.push_back(extent);
  for (int i = axis + axes; i < x.rank(); ++i) to.push_back(x[i]);
  return to;
}

std::int64_t walked_extent(const Shape& x, int axis, int axes) {
  std::int64_t extent = 1;
  for (int i = axis; i < axis + axes; ++i) extent = x[i] == kUnknown || extent == kUnknown ? kUnknown : extent * x[i];
  return extent;
}

void require_fits_part(const std::string& user, const Shape& part, const Shape& y, const Shape& type) {
  bool fits = y.rank() <= part.rank();
  for (int axis = 1; fits && axis <= y.rank(); ++axis) fits = y[-axis] == part[-axis] || type[-axis] == 1 || y[-axis] == kUnknown || part[-axis] == kUnknown;
  if (!fits) throw ShapeError(user + ": y of shape " + to_string(y) + " does not fit to the part of x, whose shape is " + to_string(part), "broadcast or reshape it");
}

Gather::Gather(const CompileKernel& compile, DType dtype, bool strided)
    : strided_(strided), kernel_(strided ? compile(kWords + kSomeAxes + kGatherStrided, "gather_strided<" + std::to_string(itemsize(dtype)) + ">")
                                         : compile(kWords + kGather, "gather<" + std::to_string(itemsize(dtype)) + ">")) {}

void Gather::operator()(const Array& x, const Array& positions, const Array& z, int axis, int axes) const {
  if (z.size() == 0) return;
  const Shape& shape = x.shape();
  const std::int64_t inner = inner_size(shape, axis + axes - 1), rows = z.size() / inner;
  if (strided_) {
    kernel_(rows_launch(rows, inner), KernelArgument::address_of(x), positions, z, rows, positions.size(), inner, some_axes(x, 0, axis), some_axes(x, axis, axis + axes),
            some_axes(x, axis + axes, x.rank()));
    return;
  }
  const auto bytes = static_cast<std::int64_t>(itemsize(x.dtype()));
  const auto is_wide = [](const Array& array) { return reinterpret_cast<std::uintptr_t>(array.data()) % 16 == 0; };
  const bool wide = inner * bytes % 16 == 0 && is_wide(x) && is_wide(z);
  kernel_(rows_launch(rows, wide ? inner * bytes / 16 : inner), x, positions, z, rows, positions.size(), walked_extent(shape, axis, axes), inner, wide ? 1 : 0);
}

bool scatters_in_order(Device device, DType dtype) { return is_host(device.backend()) && !is_half(dtype); }

OrderedScatter::OrderedScatter(const CompileKernel& compile, DType dtype, ScatterKind kind, bool from_zero)
    : kernel_(compile(kSomeAxes + kScatterInOrder, in_order_name(dtype, kind, from_zero))), from_zero_(from_zero) {}

void OrderedScatter::operator()(const Array& y, const Array& positions, const Array& z, int axis, int axes) const {
  if (z.size() == 0 || (y.size() == 0 && !from_zero_)) return;
  const std::int64_t inner = inner_size(z.shape(), axis + axes - 1), extent = walked_extent(z.shape(), axis, axes), outers = z.size() / (extent * inner), count = positions.size();
  kernel_(in_order_launch(z.device(), outers, count, extent, inner), KernelArgument::address_of(y), positions, KernelArgument::address_of(z), outers, count, extent, inner, some_axes(y, 0, y.rank()));
}

Scatter::Scatter(const CompileKernel& compile, DType dtype, ScatterKind kind)
    : kernel_(compile((dtype == float16 ? "#include <cuda_fp16.h>\n" : dtype == bfloat16 ? "#include <cuda_bf16.h>\n"
                                                                                         : "") +
                          kSomeAxes + kScatter,
                      scatter_name(dtype, kind))) {}

void Scatter::operator()(const Array& y, const Array& keys, const Array& order, const Array& z, int axis, int axes) const {
  if (y.size() == 0) return;
  const std::int64_t inner = inner_size(z.shape(), axis + axes - 1), count = keys.size();
  const KernelArgument from = order ? KernelArgument(order) : KernelArgument(nullptr);
  LaunchConfig launch = rows_launch(y.size() / inner, inner);
  launch.grid[1] = std::min<std::int64_t>((inner + launch.block[0] - 1) / launch.block[0], 65535);
  kernel_(launch, KernelArgument::address_of(y), keys, from, KernelArgument::address_of(z), y.size() / inner, count, walked_extent(z.shape(), axis, axes), inner,
          some_axes(y, 0, y.rank()));
}

}  // namespace damo
