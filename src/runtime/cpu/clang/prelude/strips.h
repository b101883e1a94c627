// What generated loops move whole cache lines with: streaming stores, and the turning of a tile in registers. For
// kernels that Damo generates; CUDA C does not see it. Measured in docs/performance.md.
#pragma once

namespace damo {

// Elements that a loop computes before it stores them past the caches, and the edge of a tile.
inline constexpr int kStrip = 64;

// to is aligned to 64 bytes, as is from. A store past the caches spares reading the line that it replaces. The kernel
// ends with stream_fence(): such stores may be seen late by another core.
template <class T>
static inline __attribute__((always_inline)) void stream_strip(T* to, const T* from) {
  typedef char Line __attribute__((vector_size(64), may_alias));
  for (int i = 0; i < int(sizeof(T)) * kStrip / 64; ++i) __builtin_nontemporal_store(((const Line*)from)[i], (Line*)to + i);
}
static inline __attribute__((always_inline)) void stream_fence() { __builtin_ia32_sfence(); }

// Asks for what a loop will read in a while: memory that need not be there.
template <class T>
static inline __attribute__((always_inline)) void prefetch_strip(const T* from) {
  for (int i = 0; i < int(sizeof(T)) * kStrip / 64; ++i) __builtin_prefetch((const char*)from + 64 * i, 0, 2);
}

namespace tiles {

// A square of so many elements is turned at once: a vector of 64 bytes for 4 and 8 bytes an element.
template <class T>
inline constexpr int kSquare = sizeof(T) == 8 ? 8 : 16;

// Half of the lanes of each, from i on, in turns.
template <class V, int lanes, int i>
static inline __attribute__((always_inline)) V halves(V a, V b) {
  if constexpr (lanes == 4) return __builtin_shufflevector(a, b, i, i + 4, i + 1, i + 5);
  else if constexpr (lanes == 8) return __builtin_shufflevector(a, b, i, i + 8, i + 1, i + 9, i + 2, i + 10, i + 3, i + 11);
  else return __builtin_shufflevector(a, b, i, i + 16, i + 1, i + 17, i + 2, i + 18, i + 3, i + 19, i + 4, i + 20, i + 5, i + 21, i + 6, i + 22, i + 7, i + 23);
}

// Rows i and i + n/2 shuffled into one another, log2(n) times: the transpose of an n by n square.
template <int n, class T>
static inline __attribute__((always_inline)) void turn_square(T* to, i64 to_stride, const T* from, i64 stride) {
  typedef __type_pack_element<__builtin_ctz(sizeof(T)), u8, u16, u32, u64> W;
  typedef W V __attribute__((vector_size(n * sizeof(W)), aligned(sizeof(W)), may_alias));
  V a[n], b[n];
#pragma clang loop unroll(full)
  for (int i = 0; i < n; ++i) a[i] = *(const V*)(from + i * stride);
#pragma clang loop unroll(full)
  for (int step = n; step > 1; step /= 2) {
#pragma clang loop unroll(full)
    for (int i = 0; i < n / 2; ++i) {
      b[2 * i] = halves<V, n, 0>(a[i], a[i + n / 2]);
      b[2 * i + 1] = halves<V, n, n / 2>(a[i], a[i + n / 2]);
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < n; ++i) a[i] = b[i];
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < n; ++i) *(V*)(to + i * to_stride) = a[i];
}

// As turn_rows, in squares: the last ones of a line overlap those before. rows and columns are at least n.
template <int n, class T>
static inline __attribute__((always_inline)) void turn_in_squares(T* to, i64 to_stride, const T* from, i64 stride, i64 rows, i64 columns) {
  for (i64 j = 0;; j = j + 2 * n <= columns ? j + n : columns - n) {
    for (i64 t = 0;; t = t + 2 * n <= rows ? t + n : rows - n) {
      turn_square<n>(to + t * to_stride + j, to_stride, from + j * stride + t, stride);
      if (t + n == rows) break;
    }
    if (j + n == columns) break;
  }
}

}  // namespace tiles

// to[t * to_stride + j] = from[j * stride + t] for t < rows, j < columns, of few rows or few columns. They do not overlap.
template <class T>
static inline __attribute__((always_inline)) void turn_rows(T* to, i64 to_stride, const T* from, i64 stride, i64 rows, i64 columns) {
  if (rows >= 8 && columns >= 8) return tiles::turn_in_squares<8>(to, to_stride, from, stride, rows, columns);
  if (rows >= 4 && columns >= 4) return tiles::turn_in_squares<4>(to, to_stride, from, stride, rows, columns);
  for (i64 t = 0; t < rows; ++t) {
    for (i64 j = 0; j < columns; ++j) to[t * to_stride + j] = from[j * stride + t];
  }
}

// tile[t * kStrip + j] = from[j * stride + t] for t < rows, j < columns, both at most kStrip.
template <class T>
static inline __attribute__((always_inline)) void turn_tile(T* tile, const T* from, i64 stride, i64 rows, i64 columns) {
  constexpr i64 n = tiles::kSquare<T>;
  for (i64 j = 0; j < columns; j += n) {
    for (i64 t = 0; t < rows; t += n) {
      T* to = tile + t * kStrip + j;
      const T* at = from + j * stride + t;
      if (j + n <= columns && t + n <= rows) {
        tiles::turn_square<n>(to, kStrip, at, stride);
        continue;
      }
      for (i64 u = 0; u < n && t + u < rows; ++u) {
        for (i64 v = 0; v < n && j + v < columns; ++v) to[u * kStrip + v] = at[v * stride + u];
      }
    }
  }
}

}  // namespace damo
