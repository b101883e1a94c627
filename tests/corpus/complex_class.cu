// The Julia set by a class with members and operators.
//: array uint8 out[1024]
//: launch kernel<<<(32, 32), 1>>>(out)
//: check out
#define DIM 32
struct cuComplexNumber {
    float   r;
    float   i;
    __device__ cuComplexNumber( float a, float b ) : r(a), i(b)  {}
    __device__ float magnitude2( void ) {
        return r * r + i * i;
    }
    __device__ cuComplexNumber operator*(const cuComplexNumber& a) {
        return cuComplexNumber(r*a.r - i*a.i, i*a.r + r*a.i);
    }
    __device__ cuComplexNumber operator+(const cuComplexNumber& a) {
        return cuComplexNumber(r+a.r, i+a.i);
    }
};
__device__ int julia( int x, int y ) {
    const float scale = 1.5;
    float jx = scale * (float)(DIM/2 - x)/(DIM/2);
    float jy = scale * (float)(DIM/2 - y)/(DIM/2);
    cuComplexNumber c(-0.8, 0.156);
    cuComplexNumber a(jx, jy);
    int i = 0;
    for (i=0; i<200; i++) {
        a = a * a + c;
        if (a.magnitude2() > 1000)
            return 0;
    }
    return 1;
}
__global__ void kernel( unsigned char *ptr ) {
    int x = blockIdx.x;
    int y = blockIdx.y;
    int offset = x + y * gridDim.x;
    ptr[offset] = 255 * julia( x, y );
}
