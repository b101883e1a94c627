// LaunchConfig: how many threads run a kernel, in CUDA's terms: a grid of blocks of threads.
//
//   kernel({.grid = {32}, .block = {256}}, x, y);
//   kernel({.block = {16, 16}, .shared_bytes = 2048, .stream = stream}, x);
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

#include <damo/device.hpp>

namespace damo {

/// Extents along three axes; those left out are 1: {512} is {512, 1, 1}.
struct Dim3 {
  std::int64_t x = 1, y = 1, z = 1;

  constexpr std::int64_t operator[](int axis) const { return axis == 0 ? x : axis == 1 ? y : z; }
  constexpr std::int64_t& operator[](int axis) { return axis == 0 ? x : axis == 1 ? y : z; }
  constexpr std::int64_t count() const { return x * y * z; }
  friend constexpr bool operator==(const Dim3&, const Dim3&) = default;
};

struct LaunchConfig {
  Dim3 grid;                     ///< blocks
  Dim3 block;                    ///< threads of a block
  std::size_t shared_bytes = 0;  ///< dynamic shared memory of a block
  std::optional<Stream> stream = std::nullopt;  ///< else the kernel's own: the device's default stream
};

}  // namespace damo
