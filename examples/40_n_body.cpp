// Bodies that attract each other, all against all: a block loads 128 bodies into shared memory, every thread adds their
// pull on its own body, and so on to the last; one launch a step. Checked against float64 on the host, and by momentum
// and energy, which the laws of motion keep.
#include <algorithm>
#include <array>
#include <cmath>
#include <damo/cuda_c.hpp>
#include <iostream>
#include <random>
#include <vector>
using namespace damo;

using Float4 = std::array<float, 4>;  // CUDA C's float4: x, y, z and the mass
constexpr int n = 512;
constexpr double softening = 0.01;

constexpr const char* source = R"(
  __global__ void pull(const float4* bodies, float4* accelerations, int n, float softening) {
    __shared__ float4 tile[128];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 own = i < n ? bodies[i] : make_float4(0, 0, 0, 0);
    float x = 0, y = 0, z = 0;
    for (int first = 0; first < n; first += 128) {
      const int j = first + threadIdx.x;
      tile[threadIdx.x] = j < n ? bodies[j] : make_float4(0, 0, 0, 0);
      __syncthreads();
      for (int k = 0; k < 128; ++k) {
        const float4 other = tile[k];
        const float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
        const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening), scale = other.w * inverse * inverse * inverse;
        x += scale * dx, y += scale * dy, z += scale * dz;
      }
      __syncthreads();
    }
    if (i < n) accelerations[i] = make_float4(x, y, z, 0);
  }

  __global__ void kick_and_drift(float4* bodies, float4* velocities, const float4* accelerations, float dt, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 v = velocities[i], a = accelerations[i];
    v.x += dt * a.x, v.y += dt * a.y, v.z += dt * a.z;
    velocities[i] = v;
    bodies[i].x += dt * v.x, bodies[i].y += dt * v.y, bodies[i].z += dt * v.z;
  })";

double squared(const Float4& a, const Float4& b) {
  double sum = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) sum += std::pow(static_cast<double>(a[axis]) - b[axis], 2);
  return sum;
}

double energy(const std::vector<Float4>& bodies, const std::vector<Float4>& velocities) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    sum += 0.5 * bodies[i][3] * squared(velocities[i], {});
    for (std::size_t j = 0; j < i; ++j)
      sum -= bodies[i][3] * bodies[j][3] / std::sqrt(squared(bodies[i], bodies[j]) + softening);
  }
  return sum;
}

int main() {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<Float4> bodies(n), velocities(n, Float4{}), accelerations(n);
  for (Float4& body : bodies) body = {normal(random), normal(random), normal(random), 1.0f / n};
  const double energy_before = energy(bodies, velocities);

  const Device device;
  const Module module(device, source);
  const auto pull = module.kernel("pull").prepare<DeviceMemory, DeviceMemory, int, float>();
  const auto move = module.kernel("kick_and_drift").prepare<DeviceMemory, DeviceMemory, DeviceMemory, float, int>();
  const DeviceMemory x = DeviceMemory::from(device, bodies), v = DeviceMemory::from(device, velocities);
  const DeviceMemory a = DeviceMemory::of<Float4>(device, n);
  const LaunchConfig config{.grid = {(n + 127) / 128}, .block = {128}};
  pull(config, x, a, n, static_cast<float>(softening));
  a.copy_to_host(accelerations);
  double worst = 0;
  for (std::size_t i = 0; i < n; ++i) {
    std::array<double, 3> exact{};
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t axis = 0; axis < 3; ++axis)
        exact[axis] += bodies[j][3] * (bodies[j][axis] - static_cast<double>(bodies[i][axis])) /
                       std::pow(squared(bodies[i], bodies[j]) + softening, 1.5);
    for (std::size_t axis = 0; axis < 3; ++axis)
      worst = std::max(worst, std::abs(exact[axis] - accelerations[i][axis]));
  }

  for (int step = 0; step < 20; ++step) {
    move(config, x, v, a, 0.005f, n);
    pull(config, x, a, n, static_cast<float>(softening));
  }
  bodies = x.to_vector<Float4>();
  velocities = v.to_vector<Float4>();
  double momentum = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(bodies[i][3]) * velocities[i][axis];
    momentum = std::max(momentum, std::abs(sum));
  }
  const double drift = std::abs(energy(bodies, velocities) / energy_before - 1);
  std::cout << n << " bodies: accelerations within " << worst << " of float64; after 20 steps momentum " << momentum
            << ", energy changed by " << 100 * drift << " %\n";
  const bool right = worst < 1e-4 && momentum < 1e-5 && drift < 0.01;
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
