// Memory in bytes and addresses, as CUDA's driver has it: allocate, fill, copy both ways and in part, reach into it,
// give it back by free() or by leaving the scope. Each mistake is an error that says what was wrong.
#include <damo/cuda_c.hpp>
#include <iostream>
#include <numeric>
#include <vector>
using namespace damo;

template <class Work>
bool refuses(const char* what, Work work) {
  try {
    work();
  } catch (const Error& error) {
    std::cout << what << ":\n  " << error.what() << "\n";
    return true;
  }
  return false;
}

int main() {
  const Device device;
  const std::size_t before = device.memory().in_use_bytes;
  bool right = true;
  {
    std::vector<int> numbers(1000), back(1000);
    std::iota(numbers.begin(), numbers.end(), 0);
    DeviceMemory memory(device, 4000);  // bytes
    memory.copy_from_host(numbers);
    memory.copy_to_host(back);
    right &= back == numbers && device.memory().in_use_bytes >= before + 4000;

    const DevicePointer hundredth = memory + 100 * sizeof(int);  // a place in it; shares it
    hundredth.fill(-1, 3);
    memory.copy_to_host(back);
    right &= back[99] == 99 && back[100] == -1 && back[102] == -1 && back[103] == 103;

    const DeviceMemory twin = DeviceMemory::of<int>(device, 1000);
    twin.copy_from(memory, 4000);                       // on the device
    const Array matrix = twin.array(int32, {10, 100});  // the same elements with a dtype and a shape
    right &= matrix.slice({{1, 2}, {0, 4}}).to_vector<int>() == std::vector<int>{-1, -1, -1, 103};

    right &= refuses("a copy past the end", [&] { memory.copy_from_host(std::vector<int>(1001)); });
    right &= refuses("a place past the end", [&] { memory + 4001; });
    memory.free();  // at once, whoever still points there
    right &= refuses("a use after free", [&] { hundredth.fill(0); });
    right &= refuses("a second free", [&] { memory.free(); });
  }  // twin and matrix end here
  std::cout << "held before and after: " << before << " and " << device.memory().in_use_bytes << " bytes\n";
  right &= device.memory().in_use_bytes == before;
  device.free_cache();  // what the pool had kept for the next allocation
  right &= device.memory().cached_bytes == 0;

  right &= refuses("a device that is not there", [] { Device("cuda:99"); });
  right &= refuses("more memory than there is", [&] { DeviceMemory(device, std::size_t{1} << 60); });
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
