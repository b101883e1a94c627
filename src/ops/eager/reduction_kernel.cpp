// A ReductionKernel is a KernelSpec whose join calls the user's text; its compiled kernels are the device's
// (EagerKernels).
#include <damo/reduction_kernel.hpp>

#include <span>
#include <string>
#include <vector>

#include <damo/error.hpp>

#include "ops/eager/kernels.hpp"
#include "ops/eager/overlap.hpp"
#include "ops/eager/reduction_spec.hpp"
#include "ops/eager/snippet.hpp"
#include "ops/reductions.hpp"

namespace damo {

struct ReductionKernel::Data {
  ReductionSpec reduction;
  std::uint32_t number;  // among the device's kernels
};

ReductionKernel::ReductionKernel(ReductionKernelDefinition definition)
    : data_(std::make_shared<Data>(Data{reduction_spec(std::move(definition)), EagerKernels::number_of_users()})) {}

Array ReductionKernel::run(const Axes& axes, bool keepdims, std::initializer_list<ArrayOperand> given) const {
  const KernelSpec& spec = data_->reduction.spec;
  if (spec.outputs.size() > 1) throw GraphError("ReductionKernel " + spec.name + " has " + std::to_string(spec.outputs.size()) + " results", "results() and results_along() give them all; .post makes one of them");
  return run_all(axes, keepdims, given)[0];
}

std::vector<Array> ReductionKernel::run_all(const Axes& axes, bool keepdims, std::initializer_list<ArrayOperand> given) const {
  const auto& [parameters, plain, spec] = data_->reduction;
  const SnippetArguments arguments(spec.name, parameters, std::span(given.begin(), given.size()));
  const Shape space = common_shape(spec.name, arguments.arrays);
  const std::uint32_t mask = axes.mask(space.rank(), spec.name);
  std::vector<Array> outs;
  for (DType dtype : spec.outputs) outs.push_back(Array::empty(reduced_shape(space, mask, true), dtype, Device(arguments.backend)));
  std::vector<EagerInput> inputs;
  std::vector<Array> copies;  // alive until the launch
  std::size_t array = 0, number = 0;
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    if (!parameters[k].is_pointer) {
      inputs.push_back({nullptr, arguments.numbers[number++]});
      continue;
    }
    const Array& x = arguments.arrays[array++];
    if (!plain[k]) {
      inputs.push_back({&x, {}});
      continue;
    }
    const Array whole = x.broadcast_to(space);
    copies.push_back(whole.is_contiguous() ? whole : packed_copy(whole));
    inputs.push_back(
        {nullptr, Scalar(static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(copies.back().data())))});
  }
  EagerKernels::of(*arguments.backend)
      ->reducing(data_->number, [this] { return data_->reduction.spec; })
      ->run(inputs, outs, space, mask);
  for (Array& out : outs) out = keepdims ? out : out.reshape(reduced_shape(space, mask, false));
  return outs;
}

}  // namespace damo
