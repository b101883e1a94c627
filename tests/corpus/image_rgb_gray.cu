//: array uint8 rgb[2304] = integers(0, 256)
//: array uint8 gray[768]
//: launch colorToGreyscaleConversion<<<(2, 2), (16, 16)>>>(gray, rgb, 32, 24)
//: check gray
#define CHANNELS 3
__global__ void colorToGreyscaleConversion(unsigned char * Pout, unsigned char * Pin, int width, int height) {
  int Col = threadIdx.x + blockIdx.x * blockDim.x;
  int Row = threadIdx.y + blockIdx.y * blockDim.y;
  if (Col < width && Row < height) {
    int greyOffset = Row*width + Col;
    int rgbOffset = greyOffset*CHANNELS;
    unsigned char r = Pin[rgbOffset    ];
    unsigned char g = Pin[rgbOffset + 1];
    unsigned char b = Pin[rgbOffset + 2];
    Pout[greyOffset] = (unsigned char)((r * 77 + g * 151 + b * 28) >> 8);
  }
}
