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

// Shape and launch may be rules of our own: each thread sums 256 elements, the last perhaps fewer.
inline const RawKernel chunk_sums{{
    .name = "chunk_sums",
    .inputs = {"const float* x"},
    .outputs = {"float* sums"},
    .scalars = {"int x_size", "int sums_size"},
    .body = R"(
      int chunk = blockIdx.x * blockDim.x + threadIdx.x;
      if (chunk >= sums_size) return;
      float sum = 0.0f;
      for (int i = chunk * 256; i < x_size && i < (chunk + 1) * 256; ++i) sum += x[i];
      sums[chunk] = sum;
    )",
    .shapes = [](std::span<const Shape> in) { return std::vector<Shape>{{(in[0].size() + 255) / 256}}; },
    .launch = [](const KernelShapes& s) { return LaunchConfig{.grid = {(s.outputs[0][0] + 63) / 64}, .block = {64}}; },
}};

int main() {
  const Variable x = matrix("x");
  const Function f = function({x}, {doubler(x), chunk_sums(doubler(x) + 1.0)});
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
