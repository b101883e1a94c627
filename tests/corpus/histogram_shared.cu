//: array uint8 data[4000] = integers(0, 256)
//: array uint32 bins[256]
//: launch histo_kernel<<<4, 256>>>(data, 4000l, bins)
//: check bins
__global__ void histo_kernel( unsigned char *buffer, long size, unsigned int *histo ) {
    __shared__  unsigned int temp[256];
    temp[threadIdx.x] = 0;
    __syncthreads();
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    int offset = blockDim.x * gridDim.x;
    while (i < size) {
        atomicAdd( &temp[buffer[i]], 1 );
        i += offset;
    }
    __syncthreads();
    atomicAdd( &(histo[threadIdx.x]), temp[threadIdx.x] );
}
