// Pooling: the greatest element or the mean of windows that go over each channel of a picture, and what goes back from there, by kernels of Damo's own from
// one text for all back ends. x: (n, channels, in...), y: (n, channels, out...), in C order. A NaN is the greatest; of equals the first in C order is chosen.
// Each element is computed by one thread, in one order, without atomics. Thread-safe. See tests/conv/pool_test.cpp.
#pragma once
#include <compare>
#include <memory>

#include "runtime/backend.hpp"
#include "runtime/library/convolution.hpp"

namespace damo {

enum class PoolingRole : std::uint8_t {
  kMax,           ///< x -> y
  kMaxGradient,   ///< x, y -> of x's shape: each element of y where its window's greatest is, summed
  kMaxAt,         ///< x, v of x's shape -> y: v where each window's greatest is
  kMean,          ///< x -> y
  kMeanGradient,  ///< y -> x: each element's share, summed
};

struct Pooling {
  PoolingRole role = PoolingRole::kMax;
  Convolution windows;  ///< groups: the channels; one filter each
  bool counts_padding = true;  ///< of means: whether they are over the window or over what it has of x
  auto operator<=>(const Pooling&) const = default;
};

class PreparedPooling {
 public:
  virtual ~PreparedPooling() = default;
  /// What the role reads; second: null if that is one array. In order of the stream. Throws DeviceError.
  virtual void run(const void* first, const void* second, void* out, void* stream) const = 0;
};

/// Compiles, or takes from the kernel cache, at once; the device keeps the last few hundred.
std::shared_ptr<const PreparedPooling> prepare_pooling(Backend& backend, const Pooling& pooling);

}  // namespace damo
