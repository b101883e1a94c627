// Bitonic sort of 32 keys in registers, exchanged by shuffles; keys and their values packed in 64 bits.
//: array int32 keys[256] = integers(-500, 500)
//: array int64 packed[256] = integers(0, 1000000000000)
//: launch sort_keys<<<2, 128>>>(keys)
//: launch sort_packed<<<4, 64>>>(packed)
//: check keys
//: check packed
template <class T>
__device__ T exchange(T mine, int distance, bool ascending) {
  const T other = __shfl_xor_sync(0xffffffffu, mine, distance);
  const bool is_lower = (threadIdx.x & distance) == 0;
  return (mine < other) == (is_lower == ascending) ? mine : other;
}
template <class T>
__device__ T sort_warp(T v) {
  for (int size = 2; size <= 32; size *= 2) {
    for (int distance = size / 2; distance > 0; distance /= 2) v = exchange(v, distance, (threadIdx.x & 31 & size) == 0);
  }
  return v;
}
__global__ void sort_keys(int *keys) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  keys[i] = sort_warp(keys[i]);
}
__global__ void sort_packed(long long *packed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  packed[i] = sort_warp(packed[i]);
}
