// A ScanKernel is a KernelSpec whose join is the user's text; its compiled kernels are the device's (EagerKernels).
#include <damo/scan_kernel.hpp>

#include <damo/axes.hpp>
#include <damo/error.hpp>
#include "graph/base/computed_dtype.hpp"
#include "ops/eager/kernels.hpp"
#include "ops/eager/overlap.hpp"
#include "ops/eager/snippet.hpp"
#include "runtime/kernel/given_names.hpp"

namespace damo {

struct ScanKernel::Data {
  KernelSpec spec;
  DType dtype;
  std::uint32_t number;  // among the device's kernels
};

ScanKernel::ScanKernel(DType dtype, SourceText operation, SourceText neutral, bool exclusive, ScanKernelOptions options) {
  const std::string label = "ScanKernel " + options.name;
  if (!is_identifier(options.name)) throw GraphError(label + ": a kernel cannot be called so", "use letters, digits and _");
  if (operation.text.empty()) throw GraphError(label + ": it has no operation", "\"a + b\"");
  if (exclusive && neutral.text.empty()) throw GraphError(label + ": it has no neutral value", "\"0\"");
  require_computed(label, dtype);
  KernelSpec spec;
  spec.name = std::move(options.name);
  spec.inputs = spec.outputs = {dtype};
  Step step;
  step.name = spec.name;
  step.code = "x0";
  step.inputs = {0};
  step.compute = is_half(dtype) ? float32 : dtype;
  step.result = dtype;
  step.join = Join{.bytes = static_cast<int>(itemsize(step.compute)), .neutral = exclusive ? "damo_neutral()" : "", .reduce = "damo_join(a, b)",
                   .prefix = exclusive ? Prefix::kExclusive : Prefix::kInclusive};
  spec.steps = {std::move(step)};
  spec.stores = {1};
  const std::string type = c_type(spec.steps[0].compute);
  std::string text = options.preamble.text.empty() ? std::string() : with_lines(options.preamble);
  if (exclusive) text += function_of(type, "damo_neutral()", neutral);
  text += function_of(type, "damo_join(" + type + " a, " + type + " b)", operation);
  spec.users_text = UsersText{std::move(text), std::move(options.flags)};
  data_ = std::make_shared<Data>(Data{std::move(spec), dtype, EagerKernels::number_of_users()});
}

Array ScanKernel::operator()(const Array& x, int axis) const {
  if (!x) throw TypeError(data_->spec.name + ": the Array is empty", "check the Array with if (array)");
  const Array y = Array::empty(x.shape(), x.dtype(), x.device());
  into(x, y, axis);
  return y;
}

void ScanKernel::into(const Array& x, const Array& y, int axis) const {
  const std::string& name = data_->spec.name;
  if (!x || !y) throw TypeError(name + ": an Array is empty", "check the Array with if (array)");
  for (const Array* array : {&x, &y}) {
    if (array->dtype() == data_->dtype) continue;
    throw TypeError(name + " works on " + std::string(damo::name(data_->dtype)) + ", it is given " + describe(*array), "astype(x, " + std::string(damo::name(data_->dtype)) + ") converts it");
  }
  if (!(x.shape() == y.shape())) throw ShapeError(name + ": shapes differ: " + to_string(x.shape()) + " into " + to_string(y.shape()), "give the result the shape of the input");
  if (!(x.device() == y.device())) throw DeviceError(name + ": " + describe(x) + " into " + describe(y), "move one of them: x.to(device)");
  const std::uint32_t mask = Axes(axis).mask(x.rank(), name);
  check_writable(name, y);
  const auto kernel = EagerKernels::of(x.device().backend())->reducing(data_->number, [&] { return data_->spec; });
  const Array from = would_overwrite(y, x) ? packed_copy(x) : x;
  const EagerInput inputs[] = {{&from, {}}};
  kernel->run(inputs, y, y.shape(), mask);
}

}  // namespace damo
