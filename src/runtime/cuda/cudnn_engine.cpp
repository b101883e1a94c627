#include "runtime/cuda/cudnn_engine.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <damo/log.hpp>

#include "runtime/cuda/backend.hpp"
#include "runtime/cuda/cudnn_library.hpp"
#include "runtime/cuda/cudnn_sessions.hpp"
#include "runtime/kernel/cache.hpp"
#include "runtime/library/block_convolution.hpp"
#include "runtime/library/direct_convolution.hpp"
#include "runtime/library/unfolded_convolution.hpp"

namespace damo::cuda_backend {
namespace {

constexpr std::size_t kMostWorkspace = std::size_t{1} << 30;
constexpr int kConvolutionRepeats = 5;
constexpr std::int64_t kMostOfOwn = std::int64_t{1} << 32;  // products in all, up to which the plain kernel is tried: a few ms
constexpr double kWorthACompile = 0.02;                     // milliseconds of cuDNN's best: what takes less is not worth half a second of compiling
constexpr std::int64_t kLeastUnfolded = std::int64_t{1} << 26;  // products in all, from which on cuBLASLt may be worth opening
constexpr int kOwnPlain = -1, kOwnBlocks = -2, kOwnUnfolded = -3;  // Damo's kernels, beside the library's algorithms, which count from 0

int cudnn_type(DType dtype) { return dtype == float64 ? kCudnnReal64 : dtype == float16 ? kCudnnReal16 : dtype == bfloat16 ? kCudnnBfloat16 : kCudnnReal32; }

/// By the first of what the library's heuristics usually name; DAMO_TUNE=0 takes it. Of 16 bits without the one by indices: cuDNN 9.14 on an H200
/// adds parts of long sums in 16 bits there, and of 1,026 products an element was the wrong one of its two neighbours.
std::vector<int> algorithms_of(ConvolutionRole role, DType dtype) {
  if (role == ConvolutionRole::kForward && is_half(dtype)) return {kCudnnForwardGemm, kCudnnForwardWindowsGemm};
  if (role == ConvolutionRole::kForward) return {kCudnnForwardIndexedGemm, kCudnnForwardGemm, kCudnnForwardWindowsGemm};
  return {role == ConvolutionRole::kInputGradient ? kCudnnByInputGemm : kCudnnByWeightGemm};
}

/// What a convolution depends on, as a key of the cache.
std::string text_of(const Convolution& c) {
  std::string text = std::to_string(static_cast<int>(c.role)) + " " + std::string(name(c.dtype)) + (c.tf32 ? " tf32" : "");
  for (const std::int64_t number : {c.batch, c.groups, c.channels, c.outputs}) text += " " + std::to_string(number);
  for (const Extents3* extents : {&c.in, &c.kernel, &c.out, &c.stride, &c.dilation, &c.padding}) {
    for (const std::int64_t number : *extents) text += " " + std::to_string(number);
  }
  return text;
}

/// Whether cuDNN, which has as many zeros behind as in front, comes to the same extents; and whether it can count the elements.
bool is_taken_by_cudnn(const Convolution& c) {
  for (std::size_t i = 0; i < 3; ++i) {
    const std::int64_t room = c.in[i] + 2 * c.padding[i] - c.dilation[i] * (c.kernel[i] - 1) - 1;
    if (room < 0 || room / c.stride[i] + 1 != c.out[i]) return false;
  }
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  return std::max({c.input_size(), c.weight_size(), c.output_size()}) <= kMost;
}

/// The library's objects for one convolution.
class CudnnDescriptors {
 public:
  CudnnDescriptors(const CudnnLibrary& library, const Convolution& c) : library_(library) {
    // Convolutions along one axis or two are two-dimensional there.
    const bool is_3d = c.in[0] != 1 || c.kernel[0] != 1 || c.out[0] != 1 || c.padding[0] != 0;
    first_axis_ = is_3d ? 0 : 1;
    const int type = cudnn_type(c.dtype);
    check_cudnn(library.tensor_create(&x), "cudnnCreateTensorDescriptor");
    check_cudnn(library.tensor_create(&y), "cudnnCreateTensorDescriptor");
    check_cudnn(library.filter_create(&w), "cudnnCreateFilterDescriptor");
    check_cudnn(library.convolution_create(&convolution), "cudnnCreateConvolutionDescriptor");
    set_tensor(x, type, extents(c.batch, c.groups * c.channels, c.in));
    set_tensor(y, type, extents(c.batch, c.groups * c.outputs, c.out));
    const std::vector<int> filter = extents(c.groups * c.outputs, c.channels, c.kernel);
    check_cudnn(library.filter_set(w, type, kCudnnCOrder, static_cast<int>(filter.size()), filter.data()), "cudnnSetFilterNdDescriptor");
    const std::vector<int> padding = spatial(c.padding), stride = spatial(c.stride), dilation = spatial(c.dilation);
    check_cudnn(library.convolution_set(convolution, static_cast<int>(padding.size()), padding.data(), stride.data(), dilation.data(), kCudnnCrossCorrelation,
                                        c.dtype == float64 ? kCudnnReal64 : kCudnnReal32), "cudnnSetConvolutionNdDescriptor");
    check_cudnn(library.convolution_set_groups(convolution, static_cast<int>(c.groups)), "cudnnSetConvolutionGroupCount");
    const int math = is_half(c.dtype) ? kCudnnTensorMath : c.tf32 ? kCudnnDefaultMath : kCudnnFmaMath;
    check_cudnn(library.convolution_set_math(convolution, math), "cudnnSetConvolutionMathType");
  }
  CudnnDescriptors(const CudnnDescriptors&) = delete;
  CudnnDescriptors& operator=(const CudnnDescriptors&) = delete;
  ~CudnnDescriptors() {
    if (x) library_.tensor_destroy(x);
    if (y) library_.tensor_destroy(y);
    if (w) library_.filter_destroy(w);
    if (convolution) library_.convolution_destroy(convolution);
  }

  CudnnTensor x = nullptr, y = nullptr;
  CudnnFilter w = nullptr;
  CudnnConvolution convolution = nullptr;

 private:
  std::vector<int> spatial(const Extents3& all) const {
    std::vector<int> numbers;
    for (std::size_t i = first_axis_; i < 3; ++i) numbers.push_back(static_cast<int>(all[i]));
    return numbers;
  }
  std::vector<int> extents(std::int64_t first, std::int64_t second, const Extents3& all) const {
    std::vector<int> numbers = spatial(all);
    numbers.insert(numbers.begin(), {static_cast<int>(first), static_cast<int>(second)});
    return numbers;
  }
  void set_tensor(CudnnTensor tensor, int type, const std::vector<int>& numbers) {
    std::vector<int> strides(numbers.size(), 1);
    for (std::size_t i = numbers.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * numbers[i];
    check_cudnn(library_.tensor_set(tensor, type, static_cast<int>(numbers.size()), numbers.data(), strides.data()), "cudnnSetTensorNdDescriptor");
  }
  const CudnnLibrary& library_;
  std::size_t first_axis_ = 0;
};

class PreparedCudnn final : public PreparedConvolution {
 public:
  PreparedCudnn(CudaBackend& backend, const CudnnLibrary& library, std::shared_ptr<CudnnSessions> sessions, const Convolution& convolution)
      : backend_(backend), library_(library), sessions_(std::move(sessions)), c_(convolution), descriptors_(library, convolution) {
    for (const int algorithm : algorithms_of(c_.role, c_.dtype)) {
      std::size_t bytes = 0;
      const int status = workspace_of(algorithm, bytes);
      if (status == 0 && bytes <= kMostWorkspace) candidates_.push_back({algorithm, bytes});
      else log(LogLevel::kDebug, "cuDNN: algorithm " + std::to_string(algorithm) + " is not for " + text_of(c_) + ": " + (status == 0 ? "its workspace is too large" : library.error_string(status)));
    }
    std::size_t most = fits_blocks(c_) ? block_workspace_bytes(c_) : 0;
    const std::size_t of_unfolded = fits_unfolded(c_) && products() >= kLeastUnfolded ? unfolded_workspace_bytes(backend, c_) : 0;
    may_be_unfolded_ = of_unfolded != 0;
    most = std::max(most, of_unfolded);
    for (const Candidate& one : candidates_) most = std::max(most, one.bytes);
    workspace_ = most;
  }

  bool is_taken() const { return !candidates_.empty(); }
  std::size_t workspace_bytes() const override { return workspace_; }

  void run(const ConvolutionAddresses& at, void* workspace, void* stream) override {
    if (backend_.generation() != generation_) refuse_lost(backend_, "a convolution");
    if (!stream) stream = backend_.default_stream();
    if (own_is_chosen_.load(std::memory_order_acquire)) return own_->run(at, workspace, stream);
    if (stream == backend_.default_stream()) {
      if (WorkLog* log = current_log(backend_); log && log->convolve(*this, at, workspace)) return;
      check_default_stream(backend_);
    }
    backend_.bind();
    {
      const std::lock_guard lock(mutex_);
      if (!chosen_) {
        chosen_ = choose(at, workspace, stream);
        workspace_ = own_ ? own_->workspace_bytes() : chosen_->bytes;  // after it was chosen: until then any may be tried
      }
    }
    if (chosen_->algorithm < 0) return own_->run(at, workspace, stream);
    check_cudnn(status_of(*chosen_, at, workspace, stream), "a convolution of cuDNN");
    backend_.note_work(stream);
    backend_.launches.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  struct Candidate {
    int algorithm = 0;
    std::size_t bytes = 0;
  };

  std::int64_t products() const { return c_.batch * product_of(c_.out) * c_.groups * c_.outputs * c_.channels * product_of(c_.kernel); }

  int workspace_of(int algorithm, std::size_t& bytes) const {
    const auto session = sessions_->of(static_cast<CUstream>(backend_.default_stream()));
    const std::lock_guard lock(session->mutex);
    switch (c_.role) {
      case ConvolutionRole::kForward: return library_.forward_workspace(session->handle, descriptors_.x, descriptors_.w, descriptors_.convolution, descriptors_.y, algorithm, &bytes);
      case ConvolutionRole::kInputGradient: return library_.by_input_workspace(session->handle, descriptors_.w, descriptors_.y, descriptors_.convolution, descriptors_.x, algorithm, &bytes);
      case ConvolutionRole::kWeightGradient: break;
    }
    return library_.by_weight_workspace(session->handle, descriptors_.x, descriptors_.y, descriptors_.convolution, descriptors_.w, algorithm, &bytes);
  }

  int status_of(const Candidate& one, const ConvolutionAddresses& at, void* workspace, void* stream) const {
    const float single[] = {1, 0};
    const double real[] = {1, 0};
    const bool is_real = c_.dtype == float64;
    const void *alpha = is_real ? static_cast<const void*>(&real[0]) : &single[0], *beta = is_real ? static_cast<const void*>(&real[1]) : &single[1];
    const CudnnDescriptors& d = descriptors_;
    const auto session = sessions_->of(static_cast<CUstream>(stream));
    const std::lock_guard lock(session->mutex);
    switch (c_.role) {
      case ConvolutionRole::kForward:
        return library_.forward(session->handle, alpha, d.x, at.input, d.w, at.weight, d.convolution, one.algorithm, workspace, one.bytes, beta, d.y, at.output);
      case ConvolutionRole::kInputGradient:
        return library_.by_input(session->handle, alpha, d.w, at.weight, d.y, at.output, d.convolution, one.algorithm, workspace, one.bytes, beta, d.x, at.input);
      case ConvolutionRole::kWeightGradient: break;
    }
    return library_.by_weight(session->handle, alpha, d.x, at.input, d.y, at.output, d.convolution, one.algorithm, workspace, one.bytes, beta, d.w, at.weight);
  }

  /// Null where it cannot be had.
  std::shared_ptr<PreparedConvolution> make_own(int which) {
    if (which == kOwnUnfolded) return unfolded_convolution(backend_, c_);
    return which == kOwnBlocks ? block_convolution(backend_, c_) : direct_convolution(backend_, c_);
  }
  static std::string name_of(int algorithm) {
    switch (algorithm) {
      case kOwnPlain: return "Damo's plain kernel";
      case kOwnBlocks: return "Damo's blocks";
      case kOwnUnfolded: return "a product of the unfolded picture";
      default: return "algorithm " + std::to_string(algorithm);
    }
  }

  Candidate choose_own(int which) {
    own_ = make_own(which);
    own_is_chosen_.store(true, std::memory_order_release);
    return {which, 0};
  }

  std::string finding_text() const { return "cudnn, blocks and products " + std::to_string(library_.version()) + " " + backend_.limits().description + " " + text_of(c_); }

  Candidate choose(const ConvolutionAddresses& at, void* workspace, void* stream) {
    if (!backend_.may_measure(stream)) return candidates_.front();
    if (const std::optional<Candidate> known = kept()) return known->algorithm < 0 ? choose_own(known->algorithm) : *known;
    std::vector<std::pair<double, Candidate>> times;
    for (const Candidate& one : candidates_) {
      if (status_of(one, at, workspace, stream) != 0) continue;  // the first call loads the kernel
      times.push_back({backend_.measured_milliseconds(stream, kConvolutionRepeats, [&] { status_of(one, at, workspace, stream); }), one});
    }
    const auto measure_own = [&](int which) {
      const std::shared_ptr<PreparedConvolution> own = make_own(which);
      if (!own) return;
      own->run(at, workspace, stream);
      times.push_back({backend_.measured_milliseconds(stream, kConvolutionRepeats, [&] { own->run(at, workspace, stream); }), {which, 0}});
    };
    const auto fastest = [&] { return *std::min_element(times.begin(), times.end(), [](const auto& a, const auto& b) { return a.first < b.first; }); };
    if (fits_blocks(c_)) {
      if (times.empty() || fastest().first > kWorthACompile) measure_own(kOwnBlocks);
    } else if (times.empty() || products() <= kMostOfOwn) {
      measure_own(kOwnPlain);
    }
    if (may_be_unfolded_ && (times.empty() || fastest().first > kWorthACompile)) measure_own(kOwnUnfolded);
    const Candidate best = fastest().second;
    for (const auto& [milliseconds, one] : times) {
      log(LogLevel::kDebug, "cuDNN: " + std::to_string(1000 * milliseconds) + " us by " + name_of(one.algorithm) + " for " + text_of(c_));
    }
    const std::int32_t number = best.algorithm;
    backend_.cache().keep_finding(finding_text(), std::as_bytes(std::span(&number, 1)));
    return best.algorithm < 0 ? choose_own(best.algorithm) : best;
  }

  /// What an earlier process measured, if the library still takes it.
  std::optional<Candidate> kept() {
    const auto bytes = backend_.cache().finding(finding_text());
    std::int32_t number = 0;
    if (!bytes || bytes->size() != sizeof number) return std::nullopt;
    std::memcpy(&number, bytes->data(), sizeof number);
    if (number == kOwnPlain || (number == kOwnBlocks && fits_blocks(c_)) || (number == kOwnUnfolded && may_be_unfolded_)) return Candidate{number, 0};
    const auto found = std::find_if(candidates_.begin(), candidates_.end(), [&](const Candidate& one) { return one.algorithm == number; });
    return found == candidates_.end() ? std::nullopt : std::optional(*found);
  }

  CudaBackend& backend_;
  const CudnnLibrary& library_;
  std::shared_ptr<CudnnSessions> sessions_;
  std::uint32_t generation_ = backend_.generation();
  Convolution c_;
  CudnnDescriptors descriptors_;
  std::vector<Candidate> candidates_;
  bool may_be_unfolded_ = false;
  std::atomic<std::size_t> workspace_ = 0;
  std::mutex mutex_;
  std::optional<Candidate> chosen_;
  std::shared_ptr<PreparedConvolution> own_;
  std::atomic<bool> own_is_chosen_{false};
};

class CudnnEngine final : public ConvolutionEngine {
 public:
  CudnnEngine(CudaBackend& backend, const CudnnLibrary& library) : backend_(backend), library_(library), sessions_(std::make_shared<CudnnSessions>(backend, library)) {}

  const std::string& name() const override { return library_.name; }
  std::shared_ptr<PreparedConvolution> prepare(const Convolution& convolution) override {
    if (!is_taken_by_cudnn(convolution)) return nullptr;
    backend_.bind();
    auto prepared = std::make_shared<PreparedCudnn>(backend_, library_, sessions_, convolution);
    return prepared->is_taken() ? prepared : nullptr;
  }

 private:
  CudaBackend& backend_;
  const CudnnLibrary& library_;
  std::shared_ptr<CudnnSessions> sessions_;
};

}  // namespace

std::unique_ptr<ConvolutionEngine> make_cudnn_engine(CudaBackend& backend) {
  const CudnnLibrary* library = cudnn();
  return library ? std::make_unique<CudnnEngine>(backend, *library) : nullptr;
}

}  // namespace damo::cuda_backend
