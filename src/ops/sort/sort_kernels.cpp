#include "ops/sort/sort_kernels.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "ops/sort/sort_key.hpp"
#include "runtime/memory/workspace.hpp"

namespace damo {
namespace {

constexpr std::int64_t kBlockRow = 2048;  // elements of a row that a block sorts: WIDTH of its shared memory

// Places break ties, so that equals stay in order; what fills up the width has places behind all others.
constexpr const char* kRows = R"(
#define WIDTH 2048
template <class Word, bool is_floating>
__global__ void sort_rows(const void* x, unsigned long long infinity, unsigned long long flip, long long rows, int count, int width, void* sorted, long long* order) {
  __shared__ Word key[WIDTH];
  __shared__ int at[WIDTH];
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    const Word* const own = (const Word*)x + row * count;
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
      key[i] = i < count ? order_of<Word, is_floating>(own[i], Word(infinity), Word(flip)) : Word(~Word(0));
      at[i] = i;
    }
    __syncthreads();
    for (int run = 2; run <= width; run *= 2) {
      for (int distance = run / 2; distance > 0; distance /= 2) {
        for (int pair = threadIdx.x; pair < width / 2; pair += blockDim.x) {
          const int i = 2 * pair - (pair & (distance - 1)), j = i + distance;
          const bool is_behind = key[i] > key[j] || (key[i] == key[j] && at[i] > at[j]);
          if (is_behind == ((i & run) == 0)) {
            const Word k = key[i];
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
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
      if (sorted) ((Word*)sorted)[row * count + i] = own[at[i]];
      if (order) order[row * count + i] = at[i];
    }
    __syncthreads();
  }
}
)";

}  // namespace

RowSort::RowSort(Device device, const CompileKernel& compile, DType dtype, bool has_order) : device_(device), dtype_(dtype), has_order_(has_order), host_(HostSort::of(device)) {
  if (host_) return;
  rows_ = compile(std::string(kOrderOf) + kRows, of_words("sort_rows", dtype) + ">");
  radix_.emplace(compile, dtype, has_order);
}

void RowSort::first(const Array& x, std::int64_t rows, std::int64_t count, std::int64_t wanted, bool descending, const Array& order) const {
  if (rows * wanted == 0) return;
  if (host_ && HostSort::selects(count, wanted)) {
    require_sortable(count);
    return host_->select(x, sort_key(dtype_, descending), rows, count, wanted, order);
  }
  const Array all = Array::empty({rows, count}, int64, x.device());
  (*this)(x, rows, count, descending, {}, all);
  order.reshape({rows, wanted}).copy_from(all.slice({{}, {0, wanted}}));
}

void RowSort::operator()(const Array& x, std::int64_t rows, std::int64_t count, bool descending, const Array& sorted, const Array& order) const {
  if (rows * count == 0) return;
  require_sortable(count);
  const SortKey key = sort_key(dtype_, descending);
  if (host_) return has_order_ ? host_->order(x, key, rows, count, sorted, order) : host_->sort(x, key, rows, count, sorted);
  if (count > kBlockRow) return (*radix_)(x, key, rows, count, 8 * key.bytes, sorted, order);
  const auto width = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(count)));
  const auto or_nothing = [](const Array& array) { return array ? KernelArgument(array) : KernelArgument(nullptr); };
  rows_({.grid = {std::min<std::int64_t>(rows, 65535)}, .block = {std::clamp<std::int64_t>(width / 2, 32, 256)}}, x, key.infinity, key.flip, rows, static_cast<int>(count), static_cast<int>(width), or_nothing(sorted),
        or_nothing(order));
}

std::size_t RowSort::workspace_bytes(std::int64_t rows, std::int64_t count) const {
  if (rows * count == 0) return 0;
  if (host_) return has_order_ ? HostSort::order_bytes(device_, rows, count) : HostSort::sort_bytes(device_, dtype_, rows, count);
  return count > kBlockRow ? radix_->workspace_bytes(rows, count, 8 * static_cast<int>(itemsize(dtype_))) : 0;
}

std::size_t RowSort::first_bytes(std::int64_t rows, std::int64_t count, std::int64_t wanted) const {
  if (rows * wanted == 0) return 0;
  if (host_ && HostSort::selects(count, wanted)) return HostSort::select_bytes(device_, rows, count, wanted);
  WorkspaceNeed need;
  need.take(static_cast<std::size_t>(rows * count) * itemsize(int64));
  need.pass(workspace_bytes(rows, count));
  return need.bytes();
}

}  // namespace damo
