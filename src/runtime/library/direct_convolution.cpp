#include "runtime/library/direct_convolution.hpp"

#include <algorithm>

#include <damo/launch_config.hpp>

#include "runtime/array/array_layout.hpp"
#include "runtime/kernel/cache.hpp"
#include "runtime/library/convolution_text.hpp"

namespace damo {
namespace {

// A row of the result along its last axis is a row of threads; what is the same in the row is worked out once.
constexpr const char* kForwardText = R"(
extern "C" __global__ void convolve(const T* __restrict__ x, const T* __restrict__ w, T* __restrict__ y, Sizes s) {
  const long long rows = s.batch * s.groups * s.outputs * s.out[0] * s.out[1];
  FOR_EACH_ROW(row, rows) {
    const long long p1 = row % s.out[1], p0 = row / s.out[1] % s.out[0], filter = row / (s.out[1] * s.out[0]);  // filter: of all of all pictures
    const long long all = s.groups * s.outputs, of_picture = filter % all, n = filter / all, group = of_picture / s.outputs;
    const T* picture = x + (n * s.groups + group) * s.channels * s.in[0] * s.in[1] * s.in[2];
    FOR_EACH_IN_ROW(p2, s.out[2]) {
      SUM sum = 0;
      const T* weight = w + of_picture * s.channels * s.kernel[0] * s.kernel[1] * s.kernel[2];
      for (long long c = 0; c < s.channels; ++c) {
        for (long long j0 = 0; j0 < s.kernel[0]; ++j0) {
          const long long i0 = p0 * s.stride[0] + j0 * s.dilation[0] - s.padding[0];
          for (long long j1 = 0; j1 < s.kernel[1]; ++j1) {
            const long long i1 = p1 * s.stride[1] + j1 * s.dilation[1] - s.padding[1];
            const bool is_in = i0 >= 0 && i0 < s.in[0] && i1 >= 0 && i1 < s.in[1];
            if (is_in) {
              const T* line = picture + ((c * s.in[0] + i0) * s.in[1] + i1) * s.in[2];
              for (long long j2 = 0; j2 < s.kernel[2]; ++j2) {
                const long long i2 = p2 * s.stride[2] + j2 * s.dilation[2] - s.padding[2];
                if (i2 >= 0 && i2 < s.in[2]) sum += TO_SUM(line[i2]) * TO_SUM(weight[j2]);
              }
            }
            weight += s.kernel[2];
          }
        }
      }
      y[row * s.out[2] + p2] = TO_T(sum);
    }
  }
}
)";

// The window that has x's element at place j begins at element - j dilation + padding, if that is a multiple of the stride.
constexpr const char* kInputGradientText = R"(
extern "C" __global__ void convolve(T* __restrict__ x, const T* __restrict__ w, const T* __restrict__ y, Sizes s) {
  const long long rows = s.batch * s.groups * s.channels * s.in[0] * s.in[1];
  const long long window = s.kernel[0] * s.kernel[1] * s.kernel[2];
  FOR_EACH_ROW(row, rows) {
    const long long i1 = row % s.in[1], i0 = row / s.in[1] % s.in[0], channel = row / (s.in[1] * s.in[0]);
    const long long c = channel % s.channels, group = channel / s.channels % s.groups, n = channel / (s.channels * s.groups);
    const T* of_group = y + (n * s.groups + group) * s.outputs * s.out[0] * s.out[1] * s.out[2];
    FOR_EACH_IN_ROW(i2, s.in[2]) {
      SUM sum = 0;
      for (long long o = 0; o < s.outputs; ++o) {
        const T* weight = w + ((group * s.outputs + o) * s.channels + c) * window;
        for (long long j0 = 0; j0 < s.kernel[0]; ++j0) {
          const long long at0 = i0 + s.padding[0] - j0 * s.dilation[0], p0 = at0 / s.stride[0];
          const bool has0 = at0 >= 0 && p0 * s.stride[0] == at0 && p0 < s.out[0];
          for (long long j1 = 0; j1 < s.kernel[1]; ++j1) {
            const long long at1 = i1 + s.padding[1] - j1 * s.dilation[1], p1 = at1 / s.stride[1];
            const bool has1 = at1 >= 0 && p1 * s.stride[1] == at1 && p1 < s.out[1];
            if (has0 && has1) {
              const T* line = of_group + ((o * s.out[0] + p0) * s.out[1] + p1) * s.out[2];
              for (long long j2 = 0; j2 < s.kernel[2]; ++j2) {
                const long long at2 = i2 + s.padding[2] - j2 * s.dilation[2], p2 = at2 / s.stride[2];
                if (at2 >= 0 && p2 * s.stride[2] == at2 && p2 < s.out[2]) sum += TO_SUM(line[p2]) * TO_SUM(weight[j2]);
              }
            }
            weight += s.kernel[2];
          }
        }
      }
      x[row * s.in[2] + i2] = TO_T(sum);
    }
  }
}
)";

// A block an element of w: its threads go through all pictures and places.
constexpr const char* kWeightGradientText = R"(
extern "C" __global__ void convolve(const T* __restrict__ x, T* __restrict__ w, const T* __restrict__ y, Sizes s) {
  __shared__ SUM sums[THREADS];
  const long long elements = s.groups * s.outputs * s.channels * s.kernel[0] * s.kernel[1] * s.kernel[2];
  const long long places = s.out[0] * s.out[1] * s.out[2], all_in = s.in[0] * s.in[1] * s.in[2];
  // A thread's next place lies THREADS further on: these many along each axis, so that nothing is divided in the loop.
  const long long step2 = THREADS % s.out[2], step1 = THREADS / s.out[2] % s.out[1], step0 = THREADS / (s.out[2] * s.out[1]) % s.out[0], steps = THREADS / places;
  for (long long element = blockIdx.x; element < elements; element += gridDim.x) {
    const long long j2 = element % s.kernel[2], j1 = element / s.kernel[2] % s.kernel[1], j0 = element / (s.kernel[2] * s.kernel[1]) % s.kernel[0];
    const long long filter_channel = element / (s.kernel[2] * s.kernel[1] * s.kernel[0]), c = filter_channel % s.channels;
    const long long filter = filter_channel / s.channels, group = filter / s.outputs;
    SUM sum = 0;
    long long p2 = threadIdx.x % s.out[2], p1 = threadIdx.x / s.out[2] % s.out[1], p0 = threadIdx.x / (s.out[2] * s.out[1]) % s.out[0], n = threadIdx.x / places;
    while (n < s.batch) {
      const long long i0 = p0 * s.stride[0] + j0 * s.dilation[0] - s.padding[0];
      const long long i1 = p1 * s.stride[1] + j1 * s.dilation[1] - s.padding[1];
      const long long i2 = p2 * s.stride[2] + j2 * s.dilation[2] - s.padding[2];
      if (i0 >= 0 && i0 < s.in[0] && i1 >= 0 && i1 < s.in[1] && i2 >= 0 && i2 < s.in[2]) {
        const T* picture = x + ((n * s.groups + group) * s.channels + c) * all_in;
        sum += TO_SUM(picture[(i0 * s.in[1] + i1) * s.in[2] + i2]) * TO_SUM(y[(n * s.groups * s.outputs + filter) * places + (p0 * s.out[1] + p1) * s.out[2] + p2]);
      }
      p2 += step2;
      const long long over2 = p2 >= s.out[2];
      p2 -= over2 * s.out[2];
      p1 += step1 + over2;
      const long long over1 = p1 >= s.out[1];
      p1 -= over1 * s.out[1];
      p0 += step0 + over1;
      const long long over0 = p0 >= s.out[0];
      p0 -= over0 * s.out[0];
      n += steps + over0;
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
      if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
      __syncthreads();
    }
    if (threadIdx.x == 0) w[element] = TO_T(sums[0]);
    __syncthreads();
  }
}
)";

constexpr std::int64_t kThreads = 128, kMostBlocks = 1 << 20;

class DirectConvolution final : public PreparedConvolution {
 public:
  DirectConvolution(Backend& backend, const Convolution& convolution) : backend_(backend), convolution_(convolution) {
    CompileRequest request;
    const char* text = kWeightGradientText;
    if (convolution.role == ConvolutionRole::kWeightGradient) {
      config_ = {.grid = {std::min(convolution.weight_size(), kMostBlocks)}, .block = {kThreads}};
    } else {
      const bool is_forward = convolution.role == ConvolutionRole::kForward;
      text = is_forward ? kForwardText : kInputGradientText;
      const std::int64_t along = is_forward ? convolution.out[2] : convolution.in[2], rows = (is_forward ? convolution.output_size() : convolution.input_size()) / along;
      config_ = rows_launch_of(is_host(backend), rows, along);
    }
    request.source = element_text(convolution.dtype) + "#define THREADS " + std::to_string(kThreads) + "\n#define IS_HOST " + (is_host(backend) ? "1\n" : "0\n") + kRowsText + kSizesText + text;
    request.kind = SourceKind::kCudaC;
    request.file_name = "convolution.cu";
    request.kernels = {"convolve"};
    module_ = backend.cache().get(request);
    kernel_ = module_->kernel("convolve");
    check_launch(*kernel_, config_);
  }

  void run(const ConvolutionAddresses& addresses, void*, void* stream) override {
    ConvolutionAddresses at = addresses;
    Sizes sizes(convolution_);
    void* arguments[] = {&at.input, &at.weight, &at.output, &sizes};
    backend_.launch(*kernel_, config_, arguments, stream);
    backend_.note_work(stream);
    ++backend_.launches;
  }

 private:
  Backend& backend_;
  Convolution convolution_;
  std::shared_ptr<const LoadedModule> module_;
  std::shared_ptr<const LoadedKernel> kernel_;
  LaunchConfig config_;
};

}  // namespace

std::shared_ptr<PreparedConvolution> direct_convolution(Backend& backend, const Convolution& convolution) {
  return std::make_shared<DirectConvolution>(backend, convolution);
}

}  // namespace damo
