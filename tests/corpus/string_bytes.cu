// Upper case and a count of letters over text.
//: array uint8 text[600] = text(The quick brown fox jumps over the lazy dog. )
//: array int32 letters[26]
//: launch upper<<<3, 256>>>(text, 600)
//: launch count_letters<<<2, 64>>>(text, letters, 600)
//: check text
//: check letters
__device__ bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
__global__ void upper(char* s, int n) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n && is_lower(s[i])) s[i] += 'A' - 'a';
}
__global__ void count_letters(const char* s, int* letters, int n) {
  __shared__ int mine[26];
  if (threadIdx.x < 26) mine[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x) {
    char c = s[i];
    if (c < 'A' || c > 'Z') continue;
    atomicAdd(mine + (c - 'A'), 1);
  }
  __syncthreads();
  if (threadIdx.x < 26) atomicAdd(letters + threadIdx.x, mine[threadIdx.x]);
}
