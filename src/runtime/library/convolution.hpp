// Convolution: one convolution, or one of its two gradients, as a library is asked for it. All three are sums of products over the same triples
// of an element of x, one of w and one of y,
//
//   kForward         y[n, o, p] = sum over channels c of o's group and places j in the window of x[n, c, p stride + j dilation - padding] w[o, c, j]
//   kInputGradient   x of y and w: what y's elements give back to the elements of x that they were made of
//   kWeightGradient  w of x and y
//
// over three spatial axes; of fewer the first ones have extent 1. Arrays lie in C order: x (n, groups, channels, in...), w (groups, outputs, channels, kernel...),
// y (n, groups, outputs, out...). Sizes alone: an engine works them out once and runs with other addresses at each call. ConvolutionEngine: what one kind of
// device has beside Damo's own kernels. convolution_library.hpp has the one that a device uses.
#pragma once
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <damo/dtype.hpp>

namespace damo {

using Extents3 = std::array<std::int64_t, 3>;
inline std::int64_t product_of(const Extents3& extents) { return extents[0] * extents[1] * extents[2]; }

enum class ConvolutionRole : std::uint8_t { kForward, kInputGradient, kWeightGradient };

struct Convolution {
  ConvolutionRole role = ConvolutionRole::kForward;
  DType dtype = float32;  ///< floating: of all three; float16 and bfloat16 are added up in float32
  std::int64_t batch = 0, groups = 1, channels = 0, outputs = 0;  ///< channels and outputs: of one group
  Extents3 in{1, 1, 1}, kernel{1, 1, 1}, out{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1};
  Extents3 padding{0, 0, 0};  ///< in front; behind as many as out needs
  bool tf32 = false;  ///< float32 operands may be rounded to 10 bits of fraction before they are multiplied
  auto operator<=>(const Convolution&) const = default;

  std::int64_t input_size() const { return batch * groups * channels * product_of(in); }
  std::int64_t weight_size() const { return groups * outputs * channels * product_of(kernel); }
  std::int64_t output_size() const { return batch * groups * outputs * product_of(out); }
};

/// On the device; the one that the role computes is written.
struct ConvolutionAddresses {
  void *input = nullptr, *weight = nullptr, *output = nullptr;
};

/// A convolution that was worked out. Thread-safe.
class PreparedConvolution : public std::enable_shared_from_this<PreparedConvolution> {
 public:
  virtual ~PreparedConvolution() = default;
  /// Memory on the device that a run needs for itself.
  virtual std::size_t workspace_bytes() const { return 0; }
  /// In order of the stream. Throws DeviceError.
  virtual void run(const ConvolutionAddresses& addresses, void* workspace, void* stream) = 0;
};

/// Thread-safe.
class ConvolutionEngine {
 public:
  virtual ~ConvolutionEngine() = default;
  /// "cuDNN 9.14.0, libcudnn.so.9": for logs and errors.
  virtual const std::string& name() const = 0;
  /// Null for a convolution that it does not take.
  virtual std::shared_ptr<PreparedConvolution> prepare(const Convolution& convolution) = 0;
};

}  // namespace damo
