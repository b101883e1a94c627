#include "ops/sort/sort_kernels.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "ops/indexing/take_kernels.hpp"
#include "runtime/memory/workspace.hpp"

namespace damo {
namespace {

constexpr std::int64_t kBlockRow = 2048;  // elements of a row that a block sorts: KEYS of the kernel's shared memory

// infinity: the bits of a floating dtype's; 0 of others. flip: the bits that make the order of an integer's words its own.
const std::string kOrder = kWords + R"(
__device__ unsigned long long order_of(unsigned long long word, int bits, unsigned long long infinity, unsigned long long flip) {
  const unsigned long long sign = 1ull << (bits - 1), all = sign | (sign - 1);
  if (infinity == 0) return word ^ flip;
  if ((word & ~sign) > infinity) return all;
  if (word == sign) return sign;
  return (word & sign) ? ~word & all : word | sign;
}
)";

const std::string kToWords = kOrder + R"(
template <int bytes, class Key>
__global__ void order_words(const void* x, long long size, unsigned long long infinity, unsigned long long flip, int descending, Key* keys) {
  const unsigned long long all = ~0ull >> (64 - 8 * bytes);
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < size; i += step) {
    const unsigned long long key = order_of(((const typename word<bytes>::type*)x)[i], 8 * bytes, infinity, flip);
    keys[i] = Key(descending ? ~key & all : key);
  }
}
)";

// Places break ties, so that equals stay in order; what fills up the width has places behind all others.
constexpr const char* kRows = R"(
#define KEYS 2048
template <class Key>
__global__ void sort_rows(const Key* keys, long long rows, int count, int width, long long* order) {
  __shared__ Key key[KEYS];
  __shared__ int at[KEYS];
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
      key[i] = i < count ? keys[row * count + i] : ~Key(0);
      at[i] = i;
    }
    __syncthreads();
    for (int run = 2; run <= width; run *= 2) {
      for (int distance = run / 2; distance > 0; distance /= 2) {
        for (int pair = threadIdx.x; pair < width / 2; pair += blockDim.x) {
          const int i = 2 * pair - (pair & (distance - 1)), j = i + distance;
          const bool is_behind = key[i] > key[j] || (key[i] == key[j] && at[i] > at[j]);
          if (is_behind == ((i & run) == 0)) {
            const Key k = key[i];
            const int a = at[i];
            key[i] = key[j];
            at[i] = at[j];
            key[j] = k;
            at[j] = a;
          }
        }
        __syncthreads();
      }
    }
    for (int i = threadIdx.x; i < count; i += blockDim.x) order[row * count + i] = at[i];
    __syncthreads();
  }
}
)";

const std::string kSearch = kOrder + R"(
template <int bytes>
__global__ void search_sorted(const void* sorted, long long count, const void* values, long long size, unsigned long long infinity, unsigned long long flip, int right, long long* places) {
  typedef typename word<bytes>::type Word;
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < size; i += step) {
    const unsigned long long key = order_of(((const Word*)values)[i], 8 * bytes, infinity, flip);
    long long from = 0, to = count;
    while (from < to) {
      const long long middle = from + (to - from) / 2;
      const unsigned long long there = order_of(((const Word*)sorted)[middle], 8 * bytes, infinity, flip);
      if (right ? there <= key : there < key) from = middle + 1;
      else to = middle;
    }
    places[i] = from;
  }
}
)";

std::uint64_t infinity_of(DType dtype) {
  if (dtype == float16) return 0x7c00;
  if (dtype == bfloat16) return 0x7f80;
  return dtype == float32 ? 0x7f800000 : dtype == float64 ? 0x7ff0000000000000u : 0;
}
std::uint64_t flip_of(DType dtype) { return is_signed(dtype) && !is_floating(dtype) ? std::uint64_t{1} << (8 * itemsize(dtype) - 1) : 0; }
DType key_dtype(DType dtype) { return itemsize(dtype) == 8 ? uint64 : uint32; }
const char* key_type(DType dtype) { return itemsize(dtype) == 8 ? "unsigned long long" : "unsigned"; }
std::string of_size(const char* name, DType dtype) { return std::string(name) + "<" + std::to_string(itemsize(dtype)) + ">"; }

}  // namespace

Argsort::Argsort(Device device, const CompileKernel& compile, DType dtype) : device_(device), dtype_(dtype), host_(HostSort::of(device)) {
  if (host_) return;
  words_ = compile(kToWords, "order_words<" + std::to_string(itemsize(dtype)) + ", " + key_type(dtype) + ">");
  rows_ = compile(kRows, std::string("sort_rows<") + key_type(dtype) + ">");
  radix_.emplace(compile, key_dtype(dtype));
}

SortKey Argsort::key(bool descending) const { return {infinity_of(dtype_), flip_of(dtype_), static_cast<std::int32_t>(itemsize(dtype_)), descending}; }

void Argsort::first(const Array& x, std::int64_t rows, std::int64_t count, std::int64_t wanted, bool descending, const Array& order) const {
  if (rows * wanted == 0) return;
  if (host_ && HostSort::selects(count, wanted)) {
    require_sortable(count);
    return host_->select(x, key(descending), rows, count, wanted, order);
  }
  const Array all = Array::empty({rows, count}, int64, x.device());
  (*this)(x, rows, count, descending, all);
  order.reshape({rows, wanted}).copy_from(all.slice({{}, {0, wanted}}));
}

void Argsort::operator()(const Array& x, std::int64_t rows, std::int64_t count, bool descending, const Array& order) const {
  if (rows * count == 0) return;
  if (host_) {
    require_sortable(count);
    return host_->sort(x, key(descending), rows, count, {}, order);
  }
  const Array keys = Array::empty({rows * count}, key_dtype(dtype_), x.device());
  words_(elements_launch(rows * count), x, rows * count, infinity_of(dtype_), flip_of(dtype_), descending ? 1 : 0, keys);
  if (count > kBlockRow) return (*radix_)(keys, rows, count, 8 * static_cast<int>(itemsize(dtype_)), {}, order);
  const auto width = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(count)));
  rows_({.grid = {std::min<std::int64_t>(rows, 65535)}, .block = {std::clamp<std::int64_t>(width / 2, 32, 256)}}, keys, rows, static_cast<int>(count), static_cast<int>(width), order);
}

std::size_t Argsort::workspace_bytes(std::int64_t rows, std::int64_t count) const {
  if (rows * count == 0) return 0;
  if (host_) return HostSort::sort_bytes(device_, rows, count, false);
  WorkspaceNeed need;
  need.take(static_cast<std::size_t>(rows * count) * itemsize(key_dtype(dtype_)));
  if (count > kBlockRow) need.pass(radix_->workspace_bytes(rows, count, 8 * static_cast<int>(itemsize(dtype_))));
  return need.bytes();
}

std::size_t Argsort::first_bytes(std::int64_t rows, std::int64_t count, std::int64_t wanted) const {
  if (rows * wanted == 0) return 0;
  if (host_ && HostSort::selects(count, wanted)) return HostSort::select_bytes(device_, rows, count, wanted);
  WorkspaceNeed need;
  need.take(static_cast<std::size_t>(rows * count) * itemsize(int64));
  need.pass(workspace_bytes(rows, count));
  return need.bytes();
}

Searchsorted::Searchsorted(const CompileKernel& compile, DType dtype) : dtype_(dtype), kernel_(compile(kSearch, of_size("search_sorted", dtype))) {}

void Searchsorted::operator()(const Array& sorted, const Array& values, bool right, const Array& places) const {
  if (values.size() == 0) return;
  kernel_(elements_launch(values.size()), sorted, sorted.size(), values, values.size(), infinity_of(dtype_), flip_of(dtype_), right ? 1 : 0, places);
}

}  // namespace damo
