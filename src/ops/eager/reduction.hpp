// Reduction: a ReductionDefinition and its compiled kernels; plans and launches. Thread-safe.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include <damo/array.hpp>

#include "ops/eager/axis_groups.hpp"
#include "ops/eager/reduction_text.hpp"

namespace damo {

class Reduction {
 public:
  /// Throws GraphError for a definition that makes no sense.
  explicit Reduction(ReductionDefinition definition);

  const ReductionDefinition& definition() const { return definition_; }
  /// The GPU's text on any device, for tests: the CPU runs its barriers too, slowly. For kCudaC only.
  void use_gpu_text() { gpu_text_ = true; }
  /// arrays broadcast to space; scalars in order of the definition's. out: C order, a place for each combination of the
  /// axes that reduced_axes (bit a: axis a) leaves out.
  void run(Backend& backend, std::span<const Array> arrays, std::span<const std::uint64_t> scalars, const Shape& space,
           std::uint32_t reduced_axes, const Array& out);

 private:
  struct Plan;
  struct Kernels {
    std::shared_ptr<const LoadedKernel> main, finish;
  };
  Plan plan(Backend& backend, const AxisGroups& groups) const;
  Kernels kernels(Backend& backend, const ReductionLayout& layout);
  ReductionArguments arguments(const Plan& plan, const AxisGroups& groups, std::span<const Array> arrays,
                               std::span<const std::uint64_t> scalars, const Array& out, const Array& partial) const;

  static constexpr std::size_t kMostKernels = 512;  // of one Reduction; then all are dropped, their code stays cached
  ReductionDefinition definition_;
  std::vector<bool> plain_;  // array by array
  bool with_index_ = false;
  bool gpu_text_ = false;
  std::mutex mutex_;
  std::map<std::pair<Backend*, std::string>, Kernels> kernels_;
};

}  // namespace damo
