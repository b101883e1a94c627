//: array int32 a[256] = integers(1, 100000)
//: array int32 b[256] = integers(1, 100000)
//: array int32 g[256]
//: launch gcd_kernel<<<1, 256>>>(a, b, g)
//: check g
__device__ int gcd(int a, int b)
{
    while (b != 0)
    {
        int t = a % b;
        a = b;
        b = t;
    }
    return a;
}
__global__ void gcd_kernel(const int *a, const int *b, int *g) { const int i = threadIdx.x; g[i] = gcd(a[i], b[i]); }
