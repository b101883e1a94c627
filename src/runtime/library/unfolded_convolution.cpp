#include "runtime/library/unfolded_convolution.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <damo/launch_config.hpp>

#include "runtime/kernel/cache.hpp"
#include "runtime/library/convolution_text.hpp"
#include "runtime/library/matrix_library.hpp"

namespace damo {
namespace {

constexpr std::int64_t kMostUnfolded = std::int64_t{1} << 26;
constexpr std::int64_t kUnfoldThreads = 256;
constexpr std::size_t kUnfoldAlignment = 256;

// Numbers of elements fit ints, and a window's places are constants. "row" and "picture": how far the next row of the matrix, and the next picture in it, lies.
constexpr const char* kUnfoldText = R"(
struct Shape { int batch, channels, outputs, in[3], out[3], row, picture; };
#define WINDOW (K0 * K1 * K2)

// Elements of the matrix, one a thread: neighbours are neighbouring places.
extern "C" __global__ void unfold(const T* x, T* to, Shape s) {
  const int places = s.out[0] * s.out[1] * s.out[2], rows = s.channels * WINDOW, count = s.batch * rows * places;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const int p = i % places, rest = i / places, r = rest % rows, n = rest / rows, c = r / WINDOW, j = r % WINDOW;
    const int at0 = p / (s.out[1] * s.out[2]) * S0 + j / (K1 * K2) * D0 - P0, at1 = p / s.out[2] % s.out[1] * S1 + j / K2 % K1 * D1 - P1, at2 = p % s.out[2] * S2 + j % K2 * D2 - P2;
    const bool is_inside = at0 >= 0 && at0 < s.in[0] && at1 >= 0 && at1 < s.in[1] && at2 >= 0 && at2 < s.in[2];
    to[r * s.row + n * s.picture + p] = is_inside ? x[((n * s.channels + c) * s.in[0] + at0) * s.in[1] * s.in[2] + at1 * s.in[2] + at2] : T(0);
  }
}

// The place along one axis that has an element of x at j in its window; -1: none.
__device__ inline int place(int at, int reach, int stride, int out) {
  const int from = at - reach;
  return from >= 0 && from % stride == 0 && from / stride < out ? from / stride : -1;
}

// Elements of x, one a thread.
extern "C" __global__ void fold(const T* from, T* x, Shape s) {
  const int places = s.out[0] * s.out[1] * s.out[2], count = s.batch * s.channels * s.in[0] * s.in[1] * s.in[2];
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const int at2 = i % s.in[2], at1 = i / s.in[2] % s.in[1], at0 = i / (s.in[2] * s.in[1]) % s.in[0], picture = i / (s.in[2] * s.in[1] * s.in[0]), c = picture % s.channels, n = picture / s.channels;
    const T* of_channel = from + n * s.picture + c * WINDOW * s.row;
    T sum = 0;
    for (int j0 = 0; j0 < K0; ++j0) {
      const int p0 = place(at0 + P0, j0 * D0, S0, s.out[0]);
      if (p0 < 0) continue;
      for (int j1 = 0; j1 < K1; ++j1) {
        const int p1 = place(at1 + P1, j1 * D1, S1, s.out[1]);
        if (p1 < 0) continue;
        for (int j2 = 0; j2 < K2; ++j2) {
          const int p2 = place(at2 + P2, j2 * D2, S2, s.out[2]);
          if (p2 >= 0) sum += of_channel[((j0 * K1 + j1) * K2 + j2) * s.row + (p0 * s.out[1] + p1) * s.out[2] + p2];
        }
      }
    }
    x[i] = sum;
  }
}

// y (batch, outputs, places) as (outputs, batch, places).
extern "C" __global__ void by_output(const T* y, T* to, Shape s) {
  const int places = s.out[0] * s.out[1] * s.out[2], count = s.batch * s.outputs * places;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const int p = i % places, rest = i / places, n = rest % s.batch, o = rest / s.batch;
    to[i] = y[(n * s.outputs + o) * places + p];
  }
}
)";

struct ShapeArgument {
  std::int32_t batch, channels, outputs, in[3], out[3], row, picture;
};

std::int64_t unfolded_rows(const Convolution& c) { return c.channels * product_of(c.kernel); }
std::int64_t unfolded_places(const Convolution& c) { return product_of(c.out); }

MatrixProduct product_of_matrices(const Convolution& c) {
  const std::int64_t rows = unfolded_rows(c), places = unfolded_places(c), all = c.batch * places;
  MatrixProduct product{.operands = c.dtype, .result = c.dtype, .tf32 = c.tf32};
  const auto set = [&](std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batches) { product.m = m, product.n = n, product.k = k, product.batches = batches; };
  switch (c.role) {
    case ConvolutionRole::kForward:
      set(c.outputs, places, rows, c.batch);
      product.a = {rows, 1, 0}, product.b = {places, 1, rows * places}, product.c = {places, 1, c.outputs * places};
      break;
    case ConvolutionRole::kInputGradient:
      set(rows, places, c.outputs, c.batch);
      product.a = {1, rows, 0}, product.b = {places, 1, c.outputs * places}, product.c = {places, 1, rows * places};
      break;
    case ConvolutionRole::kWeightGradient:
      set(c.outputs, rows, all, 1);
      product.a = {all, 1, 0}, product.b = {1, all, 0}, product.c = {rows, 1, 0};
      break;
  }
  return product;
}

/// Null where the device has no library for it.
std::shared_ptr<PreparedProduct> product_for(Backend& backend, const Convolution& c) {
  const std::shared_ptr<MatrixLibrary> library = MatrixLibrary::of(backend);
  return library->has(c.dtype) && library->computes_as(c.dtype) == c.dtype ? library->prepare(product_of_matrices(c)) : nullptr;
}

class UnfoldedConvolution final : public PreparedConvolution {
 public:
  UnfoldedConvolution(Backend& backend, const Convolution& c, std::shared_ptr<PreparedProduct> product) : backend_(backend), c_(c), product_(std::move(product)) {
    CompileRequest request;
    request.source = element_text(c.dtype);
    const auto define = [&](const char* name, const Extents3& extents) {
      for (std::size_t i = 0; i < 3; ++i) request.source += "#define " + (name + std::to_string(i)) + " " + std::to_string(extents[i]) + "\n";
    };
    define("K", c.kernel), define("S", c.stride), define("D", c.dilation), define("P", c.padding);
    request.source += kUnfoldText;
    request.kind = SourceKind::kCudaC;
    request.file_name = "unfolded_convolution.cu";
    request.kernels = {"unfold", "fold", "by_output"};
    module_ = backend.cache().get(request);
    unfold_ = module_->kernel("unfold"), fold_ = module_->kernel("fold"), by_output_ = module_->kernel("by_output");
    const auto narrow = [](std::int64_t number) { return static_cast<std::int32_t>(number); };
    const bool is_weight = c.role == ConvolutionRole::kWeightGradient;
    const std::int64_t places = unfolded_places(c);
    shape_ = {narrow(c.batch), narrow(c.channels), narrow(c.outputs), {}, {}, narrow(is_weight ? c.batch * places : places), narrow(is_weight ? places : unfolded_rows(c) * places)};
    for (std::size_t i = 0; i < 3; ++i) shape_.in[i] = narrow(c.in[i]), shape_.out[i] = narrow(c.out[i]);
  }

  /// Of the matrix, and of y by outputs, without the product's.
  static std::size_t bytes_of(const Convolution& c) { return matrix_bytes(c) + outputs_bytes(c); }
  std::size_t workspace_bytes() const override { return bytes_of(c_) + product_->workspace_bytes(); }

  void run(const ConvolutionAddresses& at, void* workspace, void* stream) override {
    auto* const matrix = static_cast<std::byte*>(workspace);
    void *const by_output = matrix + matrix_bytes(c_), *const of_product = matrix + bytes_of(c_);
    const std::int64_t elements = c_.batch * unfolded_rows(c_) * unfolded_places(c_);
    switch (c_.role) {
      case ConvolutionRole::kForward:
        launch(*unfold_, elements, at.input, matrix, stream);
        return product_->run({.a = at.weight, .b = matrix, .result = at.output}, of_product, stream);
      case ConvolutionRole::kInputGradient:
        product_->run({.a = at.weight, .b = at.output, .result = matrix}, of_product, stream);
        return launch(*fold_, c_.input_size(), matrix, at.input, stream);
      case ConvolutionRole::kWeightGradient:
        launch(*unfold_, elements, at.input, matrix, stream);
        launch(*by_output_, c_.output_size(), at.output, by_output, stream);
        return product_->run({.a = by_output, .b = matrix, .result = at.weight}, of_product, stream);
    }
  }

 private:
  static std::size_t aligned(std::int64_t elements, DType dtype) { return (static_cast<std::size_t>(elements) * itemsize(dtype) + kUnfoldAlignment - 1) / kUnfoldAlignment * kUnfoldAlignment; }
  static std::size_t matrix_bytes(const Convolution& c) { return aligned(c.batch * unfolded_rows(c) * unfolded_places(c), c.dtype); }
  static std::size_t outputs_bytes(const Convolution& c) { return c.role == ConvolutionRole::kWeightGradient ? aligned(c.output_size(), c.dtype) : 0; }

  void launch(const LoadedKernel& kernel, std::int64_t elements, void* from, void* to, void* stream) {
    void* arguments[] = {&from, &to, &shape_};
    const LaunchConfig config{.grid = {(elements + kUnfoldThreads - 1) / kUnfoldThreads}, .block = {kUnfoldThreads}};
    check_launch(kernel, config);
    backend_.launch(kernel, config, arguments, stream);
    backend_.note_work(stream);
    ++backend_.launches;
  }

  Backend& backend_;
  Convolution c_;
  std::shared_ptr<PreparedProduct> product_;
  std::shared_ptr<const LoadedModule> module_;
  std::shared_ptr<const LoadedKernel> unfold_, fold_, by_output_;
  ShapeArgument shape_{};
};

}  // namespace

std::size_t unfolded_workspace_bytes(Backend& backend, const Convolution& convolution) {
  const auto product = product_for(backend, convolution);
  return product ? UnfoldedConvolution::bytes_of(convolution) + product->workspace_bytes() : 0;
}

bool fits_unfolded(const Convolution& c) {
  if (is_half(c.dtype) || c.groups != 1) return false;
  double elements = static_cast<double>(c.batch) * static_cast<double>(unfolded_rows(c)) * static_cast<double>(unfolded_places(c)), positions = 0;  // of a window's elements, which may lie beside the picture
  for (std::size_t i = 0; i < 3; ++i) positions = std::max(positions, static_cast<double>(c.in[i]) + 2.0 * static_cast<double>(c.padding[i]) + static_cast<double>(c.kernel[i]) * static_cast<double>(c.dilation[i]));
  return std::max({elements, static_cast<double>(c.input_size()), static_cast<double>(c.output_size()), positions}) <= static_cast<double>(kMostUnfolded);
}

std::shared_ptr<PreparedConvolution> unfolded_convolution(Backend& backend, const Convolution& convolution) {
  auto product = product_for(backend, convolution);
  return product ? std::make_shared<UnfoldedConvolution>(backend, convolution, std::move(product)) : nullptr;
}

}  // namespace damo
