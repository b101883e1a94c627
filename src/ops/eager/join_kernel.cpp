#include "ops/eager/join_kernel.hpp"

#include <string>

#include <damo/error.hpp>

#include "ops/eager/kernels.hpp"
#include "ops/eager/overlap.hpp"

namespace damo {

JoinKernel::JoinKernel(JoinDefinition definition, Prefix prefix) : made_(join_spec(std::move(definition), prefix)), number_(EagerKernels::number_of_users()) {}

void JoinKernel::require_one_result() const {
  if (const std::size_t results = spec().outputs.size(); results > 1) throw GraphError(made_.label + " has " + std::to_string(results) + " results", "results() and results_along() give them all; .post makes one of them");
}

void JoinKernel::run(const SnippetArguments& arguments, std::span<const Array> outs, const Shape& space, std::uint32_t axes) const {
  std::vector<EagerInput> inputs;
  std::vector<Array> copies;  // alive until the launch
  std::size_t array = 0, number = 0;
  for (std::size_t k = 0; k < made_.parameters.size(); ++k) {
    if (!made_.parameters[k].is_pointer) {
      inputs.push_back({nullptr, arguments.numbers[number++]});
      continue;
    }
    const Array& x = arguments.arrays[array++];
    if (!made_.plain[k]) {
      inputs.push_back({&x, {}});
      continue;
    }
    const Array whole = x.broadcast_to(space);
    copies.push_back(whole.is_contiguous() ? whole : packed_copy(whole));
    inputs.push_back({nullptr, Scalar(static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(copies.back().data())))});
  }
  EagerKernels::of(*arguments.backend)->reducing(number_, [this] { return made_.spec; })->run(inputs, outs, space, axes);
}

}  // namespace damo
