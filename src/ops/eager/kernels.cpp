#include "ops/eager/kernels.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "ops/elementwise_op.hpp"

namespace damo {
namespace {

KernelSpec spec_of(const ElementwiseOp& op, std::span<const EagerInput> inputs, DType out) {
  KernelSpec spec;
  std::vector<int> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    spec.inputs.push_back(inputs[i].dtype());
    spec.values.push_back(!inputs[i].array);
    values.push_back(static_cast<int>(i));
  }
  Step step = op.step(spec.inputs, std::move(values));
  spec.name = step.name;
  spec.steps = {std::move(step)};
  spec.stores = {spec.input_count()};
  spec.outputs = {out};
  return spec;
}

}  // namespace

std::shared_ptr<EagerKernel> EagerKernels::kernel(const ElementwiseRow& row, std::span<const EagerInput> inputs,
                                                  DType out, bool cast) {
  if (inputs.size() > kMostInputs) {
    throw GraphError(row.name + " has " + std::to_string(inputs.size()) +
                         " inputs; arithmetic on arrays takes " + std::to_string(kMostInputs),
                     "use it in a graph");
  }
  Key key{&row, {static_cast<std::uint64_t>(out) | (cast ? 16u : 0u), 0}};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::uint64_t code = static_cast<std::uint64_t>(inputs[i].dtype()) | (inputs[i].array ? 0u : 16u);
    if (i < 11)
      key.dtypes[0] |= code << (5 * i + 5);
    else
      key.dtypes[1] |= code << (5 * (i - 11));
  }
  {
    const std::shared_lock lock(mutex_);
    const auto found = kernels_.find(key);
    if (found != kernels_.end()) return found->second.kernel;
  }
  Entry made{cast ? OpPtr(cast_op(out)) : elementwise_op(row), nullptr};
  const auto& op = static_cast<const ElementwiseOp&>(*made.op);
  made.kernel = std::make_shared<EagerKernel>(spec_of(op, inputs, out), backend_);
  key.row = &op.row();
  const std::unique_lock lock(mutex_);
  if (kernels_.size() >= kLimit) kernels_.clear();
  return kernels_.try_emplace(key, std::move(made)).first->second.kernel;
}

namespace {

/// The one of that number, made if there is none.
template <class Made, class Make>
std::shared_ptr<Made> found_or_made(std::shared_mutex& mutex,
                                    std::unordered_map<std::uint32_t, std::shared_ptr<Made>>& all, std::uint32_t number,
                                    const Make& make) {
  {
    const std::shared_lock lock(mutex);
    const auto found = all.find(number);
    if (found != all.end()) return found->second;
  }
  std::shared_ptr<Made> made = make();
  const std::unique_lock lock(mutex);
  if (all.size() >= EagerKernels::kLimit) all.clear();
  return all.try_emplace(number, std::move(made)).first->second;
}

}  // namespace

std::shared_ptr<EagerKernel> EagerKernels::reducing(std::uint32_t number, const std::function<KernelSpec()>& spec) {
  return found_or_made(mutex_, reductions_, number, [&] { return std::make_shared<EagerKernel>(spec(), backend_); });
}

std::shared_ptr<const ElementwiseKernel> EagerKernels::snippet(std::uint32_t number,
                                                               const std::function<ElementwiseKernel()>& make) {
  return found_or_made(mutex_, snippets_, number, [&] { return std::make_shared<const ElementwiseKernel>(make()); });
}

std::uint32_t EagerKernels::number_of_users() {
  static std::atomic<std::uint32_t> count = 0;
  return std::uint32_t{1} << 31 | count.fetch_add(1, std::memory_order_relaxed);
}

std::size_t EagerKernels::size() const {
  const std::shared_lock lock(mutex_);
  return kernels_.size();
}

}  // namespace damo
