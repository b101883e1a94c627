#include "ops/eager/reduction_spec.hpp"

#include <algorithm>
#include <string>

#include <damo/error.hpp>

#include "graph/base/computed_dtype.hpp"
#include "ops/eager/snippet.hpp"

namespace damo {
namespace {

constexpr int kMostAccumulatorBytes = 64;

[[noreturn]] void refuse(const std::string& name, const std::string& what, const std::string& remedy) {
  throw GraphError("ReductionKernel " + name + ": " + what, remedy);
}

std::vector<RawParameter> read_parameters(const ReductionKernelDefinition& given) {
  if (!is_identifier(given.name)) refuse(given.name, "a kernel cannot be called so", "use letters, digits and _");
  if (given.neutral.text.empty()) refuse(given.name, "it has no neutral value", ".neutral = \"0\"");
  if (given.reduce.text.empty()) refuse(given.name, "it has no rule to join two values", ".reduce = \"a + b\"");
  std::vector<RawParameter> parameters;
  try {
    parameters = parse_parameters(given.arguments);
  } catch (GraphError& error) {
    error.add_where("in ReductionKernel " + given.name);
    throw;
  }
  for (const RawParameter& parameter : parameters) {
    if (parameter.is_pointer && !parameter.is_const)
      refuse(given.name, "the argument \"" + parameter.declaration + "\" can be written",
             "write const: a reduction's result is a new Array");
  }
  const auto arrays = std::count_if(parameters.begin(), parameters.end(),
                                    [](const RawParameter& parameter) { return parameter.is_pointer; });
  if (arrays == 0) refuse(given.name, "no argument is an array", ".arguments = \"const float* x\"");
  if (arrays > 1 && given.map.text.empty())
    refuse(given.name, "it has several arrays and no .map", ".map = \"x[i] * y[i]\"");
  return parameters;
}

/// What the map is called with, beside its elements and numbers: where it does not name them they are 0.
struct Positions {
  bool index = false, place = false;
  std::string place_name = "r";  // unless an argument is called so

  /// A macro of the user's may name them beside an array that is passed by its address.
  Positions(const std::string& map, const ReductionSpec& made) {
    const std::string rest = without_elements(map, made.parameters);
    const bool is_argument = std::any_of(made.parameters.begin(), made.parameters.end(),
                                         [](const RawParameter& parameter) { return parameter.name == "r"; });
    const bool some_plain = std::find(made.plain.begin(), made.plain.end(), true) != made.plain.end();
    if (is_argument) place_name = "damo_place";
    index = some_plain || names(rest, "i");
    place = !is_argument && (some_plain || names(rest, "r"));
  }
};

/// The user's preamble, then damo_neutral(), damo_reduce(a, b), damo_post(a, n) and damo_map(arguments, i, r).
std::string functions(const ReductionKernelDefinition& given, const ReductionSpec& made, const Positions& positions) {
  std::vector<DType> dtypes = {given.dtype_out};
  for (const RawParameter& parameter : made.parameters) dtypes.push_back(parameter.dtype);
  std::string text = includes_for(dtypes);
  if (!given.preamble.text.empty()) text += with_lines(given.preamble);
  const std::string accumulator = !given.accumulator.empty() ? given.accumulator
                                  : is_half(given.dtype_out) ? "float"
                                                             : c_type(given.dtype_out);
  text += "typedef " + accumulator + " damo_value;\ntypedef " + c_type(given.dtype_out) + " damo_result;\n";
  text += "static_assert(sizeof(damo_value) <= " + std::to_string(kMostAccumulatorBytes) +
          ", \"the accumulator is too large\");\n";
  text +=
      "template <class damo_type> struct damo_element { damo_type value; __device__ __forceinline__ const damo_type& "
      "operator[](long long) "
      "const { return value; } };\n";
  text += function_of("damo_value", "damo_neutral()", given.neutral) +
          function_of("damo_value", "damo_reduce(damo_value a, damo_value b)", given.reduce);
  text += function_of("damo_result", "damo_post(damo_value a, long long n)",
                      given.post.text.empty() ? SourceText("a", nullptr, 0) : given.post);
  std::string parameters;
  for (std::size_t k = 0; k < made.parameters.size(); ++k) {
    const RawParameter& parameter = made.parameters[k];
    const std::string type = c_type(parameter.dtype);
    parameters += (!parameter.is_pointer ? type
                   : made.plain[k]       ? "const " + type + "*"
                                         : "damo_element<" + type + ">") +
                  " " + parameter.name + ", ";
  }
  return text + function_of("damo_value",
                            "damo_map(" + parameters + "long long i, long long " + positions.place_name + ")",
                            given.map);
}

/// A call of damo_map: x0, x1, ... are the inputs in order, then the index and the place if they are used.
std::string map_call(const ReductionSpec& made, const Positions& positions) {
  std::string call = "damo_map(";
  std::size_t k = 0;
  for (; k < made.parameters.size(); ++k) {
    const RawParameter& parameter = made.parameters[k];
    const std::string type = c_type(parameter.dtype), x = "x" + std::to_string(k);
    if (!parameter.is_pointer)
      call += "(" + type + ")" + x + ", ";
    else if (made.plain[k])
      call += "(const " + type + "*)" + x + ", ";
    else
      call += "damo_element<" + type + ">{" +
              (parameter.dtype == float16    ? "__ushort_as_half(" + x + ")"
               : parameter.dtype == bfloat16 ? "__ushort_as_bfloat16(" + x + ")"
                                             : x) +
              "}, ";
  }
  const std::string index = positions.index ? "x" + std::to_string(k++) : "0";
  return call + index + ", " + (positions.place ? "x" + std::to_string(k) : "0") + ")";
}

}  // namespace

ReductionSpec reduction_spec(ReductionKernelDefinition given) {
  require_computed("ReductionKernel " + given.name, given.dtype_out);
  ReductionSpec made;
  made.parameters = read_parameters(given);
  if (given.map.text.empty()) {
    const auto only = std::find_if(made.parameters.begin(), made.parameters.end(),
                                   [](const RawParameter& parameter) { return parameter.is_pointer; });
    given.map = SourceText(only->name + "[i]", nullptr, 0);
  }
  KernelSpec& spec = made.spec;
  Step step;
  for (const RawParameter& parameter : made.parameters) {
    made.plain.push_back(parameter.is_pointer && !only_at_i(given.map.text, parameter.name));
    const bool is_bits = parameter.is_pointer && is_half(parameter.dtype);  // steps see 16-bit floats as float32
    spec.inputs.push_back(made.plain.back() ? uint64 : is_bits ? uint16 : parameter.dtype);
    spec.values.push_back(made.plain.back() || !parameter.is_pointer);
  }
  const Positions positions(given.map.text, made);
  if (positions.index) {
    spec.inputs.push_back(int64);
    spec.values.push_back(false);
    spec.ordinals.resize(spec.inputs.size());
    spec.ordinals.back() = ~std::uint32_t{0};
  }
  for (int input = 0; input < spec.input_count(); ++input) step.inputs.push_back(input);
  step.inputs_as = spec.inputs;
  if (positions.place) {
    Step place;
    place.name = "place";
    place.is_place = true;
    place.compute = place.result = int64;
    step.inputs.push_back(spec.first_step());
    step.inputs_as.push_back(int64);
    spec.steps.push_back(std::move(place));
  }
  step.name = spec.name = given.name;
  step.code = map_call(made, positions);
  step.compute = is_half(given.dtype_out) ? float32 : given.dtype_out;
  step.result = given.dtype_out;
  Join join;
  join.accumulator = given.accumulator.empty() ? "" : "damo_value";
  join.bytes = given.accumulator.empty() ? static_cast<int>(itemsize(step.compute)) : kMostAccumulatorBytes;
  join.neutral = "damo_neutral()";
  join.reduce = "damo_reduce(a, b)";
  join.post = "damo_post(n > 0 ? a : damo_neutral(), n)";  // many neutral values are joined, which of nothing should be
                                                           // one even where it is none
  step.join = std::move(join);
  spec.steps.push_back(std::move(step));
  spec.stores = {spec.first_step() + static_cast<int>(spec.steps.size()) - 1};
  spec.outputs = {given.dtype_out};
  spec.users_text = UsersText{functions(given, made, positions), std::move(given.flags)};
  return made;
}

}  // namespace damo
