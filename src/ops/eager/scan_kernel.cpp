#include <damo/scan_kernel.hpp>

#include <damo/array_math.hpp>

#include "ops/eager/kernels.hpp"
#include "ops/eager/overlap.hpp"
#include "ops/eager/scan.hpp"
#include "ops/eager/snippet.hpp"
#include "runtime/kernel/body.hpp"

namespace damo {

struct ScanKernel::Data {
  explicit Data(ScanDefinition definition) : scan(std::move(definition)) {}
  Scan scan;
};

ScanKernel::ScanKernel(DType dtype, SourceText operation, SourceText neutral, bool exclusive,
                       ScanKernelOptions options) {
  const std::string label = "ScanKernel " + options.name;
  if (!is_identifier(options.name))
    throw GraphError(label + ": a kernel cannot be called so", "use letters, digits and _");
  if (operation.text.empty()) throw GraphError(label + ": it has no operation", "\"a + b\"");
  if (exclusive && neutral.text.empty()) throw GraphError(label + ": it has no neutral value", "\"0\"");
  ScanDefinition definition;
  definition.name = std::move(options.name);
  definition.preamble = std::move(options.preamble);
  definition.dtype = dtype;
  definition.accumulator = is_half(dtype) ? "float" : c_type(dtype);
  definition.reduce = std::move(operation);
  definition.neutral = std::move(neutral);
  definition.exclusive = exclusive;
  definition.flags = std::move(options.flags);
  data_ = std::make_shared<Data>(std::move(definition));
}

Array ScanKernel::operator()(const Array& x, int axis) const {
  if (!x) throw TypeError(data_->scan.definition().name + ": the Array is empty", "check the Array with if (array)");
  const Array y = Array::empty(x.shape(), x.dtype(), x.device());
  into(x, y, axis);
  return y;
}

void ScanKernel::into(const Array& x, const Array& y, int axis) const {
  const ScanDefinition& definition = data_->scan.definition();
  const std::string& name = definition.name;
  if (!x || !y) throw TypeError(name + ": an Array is empty", "check the Array with if (array)");
  for (const Array* array : {&x, &y}) {
    if (array->dtype() == definition.dtype) continue;
    throw TypeError(
        name + " works on " + std::string(damo::name(definition.dtype)) + ", it is given " + describe(*array),
        "astype(x, " + std::string(damo::name(definition.dtype)) + ") converts it");
  }
  if (!(x.shape() == y.shape()))
    throw ShapeError(name + ": shapes differ: " + to_string(x.shape()) + " into " + to_string(y.shape()),
                     "give the result the shape of the input");
  if (!(x.device() == y.device()))
    throw DeviceError(name + ": " + describe(x) + " into " + describe(y), "move one of them: x.to(device)");
  if (x.rank() == 0) throw ShapeError(name + ": an array of rank 0 has no axis", "reshape it to (1,)");
  if (axis < -x.rank() || axis >= x.rank())
    throw ShapeError(name + ": there is no axis " + std::to_string(axis) + " in an array of " +
                     std::to_string(x.rank()) + " axes");
  check_writable(name, y);
  data_->scan.run(would_overwrite(y, x) ? packed_copy(x) : x, y, axis < 0 ? axis + x.rank() : axis);
}

namespace {

Array cumulate(bool product, const Array& given, int axis) {
  const std::string name = product ? "cumprod" : "cumsum";
  if (!given) throw TypeError(name + ": the Array is empty", "check the Array with if (array)");
  if (axis < -given.rank() || axis >= given.rank())
    throw ShapeError(name + ": there is no axis " + std::to_string(axis) + " in an array of " +
                     std::to_string(given.rank()) + " axes");
  const DType from = given.dtype(), dtype = is_floating(from)                  ? from
                                            : from == bool_ || is_signed(from) ? int64
                                                                               : uint64;
  const Array x = from == dtype ? given : astype(given, dtype);
  Backend& backend = x.device().backend();
  const auto scan = EagerKernels::of(backend)->scan(static_cast<std::uint32_t>(dtype) << 1 | (product ? 1u : 0u), [&] {
    ScanDefinition definition;
    definition.name = name;
    definition.kind = SourceKind::kGenerated;
    definition.dtype = dtype;
    definition.accumulator = value_type(dtype);
    const std::string floating = product ? "a * b" : "a + b", integer = product ? "wrap_mul(a, b)" : "wrap_add(a, b)";
    definition.reduce = SourceText(is_floating(dtype) ? floating : integer, nullptr, 0);
    return definition;
  });
  const Array y = Array::empty(x.shape(), dtype, x.device());
  scan->run(x, y, axis < 0 ? axis + x.rank() : axis);
  return y;
}

}  // namespace

Array cumsum(const Array& x, int axis) { return cumulate(false, x, axis); }
Array cumprod(const Array& x, int axis) { return cumulate(true, x, axis); }
Array cumsum(const Array& x) { return cumulate(false, x ? x.reshape({-1}) : x, 0); }
Array cumprod(const Array& x) { return cumulate(true, x ? x.reshape({-1}) : x, 0); }

}  // namespace damo
