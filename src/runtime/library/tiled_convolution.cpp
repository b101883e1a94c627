#include "runtime/library/tiled_convolution.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include <damo/launch_config.hpp>

#include "runtime/kernel/cache.hpp"
#include "runtime/library/convolution_text.hpp"
#include "runtime/library/narrow_text.hpp"
#include "runtime/library/tiled_text.hpp"

namespace damo {
namespace {

constexpr std::int64_t kMostParts = 16;                        // of a batch, of which each has a sum of its own
constexpr std::int64_t kMostPartialBytes = std::int64_t{64} << 20;  // of all these sums
constexpr std::int64_t kNarrowVectors = 6, kNarrowLine = 3;    // of a narrow block, as many as keep the processor's adders busy, and at most of one line
constexpr std::int64_t kLeastUnits = 32;                       // of work, so that threads end together

/// As the text has it.
struct Tiles {
  Extents3 padded{};
  std::int64_t copies = 0, chunks = 1, chunk = 1, parts = 1, scratch = 0, panel = 0;
  std::int32_t *taps = nullptr, *places = nullptr, *steps = nullptr;
  void *packed = nullptr, *memory = nullptr;
};

std::int64_t blocks_of(std::int64_t count, std::int64_t each) { return (count + each - 1) / each; }
/// Of two numbers of rows the one of which fewer are computed in vain: with two vectors each, or one, they keep the processor's adders busy and fit its registers.
std::int64_t best_rows(std::int64_t count, std::int64_t few, std::int64_t many) { return blocks_of(count, few) * few < blocks_of(count, many) * many ? few : many; }

/// Whether a group has so few filters, or elements of a window, that blocks of them would mostly be computed in vain.
bool is_narrow(const Convolution& c) {
  return c.role == ConvolutionRole::kInputGradient ? c.channels * product_of(c.kernel) < 3 || c.outputs < 2 : c.outputs < 3;
}

/// Of the text's vectors, whatever registers the compiler makes of them.
std::int64_t vector_bytes(const Backend& backend) { return backend.limits().architecture.find("avx512") != std::string::npos ? 64 : 32; }

class TiledConvolution final : public PreparedConvolution {
 public:
  TiledConvolution(Backend& backend, const Convolution& c) : backend_(backend), c_(c), item_(c.dtype == float64 ? 8 : 4) {
    const std::int64_t bytes = vector_bytes(backend), lanes = bytes / item_, places = product_of(c.out), window = product_of(c.kernel), depth = c.channels * window;
    const bool narrow = is_narrow(c);
    bool copies = narrow || is_half(c.dtype);
    for (std::size_t i = 0; i < 3; ++i) {
      const std::int64_t reach = (c.out[i] - 1) * c.stride[i] + (c.kernel[i] - 1) * c.dilation[i] + 1;
      copies |= c.padding[i] > 0 || reach > c.in[i];
      tiles_.padded[i] = std::max(reach, c.padding[i] + c.in[i]);
    }
    if (!copies) tiles_.padded = c.in;
    tiles_.copies = copies;
    std::int64_t rows = 0, packed = 0, units = 0, steps = 0, pictures = c.batch * c.groups;
    const std::int64_t vectors = blocks_of(c.out[2], lanes), line = std::min(vectors, kNarrowLine);  // of a narrow block
    const auto share = [&](std::int64_t whole, std::int64_t least, std::int64_t beside) {
      tiles_.chunk = std::max(blocks_of(blocks_of(whole, std::max<std::int64_t>(blocks_of(kLeastUnits, beside), 1)), least) * least, least);
      tiles_.chunks = blocks_of(whole, tiles_.chunk);
      units = beside * tiles_.chunks;
    };
    const auto set_panel = [&] { tiles_.panel = copies ? aligned(c.channels * product_of(tiles_.padded) + (narrow ? kNarrowVectors * lanes * c.stride[2] : 0)) : 0; };
    set_panel();
    const char* text = narrow ? kNarrowForwardText : kTiledForwardText;
    switch (c.role) {
      case ConvolutionRole::kForward:
        if (narrow) {
          rows = std::max<std::int64_t>(kNarrowVectors / line, 1);
          share(c.out[1], rows, pictures);
          tiles_.padded[1] = (tiles_.chunk - 1) * c.stride[1] + (c.kernel[1] - 1) * c.dilation[1] + 1;
          set_panel();
          tiles_.scratch = tiles_.panel;
          break;
        }
        rows = best_rows(c.outputs, 5, 6);
        share(places, 2 * lanes, pictures);
        packed = c.groups * blocks_of(c.outputs, rows) * rows * depth;
        prepare_blocks_ = c.groups * blocks_of(c.outputs, rows);
        steps = depth;
        tiles_.scratch = tiles_.panel + depth * 2 * lanes;
        break;
      case ConvolutionRole::kInputGradient:
        text = narrow ? kNarrowInputText : kTiledInputText;
        share(c.channels, 1, pictures);
        if (narrow) {
          rows = 1;
          tiles_.scratch = tiles_.panel + c.out[2];
          break;
        }
        rows = best_rows(tiles_.chunk * window, 5, 6);
        prepare_blocks_ = c.groups * tiles_.chunks * blocks_of(tiles_.chunk * window, rows);
        packed = prepare_blocks_ * rows * c.outputs;
        steps = c.outputs;
        tiles_.scratch = tiles_.panel + c.outputs * 2 * lanes;
        break;
      case ConvolutionRole::kWeightGradient: {
        text = narrow ? kNarrowWeightText : kTiledWeightText;
        rows = best_rows(depth, 8, 9);
        const std::int64_t filters = narrow ? c.outputs : blocks_of(c.outputs, lanes), one = c.groups * filters * lanes * depth;
        tiles_.parts = std::clamp<std::int64_t>(kMostPartialBytes / (one * item_), 1, std::min(c.batch, kMostParts));
        share(depth, rows, tiles_.parts * c.groups * (narrow ? 1 : filters));
        packed = tiles_.parts * one;
        tiles_.scratch = tiles_.panel + (narrow ? c.out[0] * c.out[1] * vectors : places) * lanes;
        break;
      }
    }
    tiles_.scratch = aligned(tiles_.scratch);
    blocks_ = std::min<std::int64_t>(units, 4 * backend.limits().multiprocessors);
    // The workspace, in bytes.
    std::size_t end = 0;
    const auto lay = [&](std::int64_t count, std::int64_t each) {
      const std::size_t begin = end;
      end += static_cast<std::size_t>(blocks_of(count * each, 64) * 64);
      return begin;
    };
    at_ = {lay(depth, 4), lay(places + 2 * lanes, 4), lay(steps, 4), lay(packed, item_), lay(blocks_ * tiles_.scratch, item_)};
    workspace_ = end;

    CompileRequest request;
    const auto define = [&](const char* name, std::int64_t value) { request.source += "#define " + std::string(name) + " " + std::to_string(value) + "\n"; };
    request.source = element_text(c.dtype);
    define("IS_HALF", is_half(c.dtype) ? 1 : 0);
    define("VECTOR_BYTES", bytes);
    define("ROWS", rows);
    if (narrow) define("IS_DENSE", c.stride[2] == 1);
    if (narrow && c.role == ConvolutionRole::kForward) define("LINE", line);
    request.source += std::string(kSizesText) + kTiledCommonText + (narrow ? kNarrowCommonText : "") + text;
    request.kind = SourceKind::kCudaC;
    request.file_name = "tiled_convolution.cu";
    request.kernels = {"prepare", "convolve"};
    if (c.role == ConvolutionRole::kWeightGradient) request.kernels.push_back("finish");
    module_ = backend.cache().get(request);
    for (const std::string& name : request.kernels) kernels_.push_back(module_->kernel(name));
  }

  std::size_t workspace_bytes() const override { return workspace_; }

  void run(const ConvolutionAddresses& addresses, void* workspace, void* stream) override {
    ConvolutionAddresses at = addresses;
    Sizes sizes(c_);
    Tiles tiles = tiles_;
    auto* const base = static_cast<std::byte*>(workspace);
    tiles.taps = reinterpret_cast<std::int32_t*>(base + at_[0]);
    tiles.places = reinterpret_cast<std::int32_t*>(base + at_[1]);
    tiles.steps = reinterpret_cast<std::int32_t*>(base + at_[2]);
    tiles.packed = base + at_[3];
    tiles.memory = base + at_[4];
    void* arguments[] = {&at.input, &at.weight, &at.output, &sizes, &tiles};
    const std::int64_t blocks[] = {std::clamp<std::int64_t>(prepare_blocks_, 1, 64), blocks_, std::min<std::int64_t>(c_.groups * c_.outputs, 64)};
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      backend_.launch(*kernels_[i], {.grid = {blocks[i]}, .block = {1}}, arguments, stream);
      backend_.note_work(stream);
      ++backend_.launches;
    }
  }

 private:
  std::int64_t aligned(std::int64_t elements) const { return blocks_of(elements * item_, 64) * 64 / item_; }

  Backend& backend_;
  Convolution c_;
  std::int64_t item_, blocks_ = 1, prepare_blocks_ = 1;
  Tiles tiles_;
  std::array<std::size_t, 5> at_{};
  std::size_t workspace_ = 0;
  std::shared_ptr<const LoadedModule> module_;
  std::vector<std::shared_ptr<const LoadedKernel>> kernels_;
};

/// Positions in a picture, and in a row of the others, are ints in the kernels.
bool fits_ints(const Convolution& c) {
  constexpr double kMost = std::numeric_limits<std::int32_t>::max();
  double padded = static_cast<double>(c.channels);
  for (std::size_t i = 0; i < 3; ++i) {
    padded *= static_cast<double>(std::max((c.out[i] - 1) * c.stride[i] + (c.kernel[i] - 1) * c.dilation[i] + 1, c.padding[i] + c.in[i]));
  }
  return padded < kMost && static_cast<double>(product_of(c.out)) < kMost && static_cast<double>(c.channels * product_of(c.kernel)) * 64 < kMost && static_cast<double>(c.outputs) * 64 < kMost;
}

}  // namespace

std::shared_ptr<PreparedConvolution> tiled_convolution(Backend& backend, const Convolution& c) {
  return backend.kind() == DeviceKind::kCpu && fits_ints(c) ? std::make_shared<TiledConvolution>(backend, c) : nullptr;
}

}  // namespace damo
