// The CUDA C of tiled_convolution.hpp for groups of too few filters to fill a block with them (depthwise convolution, a picture's one filter): a block of the
// result is of places alone, vectors lie along the last axis. Defined in front of it: what tiled_text.hpp says and its common text; IS_DENSE, whether
// the last axis has stride 1; LINE, vectors of a block along it; ROWS, lines of a block, or of a weight's gradient elements of the window.
#pragma once

namespace damo {

/// Lines of pictures and of results, so many elements at a time as a vector has.
inline constexpr const char* kNarrowCommonText = R"(
#if IS_DENSE
#define STRIDE 1
#else
#define STRIDE s.stride[2]
#endif

// Elements a stride apart. Those behind a line's end are read too; there is room behind the last one.
static __device__ inline Vector every(const SUM* from, const Sizes& s) {
#if IS_DENSE
  return *(const Anywhere*)from;
#else
  Vector values;
  _Pragma("unroll") for (int l = 0; l < LANES; ++l) values[l] = from[l * STRIDE];
  return values;
#endif
}

// Lines of a picture's channels from `first` on, as many as t.padded says, with zeros around.
static __device__ inline void copy_lines(const T* from, SUM* to, long long first, long long channels, const Sizes& s, const Tiles& t) {
  for (long long c = 0; c < channels; ++c)
    for (long long l0 = 0; l0 < t.padded[0]; ++l0)
      for (long long l1 = 0; l1 < t.padded[1]; ++l1) {
        const long long i0 = l0 - s.padding[0], i1 = first + l1 - s.padding[1];
        SUM* line = to + ((c * t.padded[0] + l0) * t.padded[1] + l1) * t.padded[2];
        if (i0 < 0 || i0 >= s.in[0] || i1 < 0 || i1 >= s.in[1]) {
          for (long long l2 = 0; l2 < t.padded[2]; ++l2) line[l2] = 0;
          continue;
        }
        const T* values = from + ((c * s.in[0] + i0) * s.in[1] + i1) * s.in[2];
        PLAIN_LOOP for (long long l2 = 0; l2 < s.padding[2]; ++l2) line[l2] = 0;
        for (long long i2 = 0; i2 < s.in[2]; ++i2) line[s.padding[2] + i2] = TO_SUM(values[i2]);
        PLAIN_LOOP for (long long l2 = s.padding[2] + s.in[2]; l2 < t.padded[2]; ++l2) line[l2] = 0;
      }
}

extern "C" __global__ void prepare(const T* x, const T* w, const T* y, Sizes s, Tiles t) { fill_tables(s, t, 0, 0); }
)";

inline constexpr const char* kNarrowForwardText = R"(
extern "C" __global__ void convolve(const T* x, const T* w, T* y, Sizes s, Tiles t) {
  const long long depth = s.channels * window_of(s), places = places_of(s), in_size = s.in[0] * s.in[1] * s.in[2], step = s.stride[1] * t.padded[2];
  SUM* picture = t.memory + blockIdx.x * t.scratch;
  for (long long unit = blockIdx.x; unit < s.batch * s.groups * t.chunks; unit += gridDim.x) {
    const long long number = unit / t.chunks, begin = unit % t.chunks * t.chunk, end = begin + t.chunk < s.out[1] ? begin + t.chunk : s.out[1];
    copy_lines(x + number * s.channels * in_size, picture, begin * s.stride[1], s.channels, s, t);
    for (long long o = 0; o < s.outputs; ++o) {
      const T* weights = w + (number % s.groups * s.outputs + o) * depth;
      for (long long p0 = 0; p0 < s.out[0]; ++p0)
        for (long long p1 = begin; p1 < end; p1 += ROWS)
          for (long long p2 = 0; p2 < s.out[2]; p2 += LINE * LANES) {
            const SUM* lines[ROWS];
            Vector sums[ROWS][LINE];
            _Pragma("unroll") for (int r = 0; r < ROWS; ++r) {
              const long long row = p1 + r < end ? p1 + r : end - 1;
              lines[r] = picture + p0 * s.stride[0] * t.padded[1] * t.padded[2] + (row - begin) * step + p2 * STRIDE;
              _Pragma("unroll") for (int v = 0; v < LINE; ++v) sums[r][v] = Vector{};
            }
            _Pragma("unroll 1") for (long long k = 0; k < depth; ++k) {
              const SUM weight = TO_SUM(weights[k]);
              const long long tap = t.taps[k];
              _Pragma("unroll") for (int r = 0; r < ROWS; ++r)
                _Pragma("unroll") for (int v = 0; v < LINE; ++v) sums[r][v] += weight * every(lines[r] + tap + v * LANES * STRIDE, s);
            }
            _Pragma("unroll") for (int r = 0; r < ROWS; ++r) {
              if (p1 + r >= end) break;
              T* to = y + (number * s.outputs + o) * places + (p0 * s.out[1] + p1 + r) * s.out[2] + p2;
              _Pragma("unroll") for (int v = 0; v < LINE; ++v) store(to + v * LANES, sums[r][v], (int)(s.out[2] - p2) - v * LANES);
            }
          }
    }
  }
}
)";

inline constexpr const char* kNarrowInputText = R"(
extern "C" __global__ void convolve(T* x, const T* w, const T* y, Sizes s, Tiles t) {
  const long long window = window_of(s), places = places_of(s), in_size = s.in[0] * s.in[1] * s.in[2], size = t.padded[0] * t.padded[1] * t.padded[2];
  SUM *picture = t.memory + blockIdx.x * t.scratch, *row = picture + t.panel;
  for (long long unit = blockIdx.x; unit < s.batch * s.groups * t.chunks; unit += gridDim.x) {
    const long long number = unit / t.chunks, first = unit % t.chunks * t.chunk, channels = s.channels - first < t.chunk ? s.channels - first : t.chunk;
    if (channels <= 0) continue;
    for (long long i = 0; i < channels * size; ++i) picture[i] = 0;
    for (long long o = 0; o < s.outputs; ++o) {
      const T* weights = w + ((number % s.groups * s.outputs + o) * s.channels + first) * window;
      for (long long p0 = 0; p0 < s.out[0]; ++p0)
        for (long long p1 = 0; p1 < s.out[1]; ++p1) {
          const T* values = y + (number * s.outputs + o) * places + (p0 * s.out[1] + p1) * s.out[2];
          for (long long p2 = 0; p2 < s.out[2]; ++p2) row[p2] = TO_SUM(values[p2]);
          SUM* corner = picture + (p0 * s.stride[0] * t.padded[1] + p1 * s.stride[1]) * t.padded[2];
          // Another line each time: what was just written is not read again at once.
          for (long long j2 = 0; j2 < s.kernel[2]; ++j2)
            for (long long k = j2; k < channels * window; k += s.kernel[2]) {
              const SUM weight = TO_SUM(weights[k]);
              SUM* line = corner + t.taps[k];
              long long p2 = 0;
#if IS_DENSE
              for (; p2 + LANES <= s.out[2]; p2 += LANES) *(Anywhere*)(line + p2) += weight * *(const Anywhere*)(row + p2);
#endif
              PLAIN_LOOP for (; p2 < s.out[2]; ++p2) line[p2 * STRIDE] += weight * row[p2];
            }
        }
    }
    for (long long c = 0; c < channels; ++c)
      for (long long i0 = 0; i0 < s.in[0]; ++i0)
        for (long long i1 = 0; i1 < s.in[1]; ++i1) {
          const SUM* padded = picture + c * size + ((i0 + s.padding[0]) * t.padded[1] + i1 + s.padding[1]) * t.padded[2] + s.padding[2];
          T* to = x + (number * s.channels + first + c) * in_size + (i0 * s.in[1] + i1) * s.in[2];
          for (long long i2 = 0; i2 < s.in[2]; ++i2) to[i2] = TO_T(padded[i2]);
        }
  }
}
)";

inline constexpr const char* kNarrowWeightText = R"(
// packed: (parts, groups, filters, channels window, LANES)
extern "C" __global__ void convolve(const T* x, T* w, const T* y, Sizes s, Tiles t) {
  const long long depth = s.channels * window_of(s), places = places_of(s), in_size = s.in[0] * s.in[1] * s.in[2];
  const long long vectors = (s.out[2] + LANES - 1) / LANES, line_size = vectors * LANES;
  SUM *picture = t.memory + blockIdx.x * t.scratch, *panel = picture + t.panel;
  Vector lane;
  _Pragma("unroll") for (int l = 0; l < LANES; ++l) lane[l] = (SUM)l;
  const Vector left = Vector{} + (SUM)(s.out[2] - (vectors - 1) * LANES);
  for (long long unit = blockIdx.x; unit < t.parts * s.groups * t.chunks; unit += gridDim.x) {
    const long long begin = unit % t.chunks * t.chunk, end = begin + t.chunk < depth ? begin + t.chunk : depth;
    const long long group = unit / t.chunks % s.groups, part = unit / (t.chunks * s.groups);
    const long long from = part * s.batch / t.parts, to = (part + 1) * s.batch / t.parts;
    SUM* total = t.packed + unit / t.chunks * s.outputs * depth * LANES;
    for (long long n = from; n < to; ++n) {
      copy_lines(x + (n * s.groups + group) * s.channels * in_size, picture, 0, s.channels, s, t);
      for (long long o = 0; o < s.outputs; ++o) {
        const T* values = y + ((n * s.groups + group) * s.outputs + o) * places;
        for (long long row = 0; row < s.out[0] * s.out[1]; ++row) {
          for (long long p2 = 0; p2 < s.out[2]; ++p2) panel[row * line_size + p2] = TO_SUM(values[row * s.out[2] + p2]);
          PLAIN_LOOP for (long long p2 = s.out[2]; p2 < line_size; ++p2) panel[row * line_size + p2] = 0;
        }
        for (long long k = begin; k < end; k += ROWS) {
          long long taps[ROWS];
          Vector sums[ROWS];
          _Pragma("unroll") for (int r = 0; r < ROWS; ++r) {
            taps[r] = t.taps[k + r < end ? k + r : end - 1];
            sums[r] = Vector{};
          }
          const SUM* row = panel;
          for (long long p0 = 0; p0 < s.out[0]; ++p0)
            for (long long p1 = 0; p1 < s.out[1]; ++p1) {
              const SUM* line = picture + (p0 * s.stride[0] * t.padded[1] + p1 * s.stride[1]) * t.padded[2];
              _Pragma("unroll 1") for (long long v = 1; v < vectors; ++v) {
                const Vector of_row = *(const Anywhere*)row;
                _Pragma("unroll") for (int r = 0; r < ROWS; ++r) sums[r] += every(line + taps[r], s) * of_row;
                row += LANES;
                line += LANES * STRIDE;
              }
              // What lies behind the line's end may be no number.
              const Vector of_row = *(const Anywhere*)row;
              _Pragma("unroll") for (int r = 0; r < ROWS; ++r) sums[r] += (lane < left ? every(line + taps[r], s) : Vector{}) * of_row;
              row += LANES;
            }
          _Pragma("unroll") for (int r = 0; r < ROWS; ++r) {
            if (k + r >= end) break;
            Anywhere* at = (Anywhere*)(total + (o * depth + k + r) * LANES);
            if (n == from) *at = sums[r];
            else *at = *at + sums[r];
          }
        }
      }
    }
  }
}

extern "C" __global__ void finish(const T* x, T* w, const T* y, Sizes s, Tiles t) {
  const long long depth = s.channels * window_of(s), elements = s.groups * s.outputs * depth;
  for (long long element = blockIdx.x; element < elements; element += gridDim.x) {
    SUM sum = 0;
    PLAIN_LOOP for (long long part = 0; part < t.parts; ++part)
      PLAIN_LOOP for (int l = 0; l < LANES; ++l) sum += t.packed[(part * elements + element) * LANES + l];
    w[element] = TO_T(sum);
  }
}
)";

}  // namespace damo
