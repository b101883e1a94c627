// What a mistake looks like: each is one exception, before anything ran, that says what was wrong and what to do.
#include <damo/cuda_c.hpp>
#include <iostream>
#include <string>
#include <vector>
using namespace damo;

/// Prints the error; whether it is an Expected that says so.
template <class Expected, class Work>
bool refuses(const std::string& says, Work work) {
  try {
    work();
    std::cout << "NOT REFUSED: " << says << "\n";
  } catch (const Expected& error) {
    std::cout << error.what() << "\n\n";
    return std::string(error.what()).find(says) != std::string::npos;
  } catch (const std::exception& error) {
    std::cout << "ANOTHER ERROR: " << error.what() << "\n";
  }
  return false;
}

int main() {
  const Device device;
  const Module module(device, R"(
    __global__ void scale(float* x, float factor, int n) {
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) x[i] *= factor;
    })");
  const Kernel scale = module.kernel("scale");
  const Array x = Array::ones({4, 4}, float32, device);
  const LaunchConfig config{.block = {16}};

  bool right = refuses<CompileError>("nosuch", [&] {
    Module(device, R"(
      __global__ void broken(float* x) {
        x[threadIdx.x] = nosuch;
      })");
  });
  right &= refuses<DeviceError>("scale", [&] { module.kernel("sclae"); });   // names those there are
  right &= refuses<TypeError>("3", [&] { scale(config, x, 2.0f); });         // one argument is missing
  right &= refuses<TypeError>("float", [&] { scale(config, x, 2.0, 16); });  // 2.0 is a double
  right &= refuses<TypeError>("float64", [&] { scale(config, Array::ones({16}, float64, device), 2.0f, 16); });
  right &= refuses<DeviceError>("threads", [&] { scale({.block = {4096}}, x, 2.0f, 16); });
  right &= refuses<DeviceError>("shared",
                                [&] { scale({.block = {16}, .shared_bytes = std::size_t{1} << 30}, x, 2.0f, 16); });
  right &= refuses<DeviceError>("grid", [&] { scale({.grid = {0}, .block = {16}}, x, 2.0f, 16); });

  scale(config, x, 2.0f, 16);  // none of these did harm
  right &= x.to_vector<float>() == std::vector<float>(16, 2.0f);
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
