#include <damo/scan_kernel.hpp>

#include <span>
#include <vector>

#include <damo/axes.hpp>
#include <damo/error.hpp>

#include "ops/eager/join_kernel.hpp"
#include "ops/eager/overlap.hpp"

namespace damo {

struct ScanKernel::Data {
  JoinKernel kernel;
};

namespace {

/// One array of the dtype, joined as it is.
JoinDefinition definition_of(DType dtype, SourceText operation, SourceText neutral, ScanKernelOptions options) {
  return {.dtype_out = dtype, .neutral = std::move(neutral), .reduce = std::move(operation), .arguments = "const " + c_type(dtype) + "* x", .name = std::move(options.name),
          .preamble = std::move(options.preamble), .flags = std::move(options.flags)};
}

}  // namespace

ScanKernel::ScanKernel(JoinDefinition definition, bool exclusive) : data_(std::make_shared<Data>(Data{JoinKernel(std::move(definition), exclusive ? Prefix::kExclusive : Prefix::kInclusive)})) {}

ScanKernel::ScanKernel(DType dtype, SourceText operation, SourceText neutral, bool exclusive, ScanKernelOptions options)
    : ScanKernel(definition_of(dtype, std::move(operation), std::move(neutral), std::move(options)), exclusive) {}

std::vector<Array> ScanKernel::run_all(int axis, std::initializer_list<ArrayOperand> given) const {
  const JoinKernel& kernel = data_->kernel;
  const SnippetArguments arguments = kernel.take(std::span(given.begin(), given.size()));
  const Shape space = common_shape(kernel.spec().name, arguments.arrays);
  const std::uint32_t mask = Axes(axis).mask(space.rank(), kernel.spec().name);
  std::vector<Array> outs;
  for (DType dtype : kernel.spec().outputs) outs.push_back(Array::empty(space, dtype, Device(arguments.backend)));
  kernel.run(arguments, outs, space, mask);
  return outs;
}

Array ScanKernel::run(int axis, std::initializer_list<ArrayOperand> given) const {
  data_->kernel.require_one_result();
  return run_all(axis, given)[0];
}

void ScanKernel::into(const Array& x, const Array& y, int axis) const {
  const JoinKernel& kernel = data_->kernel;
  const std::string& name = kernel.spec().name;
  kernel.require_one_result();
  if (!x || !y) throw TypeError(name + ": an Array is empty", "check the Array with if (array)");
  const ArrayOperand given[] = {x};
  SnippetArguments arguments = kernel.take(given);
  if (const DType gives = kernel.spec().outputs[0]; y.dtype() != gives) {
    throw TypeError(name + " gives " + std::string(damo::name(gives)) + ", it is to write into " + describe(y), "Array::empty(x.shape(), " + std::string(damo::name(gives)) + ", x.device())");
  }
  if (!(x.shape() == y.shape())) throw ShapeError(name + ": shapes differ: " + to_string(x.shape()) + " into " + to_string(y.shape()), "give the result the shape of the input");
  if (!(x.device() == y.device())) throw DeviceError(name + ": " + describe(x) + " into " + describe(y), "move one of them: x.to(device)");
  const std::uint32_t mask = Axes(axis).mask(x.rank(), name);
  check_writable(name, y);
  const bool reads_elsewhere = kernel.made().plain[0];
  if (reads_elsewhere || would_overwrite(y, x)) arguments.arrays[0] = packed_copy(x);
  kernel.run(arguments, std::span(&y, 1), y.shape(), mask);
}

}  // namespace damo
