// ConvolutionLibrary: convolutions on one device, by whatever takes them best there: its vendor's library, on a CPU blocks in registers
// (tiled_convolution.hpp), on a GPU blocks in shared memory (block_convolution.hpp), else, and on any device, plain kernels (direct_convolution.hpp), which take all. A companion of the device: it is made,
// and a library opened, at the first convolution. Thread-safe. See tests/conv/conv_test.cpp.
#pragma once
#include <map>
#include <memory>
#include <mutex>

#include "runtime/backend.hpp"
#include "runtime/library/convolution.hpp"

namespace damo {

class ConvolutionLibrary final : public Companion {
 public:
  explicit ConvolutionLibrary(Backend& backend) : backend_(backend), engine_(backend.make_convolution_engine()) {}
  static std::shared_ptr<ConvolutionLibrary> of(Backend& backend) { return backend.companion<ConvolutionLibrary>(); }

  /// Null: all convolutions are computed by kernels of Damo's own.
  const ConvolutionEngine* engine() const { return engine_.get(); }
  /// Of one whose result has elements. The last kMost are kept.
  std::shared_ptr<PreparedConvolution> prepare(const Convolution& convolution);

 private:
  static constexpr std::size_t kMost = 512;
  Backend& backend_;
  std::unique_ptr<ConvolutionEngine> engine_;
  std::mutex mutex_;
  std::map<Convolution, std::shared_ptr<PreparedConvolution>> prepared_;
};

}  // namespace damo
