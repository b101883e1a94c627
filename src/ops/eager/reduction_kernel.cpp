#include <damo/reduction_kernel.hpp>

#include "ops/reductions.hpp"
#include "ops/eager/reduction.hpp"
#include "ops/eager/snippet.hpp"

namespace damo {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& what, const std::string& remedy) {
  throw GraphError("ReductionKernel " + name + ": " + what, remedy);
}

ReductionDefinition read(ReductionKernelDefinition given) {
  if (!is_identifier(given.name)) refuse(given.name, "a kernel cannot be called so", "use letters, digits and _");
  if (given.neutral.text.empty()) refuse(given.name, "it has no neutral value", ".neutral = \"0\"");
  if (given.reduce.text.empty()) refuse(given.name, "it has no rule to join two values", ".reduce = \"a + b\"");
  ReductionDefinition definition;
  try {
    definition.parameters = parse_parameters(given.arguments);
  } catch (GraphError& error) {
    error.add_where("in ReductionKernel " + given.name);
    throw;
  }
  const RawParameter* only = nullptr;
  int arrays = 0;
  for (const RawParameter& parameter : definition.parameters) {
    if (!parameter.is_pointer) continue;
    only = &parameter;
    ++arrays;
    if (!parameter.is_const)
      refuse(given.name, "the argument \"" + parameter.declaration + "\" can be written",
             "write const: a reduction's result is a new Array");
  }
  if (arrays == 0) refuse(given.name, "no argument is an array", ".arguments = \"const float* x\"");
  if (given.map.text.empty()) {
    if (arrays > 1) refuse(given.name, "it has several arrays and no .map", ".map = \"x[i] * y[i]\"");
    given.map = SourceText(only->name + "[i]", nullptr, 0);
  }
  definition.name = std::move(given.name);
  definition.preamble = std::move(given.preamble);
  definition.accumulator_bytes =
      given.accumulator.empty() ? (is_half(given.dtype_out) ? 4 : itemsize(given.dtype_out)) : 0;
  definition.accumulator = given.accumulator.empty() ? (is_half(given.dtype_out) ? "float" : c_type(given.dtype_out))
                                                     : std::move(given.accumulator);
  definition.neutral = std::move(given.neutral);
  definition.reduce = std::move(given.reduce);
  definition.map = std::move(given.map);
  definition.post = std::move(given.post);
  definition.result = given.dtype_out;
  definition.flags = std::move(given.flags);
  return definition;
}

}  // namespace

struct ReductionKernel::Data {
  explicit Data(ReductionDefinition definition) : reduction(std::move(definition)) {}
  Reduction reduction;
};

ReductionKernel::ReductionKernel(ReductionKernelDefinition definition)
    : data_(std::make_shared<Data>(read(std::move(definition)))) {}

Array ReductionKernel::run(const Axes& axes, bool keepdims, std::initializer_list<ArrayOperand> given) const {
  const ReductionDefinition& definition = data_->reduction.definition();
  const SnippetArguments arguments(definition.name, definition.parameters, std::span(given.begin(), given.size()));
  const Shape space = common_shape(definition.name, arguments.arrays);
  const std::uint32_t mask = axes.mask(space.rank(), definition.name);
  const Array out = Array::empty(reduced_shape(space, mask, keepdims), definition.result, Device(arguments.backend));
  data_->reduction.run(*arguments.backend, arguments.arrays, arguments.scalars, space, mask, out);
  return out;
}

}  // namespace damo
