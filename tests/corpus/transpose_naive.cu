//: array float32 in[1750] = iota
//: array float32 out[1750]
//: launch transpose<<<(4, 3), (16, 16)>>>(out, in, 50, 35)
//: check out
__global__ void transpose(float *odata, const float *idata, int width, int height) {
  unsigned int xIndex = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned int yIndex = blockIdx.y * blockDim.y + threadIdx.y;
  if (xIndex < width && yIndex < height)
    odata[xIndex * height + yIndex] = idata[yIndex * width + xIndex];
}
