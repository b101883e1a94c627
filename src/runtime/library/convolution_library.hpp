// ConvolutionLibrary: convolutions on one device, by whatever takes them best there: on a CPU blocks in registers (tiled_convolution.hpp), else,
// and on any device, Damo's plain kernels (direct_convolution.hpp), which take all. A companion of the device, made at the first convolution.
// Thread-safe. See tests/conv/conv_test.cpp.
#pragma once
#include <map>
#include <memory>
#include <mutex>

#include "runtime/backend.hpp"
#include "runtime/library/convolution.hpp"

namespace damo {

class ConvolutionLibrary final : public Companion {
 public:
  explicit ConvolutionLibrary(Backend& backend) : backend_(backend) {}
  static std::shared_ptr<ConvolutionLibrary> of(Backend& backend) { return backend.companion<ConvolutionLibrary>(); }

  /// Of one whose result has elements. The last kMost are kept.
  std::shared_ptr<PreparedConvolution> prepare(const Convolution& convolution);

 private:
  static constexpr std::size_t kMost = 512;
  Backend& backend_;
  std::mutex mutex_;
  std::map<Convolution, std::shared_ptr<PreparedConvolution>> prepared_;
};

}  // namespace damo
