// CUDA C from C++, the first program: 4 x 4 random numbers are doubled in place by 16 threads, in four shapes: copies
// by hand, a host array that goes there and back, a prepared call, arithmetic on an array. The kernel is compiled when
// the Module is made, for the GPU or for the CPU.
#include <damo/array_math.hpp>
#include <damo/cuda_c.hpp>
#include <iostream>
#include <random>
#include <vector>
using namespace damo;

bool is_doubled(const std::vector<float>& result, const std::vector<float>& a) {
  bool right = result.size() == a.size();
  for (std::size_t i = 0; right && i < a.size(); ++i) right = result[i] == 2 * a[i];  // doubling is exact
  return right;
}

int main() {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  std::vector<float> a(16);
  for (float& value : a) value = static_cast<float>(normal(random));  // made as doubles; the device gets floats

  const Device device;  // the first GPU, else the CPU; DAMO_DEVICE=cpu or cuda chooses
  const Module module(device, R"(
    __global__ void doublify(float* a) {
      int i = threadIdx.x + threadIdx.y * 4;
      a[i] *= 2;
    })");
  const Kernel doublify = module.kernel("doublify");

  // 1. Memory and copies by hand.
  const DeviceMemory memory = DeviceMemory::of<float>(device, a.size());
  memory.copy_from_host(a);
  doublify({.block = {4, 4}}, memory);
  std::vector<float> copied(a.size());
  memory.copy_to_host(copied);

  // 2. InOut copies a vector, span or array there before the launch and back after it.
  std::vector<float> in_place = a;
  doublify({.block = {4, 4}}, InOut(in_place));

  // 3. Prepared: the types of the arguments are checked once, and never in a call.
  const PreparedKernel<Array> prepared = doublify.prepare<Array>();
  const Array array = Array::from(a, {4, 4}, device);
  prepared({.grid = {1, 1}, .block = {4, 4}}, array);

  // 4. No kernel of ours: the same one is made for 2 * array, once.
  const std::vector<float> by_arithmetic = (2 * Array::from(a, {4, 4}, device)).to_vector<float>();

  std::cout << "a:\n" << Array::from(a, {4, 4}, device) << "\ndoubled on " << device.name() << ":\n" << array << "\n";
  const bool right = is_doubled(copied, a) && is_doubled(in_place, a) && is_doubled(array.to_vector<float>(), a) &&
                     is_doubled(by_arithmetic, a);
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
