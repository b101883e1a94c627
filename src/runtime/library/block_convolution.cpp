#include "runtime/library/block_convolution.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <damo/launch_config.hpp>

#include "runtime/kernel/cache.hpp"
#include "runtime/library/block_text.hpp"
#include "runtime/library/convolution_text.hpp"

namespace damo {
namespace {

constexpr std::int64_t kLeastRows = 4;
constexpr std::int64_t kWantedBlocks = 528;  // a few for each multiprocessor of the largest GPUs
constexpr std::int64_t kLeastProducts = 256;  // that a part adds up
constexpr std::int64_t kFinishThreads = 128;
constexpr std::int64_t kMostBytes = std::int64_t{64} << 20;  // of all parts

/// The product of matrices, of one group.
struct Blocks {
  std::int64_t rows, columns, depth, tile_rows, tile_columns, parts = 1;
  explicit Blocks(const Convolution& c) {
    const std::int64_t window = product_of(c.kernel), places = c.batch * product_of(c.out);
    const bool is_weight = c.role == ConvolutionRole::kWeightGradient, is_input = c.role == ConvolutionRole::kInputGradient;
    rows = is_input ? c.channels : c.outputs;
    columns = is_weight ? c.channels * window : is_input ? c.batch * product_of(c.in) : places;
    depth = is_weight ? places : (is_input ? c.outputs : c.channels) * window;
    tile_rows = rows > 32 ? 64 : 32;
    tile_columns = columns > 32 ? 64 : 32;
    if (!is_weight) return;
    const std::int64_t most = kMostBytes / (c.weight_size() * static_cast<std::int64_t>(sum_bytes(c.dtype)));
    parts = std::max<std::int64_t>(std::min({kWantedBlocks / (c.groups * across() * down()), depth / kLeastProducts, most}), 1);
  }
  std::int64_t across() const { return (columns + tile_columns - 1) / tile_columns; }
  std::int64_t down() const { return (rows + tile_rows - 1) / tile_rows; }
  static std::size_t sum_bytes(DType dtype) { return dtype == float64 ? 8 : 4; }
};

class BlockConvolution final : public PreparedConvolution {
 public:
  BlockConvolution(Backend& backend, const Convolution& c) : backend_(backend), c_(c), blocks_(c) {
    CompileRequest request;
    const auto define = [&](const std::string& name, std::int64_t value) { request.source += "#define " + name + " " + std::to_string(value) + "\n"; };
    request.source = element_text(c.dtype);
    bool is_checked = false;
    for (std::size_t i = 0; i < 3; ++i) {
      const std::string axis = std::to_string(i);
      define("K" + axis, c.kernel[i]);
      define("S" + axis, c.stride[i]);
      define("D" + axis, c.dilation[i]);
      define("P" + axis, c.padding[i]);
      is_checked |= c.padding[i] > 0 || (c.out[i] - 1) * c.stride[i] + (c.kernel[i] - 1) * c.dilation[i] >= c.in[i];
    }
    define("IS_CHECKED", is_checked);
    define("ROLE", static_cast<int>(c.role));
    define("TM", blocks_.tile_rows);
    define("TN", blocks_.tile_columns);
    request.source += std::string(kSizesText) + kBlockText;
    request.kind = SourceKind::kCudaC;
    request.file_name = "block_convolution.cu";
    request.kernels = {"convolve", "finish"};
    module_ = backend.cache().get(request);
    convolve_ = module_->kernel("convolve");
    finish_ = module_->kernel("finish");
    config_ = {.grid = {blocks_.across(), blocks_.down(), c.groups * blocks_.parts}, .block = {blocks_.tile_rows * blocks_.tile_columns / 16}};
    check_launch(*convolve_, config_);
  }

  std::size_t workspace_bytes() const override { return block_workspace_bytes(c_); }

  void run(const ConvolutionAddresses& addresses, void* workspace, void* stream) override {
    ConvolutionAddresses at = addresses;
    Sizes sizes(c_);
    auto parts = static_cast<std::int32_t>(blocks_.parts);
    void* arguments[] = {&at.input, &at.weight, &at.output, &workspace, &sizes, &parts};
    launch(*convolve_, config_, arguments, stream);
    if (parts == 1) return;
    std::int64_t elements = c_.weight_size();
    void* of_finish[] = {&workspace, &at.weight, &elements, &parts};
    launch(*finish_, {.grid = {(elements + kFinishThreads - 1) / kFinishThreads}, .block = {kFinishThreads}}, of_finish, stream);
  }

 private:
  void launch(const LoadedKernel& kernel, const LaunchConfig& config, void* const* arguments, void* stream) {
    backend_.launch(kernel, config, arguments, stream);
    backend_.note_work(stream);
    ++backend_.launches;
  }

  Backend& backend_;
  Convolution c_;
  Blocks blocks_;
  std::shared_ptr<const LoadedModule> module_;
  std::shared_ptr<const LoadedKernel> convolve_, finish_;
  LaunchConfig config_;
};

}  // namespace

bool fits_blocks(const Convolution& c) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max() - 64, kMostAlongGrid = 65535;
  const Blocks blocks(c);
  const bool fits_ints = std::max({c.input_size(), c.weight_size(), c.output_size(), blocks.columns, blocks.depth}) < kMost;
  double positions = static_cast<double>(c.channels);  // of a window's elements, which may lie beside the picture
  for (std::size_t i = 0; i < 3; ++i) positions *= static_cast<double>(c.in[i] + 2 * c.padding[i] + c.kernel[i] * c.dilation[i] + c.stride[i]);
  return fits_ints && positions < static_cast<double>(kMost) && blocks.rows >= kLeastRows && blocks.down() <= kMostAlongGrid && c.groups * blocks.parts <= kMostAlongGrid;
}

std::size_t block_workspace_bytes(const Convolution& c) {
  const Blocks blocks(c);
  return blocks.parts == 1 ? 0 : static_cast<std::size_t>(blocks.parts * c.weight_size()) * Blocks::sum_bytes(c.dtype);
}

std::shared_ptr<PreparedConvolution> block_convolution(Backend& backend, const Convolution& convolution) { return std::make_shared<BlockConvolution>(backend, convolution); }

}  // namespace damo
