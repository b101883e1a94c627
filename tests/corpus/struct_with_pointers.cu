// Structs in memory that hold addresses: two arrays of unlike length, and the pointer to the second alone.
//: array float32 a[8] = uniform(1, 4)
//: array float32 b[5] = uniform(1, 4)
//: array uint64 structs[4]
//: launch make<<<1, 1>>>(structs, a, b)
//: launch double_array<<<2, 32>>>(structs)
//: launch double_array<<<1, 32>>>(structs + 2)
//: check a
//: check b
struct DoubleOperation {
    int datalen, __padding;
    float *ptr;
};
__global__ void make(DoubleOperation* s, float* a, float* b) {
    s[0].datalen = 8; s[0].ptr = a;
    s[1].datalen = 5; s[1].ptr = b;
}
__global__ void double_array(DoubleOperation *a) {
    a = &a[blockIdx.x];
    for (int idx = threadIdx.x; idx < a->datalen; idx += blockDim.x) {
        a->ptr[idx] *= 2;
    }
}
