// Way 2 of a custom op: a CUDA C kernel and a rule for its launch. The text is compiled for the GPU by NVRTC, or for
// the CPU by Clang, when function() needs it. Inputs and outputs are C declarations: dtypes follow from them, and a
// float64 operand is a TypeError at the line of the call. The scalar called size gets the number of elements at each
// launch.
#include <damo/damo.hpp>
#include <iostream>
using namespace damo;

inline const RawKernel doubler{{
    .name = "doubler",
    .inputs = {"const float* i0"},
    .outputs = {"float* o0"},
    .scalars = {"int size"},
    .body = R"(
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < size) o0[i] = i0[i] * 2;
    )",
    .shapes = same_as_input,
    .launch = one_thread_each(512),
}};

// Blocks of threads that share memory: each block of 256 sums its part. Shape and launch are rules of our own.
inline const RawKernel block_sums{{
    .name = "block_sums",
    .inputs = {"const float* x"},
    .outputs = {"float* sums"},
    .scalars = {"int x_size"},
    .body = R"(
      __shared__ float part[256];
      int i = blockIdx.x * 256 + threadIdx.x;
      part[threadIdx.x] = i < x_size ? x[i] : 0.0f;
      for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
      }
      if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
    )",
    .shapes = [](std::span<const Shape> in) { return std::vector<Shape>{{(in[0].size() + 255) / 256}}; },
    .launch = [](const KernelShapes& s) { return LaunchConfig{.grid = {s.outputs[0][0]}, .block = {256}}; },
}};

int main() {
  const Variable x = matrix("x");
  const Function f = function({x}, {doubler(x), block_sums(doubler(x) + 1.0)});
  bool right = true;
  for (const Shape& shape : {Shape{4, 5}, Shape{20, 30}}) {  // new shapes compile nothing
    const auto [doubled, sums] = f.call<2>(Array::ones(shape));
    for (float value : doubled.to_vector<float>()) right &= value == 2;
    double total = 0;
    for (float value : sums.to_vector<float>()) total += value;
    right &= total == 3.0 * static_cast<double>(shape.size());
    std::cout << to_string(shape) << ": twos, and " << to_string(sums.shape()) << " sums that add to " << total << "\n";
  }
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
