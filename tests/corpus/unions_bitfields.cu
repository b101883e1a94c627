//: array uint32 in[128] = integers(0, 4294967295)
//: array int32 out[128]
//: launch unpack<<<1, 128>>>(in, out)
//: check out
union Word { unsigned u; unsigned char b[4]; struct { unsigned low : 5, middle : 6, high : 21; } f; };
enum class Mode : unsigned char { kSum, kFields };
constexpr Mode mode_of(int i) { return i % 2 ? Mode::kSum : Mode::kFields; }
__global__ void unpack(const unsigned* in, int* out) {
  Word w;
  w.u = in[threadIdx.x];
  switch (mode_of(threadIdx.x)) {
    case Mode::kSum: out[threadIdx.x] = w.b[0] + w.b[1] + w.b[2] + w.b[3]; break;
    case Mode::kFields: out[threadIdx.x] = w.f.low * 64 + w.f.middle; break;
  }
}
