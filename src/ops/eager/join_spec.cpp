#include "ops/eager/join_spec.hpp"

#include <algorithm>
#include <string>

#include <damo/error.hpp>

#include "graph/base/computed_dtype.hpp"
#include "ops/eager/snippet.hpp"
#include "ops/joined_members.hpp"
#include "runtime/kernel/given_names.hpp"

namespace damo {
namespace {

[[noreturn]] void refuse(const std::string& label, const std::string& what, const std::string& remedy) { throw GraphError(label + ": " + what, remedy); }

std::vector<JoinedMember> members_of(const JoinDefinition& given) {
  std::vector<JoinedMember> members;
  for (const JoinMember& member : given.members) members.push_back({member.name, member.dtype, member.element.text, member.neutral.text, member.reduce.text});
  return members;
}

DType held(DType dtype) { return is_half(dtype) ? float32 : dtype; }

std::vector<RawParameter> read_parameters(const JoinDefinition& given, const std::string& label, bool needs_neutral) {
  if (!is_identifier(given.name)) refuse(label, "a kernel cannot be called so", "use letters, digits and _");
  if (!given.members.empty()) {
    const bool has_both = !given.neutral.text.empty() || !given.reduce.text.empty() || !given.map.text.empty() || !given.accumulator.empty();
    if (has_both) refuse(label, "it has members and says what is joined beside them", "members have neutral, reduce and element of their own, and are the accumulator");
    check_members(label, members_of(given));
    for (const JoinMember& member : given.members) require_computed(label + ", member " + member.name, member.dtype);
  } else if (!given.before.text.empty()) {
    refuse(label, "it has statements before the rule of members, and no members", "write them into a function of the .preamble");
  }
  if (needs_neutral && given.members.empty() && given.neutral.text.empty()) refuse(label, "it has no neutral value", ".neutral = \"0\"");
  if (given.members.empty() && given.reduce.text.empty()) refuse(label, "it has no rule to join two values", ".reduce = \"a + b\"");
  const std::vector<RawParameter> parameters = parse_parameters(given.arguments);
  for (const RawParameter& parameter : parameters) {
    if (parameter.is_pointer && !parameter.is_const)
      refuse(label, "the argument \"" + parameter.declaration + "\" can be written",
             "write const: what is joined is a new Array");
  }
  const auto arrays = std::count_if(parameters.begin(), parameters.end(),
                                    [](const RawParameter& parameter) { return parameter.is_pointer; });
  if (arrays == 0) refuse(label, "no argument is an array", ".arguments = \"const float* x\"");
  if (arrays > 1 && given.map.text.empty() && given.members.empty())
    refuse(label, "it has several arrays and no .map", ".map = \"x[i] * y[i]\"");
  return parameters;
}

/// What the map is called with, beside its elements and numbers: where it does not name them they are 0.
struct Positions {
  bool index = false, place = false;
  std::string place_name = "r";  // unless an argument is called so

  /// A macro of the user's may name them beside an array that is passed by its address.
  Positions(const std::string& map, const JoinSpec& made) {
    const std::string rest = without_elements(map, made.parameters);
    const bool is_argument = std::any_of(made.parameters.begin(), made.parameters.end(),
                                         [](const RawParameter& parameter) { return parameter.name == "r"; });
    const bool some_plain = std::find(made.plain.begin(), made.plain.end(), true) != made.plain.end();
    if (is_argument) place_name = "damo_place";
    index = some_plain || names(rest, "i");
    place = !is_argument && (some_plain || names(rest, "r"));
  }
};

/// Members are results themselves where there is no post.
bool has_post(const JoinDefinition& given) { return given.members.empty() || !given.post.text.empty(); }

std::string post_of(const JoinDefinition& given) {
  if (!has_post(given)) return {};
  return "typedef " + c_type(given.dtype_out) + " damo_result;\n" + function_of("damo_result", "damo_post(damo_value a, long long n)", given.post.text.empty() ? SourceText("a", nullptr, 0) : given.post);
}

/// Of members: damo_value, a struct of them, and the functions below, each made of one function a member. declared, named: the parameters of a map.
std::string functions_of_members(const JoinDefinition& given, const std::string& declared, const std::string& named) {
  std::string text, members, neutral, reduce, map;
  for (std::size_t k = 0; k < given.members.size(); ++k) {
    const JoinMember& member = given.members[k];
    const std::string n = std::to_string(k), type = "damo_member" + n, comma = k > 0 ? ", " : "";
    text += "typedef " + c_type(held(member.dtype)) + " " + type + ";\n";
    members += " " + type + " " + member.name + ";";
    neutral += comma + "damo_neutral" + n + "()";
    reduce += comma + "damo_reduce" + n + "(a, b)";
    map += comma + "damo_map" + n + "(" + named + ")";
  }
  text += "struct damo_value {" + members + " };\n";
  for (std::size_t k = 0; k < given.members.size(); ++k) {
    const JoinMember& member = given.members[k];
    const std::string n = std::to_string(k), type = "damo_member" + n;
    text += function_of(type, "damo_neutral" + n + "()", member.neutral) + function_of(type, "damo_reduce" + n + "(damo_value a, damo_value b)", member.reduce, given.before) +
            function_of(type, "damo_map" + n + "(" + declared + ")", member.element);
  }
  const auto all = [](const std::string& signature, const std::string& values) { return "static __device__ __forceinline__ damo_value " + signature + " { return damo_value{" + values + "}; }\n"; };
  return text + all("damo_neutral()", neutral) + all("damo_reduce(damo_value a, damo_value b)", reduce) + all("damo_map(" + declared + ")", map);
}

/// The user's preamble, then damo_neutral(), damo_reduce(a, b), damo_post(a, n) if there is one, and damo_map(arguments, i, r).
std::string functions(const JoinDefinition& given, const JoinSpec& made, const Positions& positions) {
  std::vector<DType> dtypes = {given.dtype_out};
  for (const JoinMember& member : given.members) dtypes.push_back(member.dtype);
  for (const RawParameter& parameter : made.parameters) dtypes.push_back(parameter.dtype);
  std::string text = includes_for(dtypes);
  if (!given.preamble.text.empty()) text += with_lines(given.preamble);
  text +=
      "template <class damo_type> struct damo_element { damo_type value; __device__ __forceinline__ const damo_type& "
      "operator[](long long) "
      "const { return value; } };\n";
  std::string parameters, named;
  for (std::size_t k = 0; k < made.parameters.size(); ++k) {
    const RawParameter& parameter = made.parameters[k];
    const std::string type = c_type(parameter.dtype);
    parameters += (!parameter.is_pointer ? type
                   : made.plain[k]       ? "const " + type + "*"
                                         : "damo_element<" + type + ">") +
                  " " + parameter.name + ", ";
    named += parameter.name + ", ";
  }
  parameters += "long long i, long long " + positions.place_name;
  if (!given.members.empty()) return text + functions_of_members(given, parameters, named + "i, " + positions.place_name) + post_of(given);
  text += "typedef " + (given.accumulator.empty() ? c_type(held(given.dtype_out)) : given.accumulator) + " damo_value;\n";
  text += "static_assert(sizeof(damo_value) <= " + std::to_string(kMostJoinedBytes) + ", \"the accumulator is too large\");\n";
  text += function_of("damo_value", "damo_neutral()", given.neutral) + function_of("damo_value", "damo_reduce(damo_value a, damo_value b)", given.reduce);
  return text + post_of(given) + function_of("damo_value", "damo_map(" + parameters + ")", given.map);
}

/// A call of damo_map: x0, x1, ... are the inputs in order, then the index and the place if they are used.
std::string map_call(const JoinSpec& made, const Positions& positions) {
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

JoinSpec join_spec(JoinDefinition given, Prefix prefix) {
  const bool scans = prefix != Prefix::kNone;
  if (given.name.empty()) given.name = scans ? "scan" : "reduction";
  JoinSpec made;
  made.label = (scans ? "ScanKernel " : "ReductionKernel ") + given.name;
  require_computed(made.label, given.dtype_out);
  try {
    made.parameters = read_parameters(given, made.label, prefix != Prefix::kInclusive || !given.accumulator.empty());
  } catch (GraphError& error) {
    error.add_where(in_kernel(made.label, (given.members.empty() ? given.reduce : given.members.front().element).where));
    throw;
  }
  if (given.map.text.empty() && given.members.empty()) {
    const auto only = std::find_if(made.parameters.begin(), made.parameters.end(),
                                   [](const RawParameter& parameter) { return parameter.is_pointer; });
    given.map = SourceText(only->name + "[i]", nullptr, 0);
  }
  std::string maps = given.map.text;
  for (const JoinMember& member : given.members) maps += member.element.text + "\n";
  KernelSpec& spec = made.spec;
  Step step;
  for (const RawParameter& parameter : made.parameters) {
    made.plain.push_back(parameter.is_pointer && !only_at_i(maps, parameter.name));
    const bool is_bits = parameter.is_pointer && is_half(parameter.dtype);  // steps see 16-bit floats as float32
    spec.inputs.push_back(made.plain.back() ? uint64 : is_bits ? uint16 : parameter.dtype);
    spec.values.push_back(made.plain.back() || !parameter.is_pointer);
  }
  const Positions positions(maps, made);
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
  step.compute = held(given.dtype_out);
  Join join;
  const bool is_number = given.accumulator.empty() && given.members.empty();
  join.accumulator = is_number ? "" : "damo_value";
  join.bytes = is_number ? static_cast<int>(itemsize(step.compute)) : given.members.empty() ? kMostJoinedBytes : bytes_of(members_of(given));
  for (const JoinMember& member : given.members) join.members.emplace_back(c_type(held(member.dtype)), member.name);
  join.neutral = "damo_neutral()";
  join.reduce = "damo_reduce(a, b)";
  join.prefix = prefix;
  const auto give = [&](DType dtype, const std::string& post) {
    step.result = dtype;
    step.join = join;
    step.join->post = post;
    spec.stores.push_back(spec.first_step() + static_cast<int>(spec.steps.size()));
    spec.outputs.push_back(dtype);
    spec.steps.push_back(step);
  };
  const std::string value = scans ? "a" : "(n > 0 ? a : damo_neutral())";  // many neutral values are joined, which of nothing should be one even where it is none
  if (has_post(given)) give(given.dtype_out, "damo_post(" + value + ", n)");
  else for (const JoinMember& member : given.members) give(member.dtype, value + "." + member.name);
  spec.users_text = UsersText{functions(given, made, positions), std::move(given.flags)};
  return made;
}

}  // namespace damo
