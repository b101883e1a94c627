//: array uint8 composite[2000]
//: launch sieve<<<1, 43>>>(composite, 2000)
//: check composite
extern "C" __global__ void sieve(unsigned char* composite, int n) {
  const int p = threadIdx.x + 2;
  for (int d = 2; d * d <= p; ++d) if (p % d == 0) return;
  for (int m = p * p; m < n; m += p) composite[m] = 1;
}
