#include "runtime/cuda/cublas_engine.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <damo/array.hpp>
#include <damo/log.hpp>

#include "graph/base/environment.hpp"
#include "runtime/cuda/backend.hpp"
#include "runtime/cuda/cublas_library.hpp"
#include "runtime/cuda/small_product.hpp"
#include "runtime/kernel/cache.hpp"
#include "runtime/library/generated_product.hpp"
#include "runtime/stream/capture.hpp"
#include "runtime/stream/work_log.hpp"

namespace damo::cuda_backend {
namespace {

constexpr std::size_t kWorkspace = std::size_t{32} << 20;  // what NVIDIA advises for Hopper
constexpr int kCandidates = 16;     // of which each runs once
/// Of short products: to load an algorithm's kernel takes some 5 ms, and of 16 of them on an H200 none had its fastest behind the first four.
constexpr int kFewCandidates = 4;
constexpr double kFewOperations = 1 << 28;
constexpr int kFinalists = 4, kRepeats = 10;
constexpr int kBestAlignment = 16;  // bytes: of the widest loads

int type_of(DType dtype) {
  switch (dtype) {
    case float64: return kCublasReal64;
    case float16: return kCublasReal16;
    case bfloat16: return kCublasBfloat16;
    case float8_e4m3: return kCublasReal8E4M3;
    case float8_e5m2: return kCublasReal8E5M2;
    case int8: return kCublasInt8;
    case int32: return kCublasInt32;
    default: return kCublasReal32;
  }
}

/// Alpha and beta in the dtype that the library computes in.
struct Scale {
  std::array<std::byte, 8> bytes{};
  Scale(double value, DType dtype) { Scalar(value).cast(dtype).store(bytes.data()); }
};
DType scale_dtype(const MatrixProduct& product) { return product.result == float64 ? float64 : product.result == int32 ? int32 : float32; }

/// The library's objects for one product, which it multiplies by columns: C' = B' A'.
class Descriptors {
 public:
  Descriptors(const CublasLibrary& library, const MatrixProduct& p, MatrixOrder a, MatrixOrder b) : library_(library) {
    const DType scale = scale_dtype(p);
    const int compute = scale == float64 ? kCompute64 : scale == int32 ? kComputeInt32 : p.tf32 ? kCompute32FastTf32 : kCompute32;
    check_cublas(library.desc_create(&desc, compute, type_of(scale)), "cublasLtMatmulDescCreate");
    const std::int32_t turn_b = b.is_transposed, turn_a = a.is_transposed;  // 1: CUBLAS_OP_T
    set(kDescTransposeA, turn_b);
    set(kDescTransposeB, turn_a);
    const std::uint32_t activation = p.activation == Activation::kGeluTanh ? kEpilogueGelu : 0;
    const std::uint32_t epilogue = activation | (p.has_bias ? kEpilogueBias : 0);
    if (epilogue != 0) set(kDescEpilogue, epilogue);
    first = layout(p.b_operands.value_or(p.operands), b.is_transposed ? p.k : p.n, b.is_transposed ? p.n : p.k, b.leading, p.batches, p.b.batch);
    second = layout(p.operands, a.is_transposed ? p.m : p.k, a.is_transposed ? p.k : p.m, a.leading, p.batches, p.a.batch);
    result = layout(p.result, p.n, p.m, std::max(p.c.row, p.n), p.batches, p.c.batch);
  }
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;
  ~Descriptors() {
    if (desc) library_.desc_destroy(desc);
    for (CublasLayout made : layouts_) library_.layout_destroy(made);
  }

  void set_bias(const void* address) { set(kDescBiasPointer, address); }

  CublasDesc desc = nullptr;
  CublasLayout first = nullptr, second = nullptr, result = nullptr;

 private:
  template <class T>
  void set(int attribute, const T& value) {
    check_cublas(library_.desc_set(desc, attribute, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
  }
  CublasLayout layout(DType dtype, std::int64_t rows, std::int64_t columns, std::int64_t leading, std::int64_t batches, std::int64_t stride) {
    CublasLayout made = nullptr;
    check_cublas(library_.layout_create(&made, type_of(dtype), static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns), leading), "cublasLtMatrixLayoutCreate");
    layouts_.push_back(made);
    if (batches > 1) {
      const auto count = static_cast<std::int32_t>(batches);
      check_cublas(library_.layout_set(made, kLayoutBatchCount, &count, sizeof count), "cublasLtMatrixLayoutSetAttribute");
      check_cublas(library_.layout_set(made, kLayoutBatchStride, &stride, sizeof stride), "cublasLtMatrixLayoutSetAttribute");
    }
    return made;
  }
  const CublasLibrary& library_;
  std::vector<CublasLayout> layouts_;
};

/// What a product depends on, as a key of the cache.
std::string text_of(const MatrixProduct& p) {
  std::string text = std::string(name(p.operands)) + (p.b_operands ? " " + std::string(name(*p.b_operands)) : "") + " " + std::string(name(p.result));
  for (const std::int64_t number : {p.m, p.n, p.k, p.batches, p.a.row, p.a.column, p.a.batch, p.b.row, p.b.column, p.b.batch, p.c.row, p.c.batch}) text += " " + std::to_string(number);
  return text + (p.beta != 0 ? " start" : "") + (p.has_bias ? " bias" : "") + (p.tf32 ? " tf32" : "") + " " + std::to_string(static_cast<int>(p.activation));
}

bool measures_small_products() { return environment("DAMO_TUNE") != "0"; }

class CublasProduct final : public PreparedProduct {
 public:
  CublasProduct(CudaBackend& backend, const CublasLibrary& library, CublasHandle handle, const MatrixProduct& product, MatrixOrder a, MatrixOrder b)
      : backend_(backend), library_(library), handle_(handle), p_(product), alpha_(product.alpha, scale_dtype(product)), beta_(product.beta, scale_dtype(product)),
        descriptors_(library, product, a, b), candidates_(candidates(kBestAlignment, kWorkspace)) {
    for (const CublasHeuristic& one : candidates_) workspace_ = std::max(workspace_, (one.workspace_bytes + 255) / 256 * 256);
    if (is_taken() && measures_small_products()) small_ = small_product(backend, product);
  }

  bool is_taken() const { return !candidates_.empty(); }

  std::size_t workspace_bytes() const override { return workspace_ + (p_.has_bias ? bias_bytes() : 0); }

  void run(const MatrixAddresses& given, void* workspace, void* stream) override {
    if (backend_.generation() != generation_) refuse_lost(backend_, "a matrix product");
    if (takes_small_.load(std::memory_order_acquire) && alignment_of(given) == kBestAlignment) return small_->run(given, stream);
    if (!stream) stream = backend_.default_stream();
    if (stream == backend_.default_stream()) {
      if (WorkLog* log = current_log(backend_); log && log->multiply(*this, given, workspace)) return;
      check_default_stream(backend_);
    }
    backend_.bind();
    MatrixAddresses at = given;
    if (!at.start) at.start = at.result;  // not read: beta is 0
    const int alignment = alignment_of(at);
    const std::lock_guard lock(mutex_);  // the address of the bias is part of a descriptor
    if (p_.has_bias) {
      if (reinterpret_cast<std::uintptr_t>(at.bias) % kBestAlignment != 0) at.bias = aligned_bias(at.bias, workspace, stream);
      descriptors_.set_bias(at.bias);
    }
    if (alignment == kBestAlignment) {
      if (!chosen_) chosen_ = choose(at, workspace, stream);
      if (takes_small_) return small_->run(given, stream);
      multiply(*chosen_, at, workspace, stream);
    } else {
      run_misaligned(alignment, at, workspace, stream);
    }
    backend_.note_work(stream);
    backend_.launches.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  /// A power of 2 that divides all addresses, at most kBestAlignment. That of the bias is seen to apart.
  static int alignment_of(const MatrixAddresses& at) {
    std::uintptr_t bits = kBestAlignment;
    for (const void* address : {at.a, at.b, at.start, static_cast<const void*>(at.result)}) bits |= reinterpret_cast<std::uintptr_t>(address);
    return static_cast<int>(bits & (~bits + 1));
  }

  std::size_t bias_bytes() const { return static_cast<std::size_t>(p_.n) * itemsize(p_.result); }

  /// A copy behind the workspace.
  const void* aligned_bias(const void* bias, void* workspace, void* stream) {
    void* to = static_cast<std::byte*>(workspace) + workspace_;
    backend_.copy(to, bias, bias_bytes(), CopyKind::kDeviceToDevice, stream);
    return to;
  }

  std::vector<CublasHeuristic> candidates(int alignment, std::size_t workspace) const {
    CublasPreference preference = nullptr;
    check_cublas(library_.preference_create(&preference), "cublasLtMatmulPreferenceCreate");
    const std::unique_ptr<std::remove_pointer_t<CublasPreference>, int (*)(CublasPreference)> owner(preference, library_.preference_destroy);
    const std::uint64_t most = workspace;
    check_cublas(library_.preference_set(preference, kPreferenceWorkspace, &most, sizeof most), "cublasLtMatmulPreferenceSetAttribute");
    // Parts of k that are added up apart stay in float32: its other schemes round each part to the result's 16 bits.
    if (is_half(p_.result)) check_cublas(library_.preference_set(preference, kPreferenceReductions, &kReductionOfComputeType, sizeof kReductionOfComputeType), "cublasLtMatmulPreferenceSetAttribute");
    const auto bytes = static_cast<std::uint32_t>(alignment);
    for (const int attribute : {kPreferenceAlignmentA, kPreferenceAlignmentB, kPreferenceAlignmentC, kPreferenceAlignmentD}) {
      check_cublas(library_.preference_set(preference, attribute, &bytes, sizeof bytes), "cublasLtMatmulPreferenceSetAttribute");
    }
    const double operations = static_cast<double>(p_.m) * static_cast<double>(p_.n) * static_cast<double>(p_.k) * static_cast<double>(std::max<std::int64_t>(p_.batches, 1));
    std::vector<CublasHeuristic> found(operations < kFewOperations ? kFewCandidates : kCandidates);
    int count = 0;
    const int status = library_.heuristics(handle_, descriptors_.desc, descriptors_.first, descriptors_.second, descriptors_.result, descriptors_.result, preference, static_cast<int>(found.size()),
                                           found.data(), &count);
    found.resize(status == 0 ? static_cast<std::size_t>(std::max(count, 0)) : 0);
    std::erase_if(found, [&](const CublasHeuristic& one) { return one.state != 0 || one.workspace_bytes > most; });
    return found;
  }

  int status_of(const CublasHeuristic& algorithm, const MatrixAddresses& at, void* workspace, void* stream) {
    return library_.matmul(handle_, descriptors_.desc, alpha_.bytes.data(), at.b, descriptors_.first, at.a, descriptors_.second, beta_.bytes.data(), at.start, descriptors_.result,
                           at.result, descriptors_.result, &algorithm.algorithm, workspace, algorithm.workspace_bytes, static_cast<CUstream>(stream));
  }
  void multiply(const CublasHeuristic& algorithm, const MatrixAddresses& at, void* workspace, void* stream) {
    check_cublas(status_of(algorithm, at, workspace, stream), "cublasLtMatmul");
  }

  void run_misaligned(int alignment, const MatrixAddresses& at, void* workspace, void* stream) {
    const auto [found, is_new] = misaligned_.try_emplace(alignment);
    if (is_new) {
      const std::vector<CublasHeuristic> all = candidates(alignment, workspace_);
      if (!all.empty()) found->second = all.front();
    }
    if (found->second) return multiply(*found->second, at, workspace, stream);
    if (p_.has_bias || p_.activation != Activation::kNone) {
      throw DeviceError("cuBLASLt has no algorithm for operands at addresses that are multiples of " + std::to_string(alignment) + " bytes alone", "copy() the operands, or switch fuse_products off");
    }
    if (!generated_) generated_ = generated_product(backend_, p_);
    generated_->run(at, nullptr, stream);
  }

  std::string finding_text() const {
    return "cublaslt " + std::to_string(library_.version()) + (is_half(p_.result) ? " float32 parts " : small_ ? " or a small kernel " : " ") + backend_.limits().description + " " + text_of(p_);
  }

  /// The library's fastest algorithm; sets takes_small_ if the kernel of small products is faster.
  CublasHeuristic choose(const MatrixAddresses& at, void* workspace, void* stream) {
    if ((candidates_.size() == 1 && !small_) || !backend_.may_measure(stream)) return candidates_.front();
    if (const std::optional<CublasHeuristic> known = kept()) return *known;
    // C0 would change under repeats in place.
    MatrixAddresses trial = at;
    Array scratch;
    if (p_.beta != 0 && at.start == at.result) {
      scratch = Array::empty({(p_.batches - 1) * p_.c.batch + p_.m * std::max(p_.c.row, p_.n)}, p_.result, Device(&backend_));
      trial.result = scratch.data();
    }
    const std::size_t small = candidates_.size();  // the number of that kernel, behind the library's
    const auto run = [&](std::size_t number) {
      if (number == small) return small_->run(trial, stream), 0;
      return status_of(candidates_[number], trial, workspace, stream);
    };
    const auto milliseconds = [&](std::size_t number, int repeats) { return backend_.measured_milliseconds(stream, repeats, [&] { run(number); }); };
    std::vector<std::pair<double, std::size_t>> times;
    for (std::size_t number = 0; number <= small; ++number) {
      if (number == small && !(small_ && small_->is_ready())) continue;
      if (run(number) == 0) times.push_back({milliseconds(number, 1), number});  // the first call loads the kernel
    }
    if (times.empty()) return candidates_.front();
    std::sort(times.begin(), times.end());
    times.resize(std::min<std::size_t>(times.size(), kFinalists));
    for (auto& [time, number] : times) time = milliseconds(number, kRepeats);
    const std::size_t best = std::min_element(times.begin(), times.end())->second;
    log(LogLevel::kDebug, "cuBLASLt: of " + std::to_string(candidates_.size()) + " algorithms " + (best == small ? "none is as fast as the kernel of small products" : "number " + std::to_string(best) + " is the fastest") + " for " + text_of(p_));
    takes_small_ = best == small;
    const std::span<const std::byte> finding = takes_small_ ? std::as_bytes(std::span(&kSmall, 1)) : std::as_bytes(std::span(&candidates_[best].algorithm, 1));
    backend_.cache().keep_finding(finding_text(), finding);
    return takes_small_ ? candidates_.front() : candidates_[best];
  }

  /// What an earlier process measured, if it can still be had.
  std::optional<CublasHeuristic> kept() {
    const auto bytes = backend_.cache().finding(finding_text());
    if (bytes && bytes->size() == sizeof kSmall && small_ && small_->is_ready()) {
      takes_small_ = true;
      return candidates_.front();
    }
    CublasHeuristic known{};
    if (!bytes || bytes->size() != sizeof known.algorithm) return std::nullopt;
    CublasAlgorithm algorithm;
    std::memcpy(&algorithm, bytes->data(), sizeof algorithm);
    const int status = library_.check(handle_, descriptors_.desc, descriptors_.first, descriptors_.second, descriptors_.result, descriptors_.result, &algorithm, &known);
    if (status != 0 || known.workspace_bytes > workspace_) return std::nullopt;
    known.algorithm = algorithm;
    return known;
  }

  static constexpr std::byte kSmall{1};  // what is kept of a product that the kernel of small products computes

  CudaBackend& backend_;
  const CublasLibrary& library_;
  CublasHandle handle_;
  std::uint32_t generation_ = backend_.generation();
  MatrixProduct p_;
  Scale alpha_, beta_;
  Descriptors descriptors_;
  std::vector<CublasHeuristic> candidates_;
  std::size_t workspace_ = 0;
  std::mutex mutex_;
  std::optional<CublasHeuristic> chosen_;
  std::shared_ptr<SmallProduct> small_;  // null: it does not take the product, or nothing is measured
  std::atomic<bool> takes_small_ = false;
  std::map<int, std::optional<CublasHeuristic>> misaligned_;  // by alignment; none: the library has no algorithm
  std::shared_ptr<PreparedProduct> generated_;
};

/// Opens cuBLASLt, half a gigabyte, beside what the thread that asks goes on with: it costs a core 50 ms, as long as a kernel takes to compile, and function()
/// needs nothing of it.
/// A process must not end meanwhile: exit() would destroy what the library's own constructors have made so far, and they would go on with it. Objects of a
/// thread are destroyed before any of the process is, so the thread that asked waits at its own end, which for the main thread is exit().
void open_cublas_beside() {
  thread_local std::jthread opening;
  if (opening.joinable()) return;
  try {
    opening = std::jthread([] {
      try {
        cublas();
      } catch (...) {  // who asks next tries again, and is told
      }
    });
  } catch (const std::system_error&) {
    // No thread for it: the first product opens it.
  }
}

/// Made where a library is expected. Where it then cannot be opened all products are refused, so that Damo's own kernels compute them.
class CublasEngine final : public MatrixEngine {
 public:
  explicit CublasEngine(CudaBackend& backend) : backend_(backend) { open_cublas_beside(); }

  const std::string& name(DType) const override {
    static const std::string none = "no cuBLASLt";
    const CublasLibrary* library = cublas();
    return library ? library->name : none;
  }
  /// 8-bit floats as they are where tensor cores multiply them. Those no kernel of Damo's own multiplies as they are, so the library must be there.
  std::optional<DType> computes_as(DType operands) const override {
    if (is_float8(operands)) return !cublas() ? std::nullopt : std::optional(backend_.architecture() >= 89 ? operands : float16);
    return is_floating(operands) ? std::optional(operands) : std::nullopt;
  }
  /// The bias of 8-bit operands would be bfloat16 beside a float32 result.
  bool has_epilogues(DType operands) const override { return is_floating(operands) && operands != float64 && !is_float8(operands); }
  std::vector<CompileRequest> code(const MatrixProduct& product) override {
    auto kernel = measures_small_products() ? small_product_kernel(backend_, product) : std::nullopt;
    return kernel ? std::vector{std::move(kernel->request)} : std::vector<CompileRequest>();
  }
  std::shared_ptr<PreparedProduct> prepare(const MatrixProduct& product) override {
    const auto a = order_of(product.a, product.m, product.k), b = order_of(product.b, product.k, product.n);
    const bool is_int8 = product.operands == int8 && product.result == int32;
    const bool is_wide = product.result == float32 || is_half(product.result);
    // The library reads both along the summed axis, and has no products of two float8_e5m2.
    const bool are_e5m2 = product.operands == float8_e5m2 && !product.b_operands;
    if (is_float8(product.operands) && (!a || !b || a->is_transposed || !b->is_transposed || !is_wide || are_e5m2)) return nullptr;
    const bool fits = is_int8 || is_float8(product.operands) || product.operands == product.result || (is_half(product.operands) && product.result == float32);
    if (!a || !b || !fits || !(is_int8 || is_floating(product.operands)) || product.batches > std::numeric_limits<std::int32_t>::max()) return nullptr;
    if (product.operands == float64 && (product.has_bias || product.activation != Activation::kNone)) return nullptr;
    const std::int64_t numbers[] = {product.m, product.n, product.k};
    if (std::any_of(std::begin(numbers), std::end(numbers), [](std::int64_t number) { return number > std::numeric_limits<std::int32_t>::max(); })) return nullptr;
    const CublasLibrary* library = cublas();
    if (!library) return nullptr;
    backend_.bind();
    auto prepared = std::make_shared<CublasProduct>(backend_, *library, handle(*library), product, *a, *b);
    return prepared->is_taken() ? prepared : nullptr;
  }

 private:
  CudaBackend& backend_;
  /// Made at the first product: the engine is made under a lock that a reset takes while it holds the context's. Not destroyed: at
  /// a reset its context is gone, and at the end of the process the driver may be.
  CublasHandle handle(const CublasLibrary& library) {
    const std::lock_guard lock(mutex_);
    if (!handle_) check_cublas(library.create(&handle_), "cublasLtCreate");
    return handle_;
  }
  std::mutex mutex_;
  CublasHandle handle_ = nullptr;
};

}  // namespace

std::unique_ptr<MatrixEngine> make_cublas_engine(CudaBackend& backend) {
  return has_cublas_file() || cublas() ? std::make_unique<CublasEngine>(backend) : nullptr;
}

}  // namespace damo::cuda_backend
