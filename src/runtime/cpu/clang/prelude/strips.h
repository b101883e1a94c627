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

// Of a word of so many bytes: only its type is asked for.
template <int bytes>
constexpr auto word() {
  if constexpr (bytes == 1) return u8();
  else if constexpr (bytes == 2) return u16();
  else if constexpr (bytes == 4) return u32();
  else return u64();
}

// A square of so many elements is turned at once: a vector of 64 bytes for 4 and 8 bytes an element.
template <class T>
inline constexpr int kSquare = sizeof(T) == 8 ? 8 : 16;

template <class V, int lanes>
static inline __attribute__((always_inline)) V first_halves(V a, V b) {
  if constexpr (lanes == 16) return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  else return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}
template <class V, int lanes>
static inline __attribute__((always_inline)) V second_halves(V a, V b) {
  if constexpr (lanes == 16) return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  else return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}

// Rows i and i + n/2 shuffled into one another, log2(n) times: the transpose of an n by n square.
template <class T>
static inline __attribute__((always_inline)) void turn_square(T* to, const T* from, i64 stride) {
  constexpr int n = kSquare<T>;
  typedef decltype(word<sizeof(T)>()) W;
  typedef W V __attribute__((vector_size(n * sizeof(W)), aligned(sizeof(W)), may_alias));
  V a[n], b[n];
#pragma clang loop unroll(full)
  for (int i = 0; i < n; ++i) a[i] = *(const V*)(from + i * stride);
#pragma clang loop unroll(full)
  for (int step = n; step > 1; step /= 2) {
#pragma clang loop unroll(full)
    for (int i = 0; i < n / 2; ++i) {
      b[2 * i] = first_halves<V, n>(a[i], a[i + n / 2]);
      b[2 * i + 1] = second_halves<V, n>(a[i], a[i + n / 2]);
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < n; ++i) a[i] = b[i];
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < n; ++i) *(V*)(to + i * kStrip) = a[i];
}

}  // namespace tiles

// tile[t * kStrip + j] = from[j * stride + t] for t < rows, j < columns, both at most kStrip.
template <class T>
static inline __attribute__((always_inline)) void turn_tile(T* tile, const T* from, i64 stride, i64 rows, i64 columns) {
  constexpr i64 n = tiles::kSquare<T>;
  for (i64 j = 0; j < columns; j += n) {
    for (i64 t = 0; t < rows; t += n) {
      T* to = tile + t * kStrip + j;
      const T* at = from + j * stride + t;
      if (j + n <= columns && t + n <= rows) {
        tiles::turn_square(to, at, stride);
        continue;
      }
      for (i64 u = 0; u < n && t + u < rows; ++u) {
        for (i64 v = 0; v < n && j + v < columns; ++v) to[u * kStrip + v] = at[v * stride + u];
      }
    }
  }
}

}  // namespace damo
