// The CUDA C of tiled_convolution.hpp. Defined in front of it: what element_text and kSizesText define; IS_HALF; VECTOR_BYTES;
// ROWS, of a block.
#pragma once

namespace damo {

/// Tables of places, weights in the order in which they are read, pictures with their borders.
inline constexpr const char* kTiledCommonText = R"cuda(
#define LANES (VECTOR_BYTES / (int)sizeof(SUM))
typedef SUM Vector __attribute__((vector_size(VECTOR_BYTES)));
typedef SUM Anywhere __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(SUM)), may_alias));

// Of loops that are short, or run once: their vectors would take longer to compile than they ever save.
#define PLAIN_LOOP _Pragma("clang loop vectorize(disable) unroll(disable)")

struct Tiles {
  long long padded[3];  // extents of a picture with its borders
  long long copies;  // whether it is copied for them, or for its dtype
  long long chunks, chunk;  // a picture's places, or channels, or windows, are gone through in so many parts of so many
  long long parts;  // of the batch
  long long scratch, panel;  // elements of a block's scratch; where its panel begins
  int *taps, *places, *steps;  // of a window's elements, and of windows, in a padded picture; of the rows of what is read
  SUM *packed, *memory;
};

static __device__ inline long long window_of(const Sizes& s) { return s.kernel[0] * s.kernel[1] * s.kernel[2]; }
static __device__ inline long long places_of(const Sizes& s) { return s.out[0] * s.out[1] * s.out[2]; }

// steps: of panels, `count` rows of so many elements.
static __device__ inline void fill_tables(const Sizes& s, const Tiles& t, long long count, long long step) {
  int at = 0;
  for (long long c = 0; c < s.channels; ++c)
    for (long long j0 = 0; j0 < s.kernel[0]; ++j0)
      for (long long j1 = 0; j1 < s.kernel[1]; ++j1)
        PLAIN_LOOP for (long long j2 = 0; j2 < s.kernel[2]; ++j2)
          t.taps[at++] = (int)(((c * t.padded[0] + j0 * s.dilation[0]) * t.padded[1] + j1 * s.dilation[1]) * t.padded[2] + j2 * s.dilation[2]);
  at = 0;
  for (long long p0 = 0; p0 < s.out[0]; ++p0)
    for (long long p1 = 0; p1 < s.out[1]; ++p1)
      PLAIN_LOOP for (long long p2 = 0; p2 < s.out[2]; ++p2)
        t.places[at++] = (int)((p0 * s.stride[0] * t.padded[1] + p1 * s.stride[1]) * t.padded[2] + p2 * s.stride[2]);
  PLAIN_LOOP for (long long i = 0; i < count; ++i) t.steps[i] = (int)(i * step);
}

// Channels of a picture as SUM, with zeros around.
static __device__ inline const SUM* padded_picture(const T* from, SUM* to, long long channels, const Sizes& s, const Tiles& t) {
  if (!t.copies) return (const SUM*)from;
  const long long size = t.padded[0] * t.padded[1] * t.padded[2];
  for (long long i = 0; i < channels * size; ++i) to[i] = 0;
  for (long long c = 0; c < channels; ++c)
    for (long long i0 = 0; i0 < s.in[0]; ++i0)
      for (long long i1 = 0; i1 < s.in[1]; ++i1) {
        const T* line = from + ((c * s.in[0] + i0) * s.in[1] + i1) * s.in[2];
        SUM* padded = to + c * size + ((i0 + s.padding[0]) * t.padded[1] + i1 + s.padding[1]) * t.padded[2] + s.padding[2];
        for (long long i2 = 0; i2 < s.in[2]; ++i2) padded[i2] = TO_SUM(line[i2]);
      }
  return to;
}

static __device__ inline __attribute__((always_inline)) void store(T* to, Vector values, int count) {
#if !IS_HALF
  if (count >= LANES) {
    *(Anywhere*)to = values;
    return;
  }
#endif
  PLAIN_LOOP for (int l = 0; l < LANES && l < count; ++l) to[l] = TO_T(values[l]);
}

// Places grow from one to the next: equal ends mean neighbours.
static __device__ inline bool are_neighbours(const int* places) { return places[LANES - 1] - places[0] == LANES - 1; }

// sums[r][v] = the sum over i of a[i][r] b_v[steps[i]]
static __device__ inline __attribute__((always_inline)) void multiply(const SUM* a, const SUM* b0, const SUM* b1, const int* steps, long long count, Vector (&sums)[ROWS][2]) {
  _Pragma("unroll") for (int r = 0; r < ROWS; ++r) sums[r][0] = sums[r][1] = Vector{};
  for (long long i = 0; i < count; ++i) {
    const Vector first = *(const Anywhere*)(b0 + steps[i]), second = *(const Anywhere*)(b1 + steps[i]);
    _Pragma("unroll") for (int r = 0; r < ROWS; ++r) {
      sums[r][0] += a[r] * first;
      sums[r][1] += a[r] * second;
    }
    a += ROWS;
  }
}
)cuda";

inline constexpr const char* kTiledForwardText = R"(
// packed: (groups, blocks, channels window, ROWS)
extern "C" __global__ void prepare(const T* x, const T* w, T* y, Sizes s, Tiles t) {
  const long long depth = s.channels * window_of(s), blocks = (s.outputs + ROWS - 1) / ROWS;
  if (blockIdx.x == 0) fill_tables(s, t, depth, 2 * LANES);
  for (long long b = blockIdx.x; b < s.groups * blocks; b += gridDim.x) {
    const long long group = b / blocks, first = b % blocks * ROWS;
    for (int r = 0; r < ROWS; ++r)
      PLAIN_LOOP for (long long k = 0; k < depth; ++k) t.packed[(b * depth + k) * ROWS + r] = first + r < s.outputs ? TO_SUM(w[(group * s.outputs + first + r) * depth + k]) : 0;
  }
}

extern "C" __global__ void convolve(const T* x, const T* w, T* y, Sizes s, Tiles t) {
  const long long depth = s.channels * window_of(s), blocks = (s.outputs + ROWS - 1) / ROWS, places = places_of(s);
  SUM *scratch = t.memory + blockIdx.x * t.scratch, *panel = scratch + t.panel;
  for (long long unit = blockIdx.x; unit < s.batch * s.groups * t.chunks; unit += gridDim.x) {
    const long long picture_number = unit / t.chunks, begin = unit % t.chunks * t.chunk, end = begin + t.chunk < places ? begin + t.chunk : places;
    const SUM* picture = padded_picture(x + picture_number * s.channels * s.in[0] * s.in[1] * s.in[2], scratch, s.channels, s, t);
    const SUM* weights = t.packed + picture_number % s.groups * blocks * depth * ROWS;
    for (long long p = begin; p < end; p += 2 * LANES) {
      const int *at = t.places + p, *steps = t.taps;
      const SUM *b0 = panel, *b1 = panel + LANES;
      const int count = end - p < 2 * LANES ? (int)(end - p) : 2 * LANES;
      if (count == 2 * LANES && are_neighbours(at) && are_neighbours(at + LANES)) {
        b0 = picture + at[0];
        b1 = picture + at[LANES];
      } else {
        for (long long k = 0; k < depth; ++k) {
          const SUM* tap = picture + t.taps[k];
          PLAIN_LOOP for (int l = 0; l < 2 * LANES; ++l) panel[k * 2 * LANES + l] = l < count ? tap[at[l]] : 0;
        }
        steps = t.steps;
      }
      for (long long b = 0; b < blocks; ++b) {
        Vector sums[ROWS][2];
        multiply(weights + b * depth * ROWS, b0, b1, steps, depth, sums);
        _Pragma("unroll") for (int r = 0; r < ROWS; ++r) {
          if (b * ROWS + r >= s.outputs) break;
          T* to = y + (picture_number * s.outputs + b * ROWS + r) * places + p;
          store(to, sums[r][0], count);
          if (count > LANES) store(to + LANES, sums[r][1], count - LANES);
        }
      }
    }
  }
}
)";

inline constexpr const char* kTiledInputText = R"(
// packed: (groups, chunks, blocks, outputs, ROWS)
extern "C" __global__ void prepare(const T* x, const T* w, T* y, Sizes s, Tiles t) {
  const long long window = window_of(s), depth = s.channels * window, rows = t.chunk * window, blocks = (rows + ROWS - 1) / ROWS;
  if (blockIdx.x == 0) fill_tables(s, t, s.outputs, 2 * LANES);
  for (long long b = blockIdx.x; b < s.groups * t.chunks * blocks; b += gridDim.x) {
    const long long group = b / (t.chunks * blocks), first = b % blocks * ROWS, begin = b / blocks % t.chunks * rows + first;
    for (long long o = 0; o < s.outputs; ++o)
      PLAIN_LOOP for (int r = 0; r < ROWS; ++r)
        t.packed[(b * s.outputs + o) * ROWS + r] = first + r < rows && begin + r < depth ? TO_SUM(w[(group * s.outputs + o) * depth + begin + r]) : 0;
  }
}

extern "C" __global__ void convolve(T* x, const T* w, const T* y, Sizes s, Tiles t) {
  const long long window = window_of(s), blocks = (t.chunk * window + ROWS - 1) / ROWS, places = places_of(s), in_size = s.in[0] * s.in[1] * s.in[2];
  const long long size = t.padded[0] * t.padded[1] * t.padded[2];
  SUM *scratch = t.memory + blockIdx.x * t.scratch, *panel = scratch + t.panel;
  for (long long unit = blockIdx.x; unit < s.batch * s.groups * t.chunks; unit += gridDim.x) {
    const long long picture_number = unit / t.chunks, chunk = unit % t.chunks, first_channel = chunk * t.chunk;
    const long long channels = s.channels - first_channel < t.chunk ? s.channels - first_channel : t.chunk;
    if (channels <= 0) continue;
    T* to = x + (picture_number * s.channels + first_channel) * in_size;
    const T* from = y + picture_number * s.outputs * places;
    const SUM* weights = t.packed + (picture_number % s.groups * t.chunks + chunk) * blocks * s.outputs * ROWS;
    SUM* picture = t.copies ? scratch : (SUM*)to;
    for (long long i = 0; i < channels * size; ++i) picture[i] = 0;
    for (long long p = 0; p < places; p += 2 * LANES) {
      const int* at = t.places + p;
      const int count = places - p < 2 * LANES ? (int)(places - p) : 2 * LANES;
      for (long long o = 0; o < s.outputs; ++o)
        PLAIN_LOOP for (int l = 0; l < 2 * LANES; ++l) panel[o * 2 * LANES + l] = l < count ? TO_SUM(from[o * places + p + l]) : 0;
      for (long long b = 0; b < blocks; ++b) {
        Vector sums[ROWS][2];
        multiply(weights + b * s.outputs * ROWS, panel, panel + LANES, t.steps, s.outputs, sums);
        _Pragma("unroll") for (int r = 0; r < ROWS; ++r) {
          const long long row = b * ROWS + r;
          if (row >= channels * window) break;
          SUM* tap = picture + t.taps[row];
          _Pragma("unroll") for (int v = 0; v < 2; ++v) {
            const int* lanes = at + v * LANES;
            if (count >= (v + 1) * LANES && are_neighbours(lanes)) {
              Anywhere* line = (Anywhere*)(tap + lanes[0]);
              *line = *line + sums[r][v];
            } else {
              PLAIN_LOOP for (int l = 0; l < LANES && v * LANES + l < count; ++l) tap[lanes[l]] += sums[r][v][l];
            }
          }
        }
      }
    }
    if (!t.copies) continue;
    for (long long c = 0; c < channels; ++c)
      for (long long i0 = 0; i0 < s.in[0]; ++i0)
        for (long long i1 = 0; i1 < s.in[1]; ++i1) {
          const SUM* padded = scratch + c * size + ((i0 + s.padding[0]) * t.padded[1] + i1 + s.padding[1]) * t.padded[2] + s.padding[2];
          for (long long i2 = 0; i2 < s.in[2]; ++i2) to[((c * s.in[0] + i0) * s.in[1] + i1) * s.in[2] + i2] = TO_T(padded[i2]);
        }
  }
}
)";

inline constexpr const char* kTiledWeightText = R"(
extern "C" __global__ void prepare(const T* x, T* w, const T* y, Sizes s, Tiles t) { fill_tables(s, t, 0, 0); }

// packed: (parts, groups, blocks of LANES filters, channels window, LANES)
extern "C" __global__ void convolve(const T* x, T* w, const T* y, Sizes s, Tiles t) {
  const long long depth = s.channels * window_of(s), blocks = (s.outputs + LANES - 1) / LANES, places = places_of(s);
  SUM *scratch = t.memory + blockIdx.x * t.scratch, *panel = scratch + t.panel;
  for (long long unit = blockIdx.x; unit < t.parts * s.groups * blocks * t.chunks; unit += gridDim.x) {
    const long long chunk = unit % t.chunks, part_group_block = unit / t.chunks, first = part_group_block % blocks * LANES;
    const long long group = part_group_block / blocks % s.groups, part = part_group_block / (blocks * s.groups);
    const long long begin = chunk * t.chunk, end = begin + t.chunk < depth ? begin + t.chunk : depth;
    const long long from = part * s.batch / t.parts, to = (part + 1) * s.batch / t.parts;
    const int lanes = s.outputs - first < LANES ? (int)(s.outputs - first) : LANES;
    SUM* total = t.packed + part_group_block * depth * LANES;
    for (long long n = from; n < to; ++n) {
      const SUM* picture = padded_picture(x + (n * s.groups + group) * s.channels * s.in[0] * s.in[1] * s.in[2], scratch, s.channels, s, t);
      for (int l = 0; l < LANES; ++l) {
        const T* line = y + ((n * s.groups + group) * s.outputs + first + l) * places;
        if (l < lanes) PLAIN_LOOP for (long long p = 0; p < places; ++p) panel[p * LANES + l] = TO_SUM(line[p]);
        else PLAIN_LOOP for (long long p = 0; p < places; ++p) panel[p * LANES + l] = 0;
      }
      for (long long k = begin; k < end; k += ROWS) {
        const SUM* taps[ROWS];
        Vector sums[ROWS];
        _Pragma("unroll") for (int r = 0; r < ROWS; ++r) {
          taps[r] = picture + t.taps[k + r < end ? k + r : end - 1];
          sums[r] = Vector{};
        }
        // One more round at a time would hold more than there are registers.
        _Pragma("unroll 1") for (long long p = 0; p < places; ++p) {
          const Vector filters = *(const Anywhere*)(panel + p * LANES);
          const long long at = t.places[p];
          _Pragma("unroll") for (int r = 0; r < ROWS; ++r) sums[r] += taps[r][at] * filters;
        }
        _Pragma("unroll") for (int r = 0; r < ROWS; ++r) {
          if (k + r >= end) break;
          Anywhere* at = (Anywhere*)(total + (k + r) * LANES);
          if (n == from) *at = sums[r];
          else *at = *at + sums[r];
        }
      }
    }
  }
}

extern "C" __global__ void finish(const T* x, T* w, const T* y, Sizes s, Tiles t) {
  const long long depth = s.channels * window_of(s), blocks = (s.outputs + LANES - 1) / LANES, size = s.groups * blocks * depth * LANES;
  for (long long filter = blockIdx.x; filter < s.groups * s.outputs; filter += gridDim.x) {
    const long long o = filter % s.outputs;
    const SUM* from = t.packed + (filter / s.outputs * blocks + o / LANES) * depth * LANES + o % LANES;
    PLAIN_LOOP for (long long k = 0; k < depth; ++k) {
      SUM sum = 0;
      PLAIN_LOOP for (long long part = 0; part < t.parts; ++part) sum += from[part * size + k * LANES];
      w[filter * depth + k] = TO_T(sum);
    }
  }
}
)";

}  // namespace damo
