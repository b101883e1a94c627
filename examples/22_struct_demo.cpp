// Structs on the device that hold a pointer to memory of the device: two arrays of unlike length, each described by a
// struct {length, pointer}. One block works on one array. Passing the address of the second struct works on that alone.
#include <cstddef>
#include <damo/cuda_c.hpp>
#include <iostream>
#include <vector>
using namespace damo;

// The same on both sides: a pointer begins at a multiple of 8, so 4 bytes of padding come before it.
struct DoubleOperation {
  int length, padding;
  float* values;
};
static_assert(offsetof(DoubleOperation, values) == 8 && sizeof(DoubleOperation) == 16);

constexpr const char* source = R"(
  struct DoubleOperation {
    int length, padding;
    float* values;
  };

  __global__ void double_array(DoubleOperation* operations) {
    DoubleOperation* operation = operations + blockIdx.x;
    for (int i = threadIdx.x; i < operation->length; i += blockDim.x) operation->values[i] *= 2;
  })";

int main() {
  const Device device;
  const DeviceMemory first = DeviceMemory::from(device, std::vector<float>{1, 2, 3});
  const DeviceMemory second = DeviceMemory::from(device, std::vector<float>{0, 4});

  // Member by member, at its offset; copying a whole DoubleOperation at once would do as well.
  const DeviceMemory structs(device, 2 * sizeof(DoubleOperation));
  const auto describe = [](const DevicePointer& place, const DeviceMemory& array) {
    const int length = static_cast<int>(array.size() / sizeof(float));
    float* const values = array.as<float>();
    place.copy_from_host(&length, sizeof length);
    (place + offsetof(DoubleOperation, values)).copy_from_host(&values, sizeof values);
  };
  const DevicePointer second_struct = structs + sizeof(DoubleOperation);
  describe(structs, first);
  describe(second_struct, second);

  const Kernel double_array = Module(device, source).kernel("double_array");
  const auto show = [&] { std::cout << Array(first.array(float32, {3})) << " " << second.array(float32, {2}) << "\n"; };
  show();
  double_array({.grid = {2}, .block = {32}}, structs);
  show();
  bool right = first.to_vector<float>() == std::vector<float>{2, 4, 6};
  right &= second.to_vector<float>() == std::vector<float>{0, 8};

  double_array({.grid = {1}, .block = {32}}, second_struct);
  show();
  right &= first.to_vector<float>() == std::vector<float>{2, 4, 6};
  right &= second.to_vector<float>() == std::vector<float>{0, 16};
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
