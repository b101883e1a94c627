#include <damo/reduction_kernel.hpp>

#include <span>
#include <vector>

#include "ops/eager/join_kernel.hpp"
#include "ops/reductions.hpp"

namespace damo {

struct ReductionKernel::Data {
  JoinKernel kernel;
};

ReductionKernel::ReductionKernel(JoinDefinition definition) : data_(std::make_shared<Data>(Data{JoinKernel(std::move(definition), Prefix::kNone)})) {}

Array ReductionKernel::run(const Axes& axes, bool keepdims, std::initializer_list<ArrayOperand> given) const {
  data_->kernel.require_one_result();
  return run_all(axes, keepdims, given)[0];
}

std::vector<Array> ReductionKernel::run_all(const Axes& axes, bool keepdims, std::initializer_list<ArrayOperand> given) const {
  const JoinKernel& kernel = data_->kernel;
  const SnippetArguments arguments = kernel.take(std::span(given.begin(), given.size()));
  const Shape space = common_shape(kernel.spec().name, arguments.arrays);
  const std::uint32_t mask = axes.mask(space.rank(), kernel.spec().name);
  std::vector<Array> outs;
  for (DType dtype : kernel.spec().outputs) outs.push_back(Array::empty(reduced_shape(space, mask, true), dtype, Device(arguments.backend)));
  kernel.run(arguments, outs, space, mask);
  for (Array& out : outs) out = keepdims ? out : out.reshape(reduced_shape(space, mask, false));
  return outs;
}

}  // namespace damo
