#include "runtime/cuda/cufft.hpp"

#include <algorithm>
#include <map>
#include <mutex>

#include "runtime/cuda/backend.hpp"
#include "runtime/cuda/cufft_library.hpp"
#include "runtime/memory/workspace.hpp"
#include "runtime/stream/work_log.hpp"

namespace damo::cuda_backend {
namespace {

constexpr std::size_t kMostCufftPlans = 64;

class Cufft final : public FourierEngine {
 public:
  Cufft(CudaBackend& backend, const CufftLibrary& library) : backend_(backend), library_(library) {}

  const std::string& name() const override { return library_.name; }

  /// One thread at a time: a plan has one scratch memory. After a reset the plans' context is gone, and with it they; the engine is made anew then.
  void run(const FourierTransform& t, void* from, void* to) override {
    enter_default_stream(backend_);
    const std::lock_guard lock(mutex_);
    backend_.bind();
    const Plan& plan = plan_of(t);
    const Scratch work(backend_, scratch_bytes(plan));
    check(library_.set_work_area(plan.number, work.data()), "cufftSetWorkArea");
    const bool wide = t.dtype == float64;
    const int direction = t.inverse ? kCufftInverse : kCufftForward;
    switch (t.kind) {
      case FourierKind::kComplex: return check((wide ? library_.complex64 : library_.complex)(plan.number, from, to, direction), "cufftExecC2C");
      case FourierKind::kRealToComplex: return check((wide ? library_.real_to_complex64 : library_.real_to_complex)(plan.number, from, to), "cufftExecR2C");
      case FourierKind::kComplexToReal: return check((wide ? library_.complex_to_real64 : library_.complex_to_real)(plan.number, from, to), "cufftExecC2R");
    }
  }
  std::size_t workspace_bytes(const FourierTransform& t) override {
    const std::lock_guard lock(mutex_);
    backend_.bind();
    return scratch_bytes(plan_of(t));
  }

 private:
  struct Plan {
    int number = 0;
    std::size_t work_bytes = 0;
  };
  static std::size_t scratch_bytes(const Plan& plan) { return std::max<std::size_t>(plan.work_bytes, 1); }

  const Plan& plan_of(FourierTransform t) {
    if (t.kind == FourierKind::kComplex) t.inverse = false;  // one plan goes both ways
    if (const auto found = plans_.find(t); found != plans_.end()) return found->second;
    if (plans_.size() == kMostCufftPlans) {
      for (const auto& [form, plan] : plans_) library_.destroy(plan.number);  // waits for what runs
      plans_.clear();
    }
    Plan plan;
    check(library_.create(&plan.number), "cufftCreate");
    try {
      make(t, plan);
    } catch (...) {
      library_.destroy(plan.number);
      throw;
    }
    return plans_[t] = plan;
  }
  void make(const FourierTransform& t, Plan& plan) const {
    const bool wide = t.dtype == float64;
    const int type = t.kind == FourierKind::kComplex          ? (wide ? kCufftComplex64 : kCufftComplex)
                     : t.kind == FourierKind::kRealToComplex ? (wide ? kCufftRealToComplex64 : kCufftRealToComplex)
                                                              : (wide ? kCufftComplexToReal64 : kCufftComplexToReal);
    long long extents[FourierTransform::kMostAxes];
    std::copy_n(t.extents.begin(), t.rank, extents);
    std::size_t bytes = 0;
    check(library_.set_auto_allocation(plan.number, 0), "cufftSetAutoAllocation");
    check(library_.make_plan(plan.number, t.rank, extents, nullptr, 1, 0, nullptr, 1, 0, type, t.count, &bytes), "cufftMakePlanMany64");
    check(library_.set_stream(plan.number, static_cast<CUstream>(backend_.default_stream())), "cufftSetStream");
    plan.work_bytes = bytes;
  }
  void check(int status, const char* call) const {
    if (status != 0) throw DeviceError(std::string(call) + " failed with status " + std::to_string(status), library_.name);
  }

  CudaBackend& backend_;
  const CufftLibrary& library_;
  std::mutex mutex_;
  std::map<FourierTransform, Plan> plans_;
};

}  // namespace

std::unique_ptr<FourierEngine> make_cufft(CudaBackend& backend) { return std::make_unique<Cufft>(backend, cufft()); }

}  // namespace damo::cuda_backend
