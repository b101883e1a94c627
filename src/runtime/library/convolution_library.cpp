#include "runtime/library/convolution_library.hpp"

#include "runtime/library/block_convolution.hpp"
#include "runtime/library/direct_convolution.hpp"
#include "runtime/library/tiled_convolution.hpp"

namespace damo {

std::shared_ptr<PreparedConvolution> ConvolutionLibrary::prepare(const Convolution& convolution) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = prepared_.find(convolution); found != prepared_.end()) return found->second;
  }
  std::shared_ptr<PreparedConvolution> made = engine_ ? engine_->prepare(convolution) : tiled_convolution(backend_, convolution);
  if (!made && backend_.kind() == DeviceKind::kCuda && fits_blocks(convolution)) made = block_convolution(backend_, convolution);
  if (!made) made = direct_convolution(backend_, convolution);
  const std::lock_guard lock(mutex_);
  if (prepared_.size() >= kMost) prepared_.clear();
  return prepared_.try_emplace(convolution, std::move(made)).first->second;
}

}  // namespace damo
