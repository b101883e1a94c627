#include "ops/eager/snippet.hpp"

#include <algorithm>
#include <cctype>

#include "runtime/backend.hpp"

namespace damo {
namespace {

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

/// Calls visit(begin, end) for each place where the identifier stands. Members of that name (p.x, p->x) are no use of
/// it.
template <class Visit>
void each_use(std::string_view text, std::string_view identifier, Visit visit) {
  for (std::size_t at = 0; (at = text.find(identifier, at)) != std::string_view::npos;) {
    const std::size_t end = at + identifier.size();
    const bool begins =
        at == 0 || (!in_name(text[at - 1]) && text[at - 1] != '.' && !(at > 1 && text.substr(at - 2, 2) == "->"));
    const bool ends = end == text.size() || !in_name(text[end]);
    if (begins && ends) visit(at, end);
    at = end;
  }
}

/// One past the "]" if "[i]" stands there, else npos.
std::size_t end_of_subscript(std::string_view text, std::size_t at) {
  for (const char wanted : {'[', 'i', ']'}) {
    while (at < text.size() && is_space(text[at])) ++at;
    if (at == text.size() || text[at] != wanted) return std::string_view::npos;
    ++at;
  }
  return at;
}

[[noreturn]] void refuse_call(const std::string& kernel, const std::string& what, const std::string& remedy) {
  throw TypeError(kernel + ": " + what, remedy);
}

Scalar as_declared(const std::string& kernel, const RawParameter& parameter, const Scalar& number) {
  const bool cut = is_floating(number.dtype()) && !is_floating(parameter.dtype);
  const bool fits = is_floating(parameter.dtype) || number.dtype() == bool_ || number.fits(parameter.dtype);
  if (cut || !fits) {
    refuse_call(kernel, "the parameter \"" + parameter.declaration + "\" cannot hold " + to_string(number),
           cut ? "round it first, or declare the parameter float or double" : "declare a wider type");
  }
  return number.cast(parameter.dtype);
}

}  // namespace

std::vector<RawParameter> parse_parameters(std::string_view list) {
  std::vector<RawParameter> parameters;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::string_view one = list.substr(0, comma);
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
    if (std::all_of(one.begin(), one.end(), is_space)) {
      if (list.empty() && parameters.empty()) break;
      throw GraphError("the parameters have a comma too many", "write \"float a, const float* x\"");
    }
    parameters.push_back(parse_parameter(one));
    for (std::size_t i = 0; i + 1 < parameters.size(); ++i) {
      if (parameters[i].name == parameters.back().name) {
        throw GraphError("two parameters are called " + parameters[i].name, "give each a name of its own");
      }
    }
    require_parameter_name(parameters.back().name);
    for (const char* taken : {"i", "n"}) {
      if (parameters.back().name == taken) {
        throw GraphError("a parameter is called " + parameters.back().name + ", which has a meaning in every snippet",
                         "give it another name");
      }
    }
  }
  return parameters;
}

std::string with_lines(const SourceText& text) { return line_directive(text) + text.text + "\n" + kGeneratedLine; }

std::string function_of(const std::string& type, const std::string& signature, const SourceText& expression, const SourceText& before) {
  return "static __device__ __forceinline__ " + type + " " + signature + " {\n" + (before.text.empty() ? "" : with_lines(before)) + "return " + type + "(\n" +
         with_lines(expression) + ");\n}\n";
}

std::string c_type(DType dtype) {
  static constexpr const char* names[] = {
      "bool", "signed char", "short", "int", "long long", "unsigned char", "unsigned short", "unsigned int", "unsigned long long", "__nv_fp8_e4m3", "__nv_fp8_e5m2",
      "__half", "__nv_bfloat16", "float", "double"};
  return names[static_cast<int>(dtype)];
}

std::string includes_for(std::span<const DType> dtypes) {
  std::string text;
  if (std::find(dtypes.begin(), dtypes.end(), float16) != dtypes.end()) text += "#include <cuda_fp16.h>\n";
  if (std::find(dtypes.begin(), dtypes.end(), bfloat16) != dtypes.end()) text += "#include <cuda_bf16.h>\n";
  if (std::any_of(dtypes.begin(), dtypes.end(), is_float8)) text += "#include <cuda_fp8.h>\n";
  return text;
}

bool names(std::string_view text, std::string_view identifier) {
  bool found = false;
  each_use(text, identifier, [&](std::size_t, std::size_t) { found = true; });
  return found;
}

bool only_at_i(std::string_view text, std::string_view array) {
  bool only = true;
  each_use(text, array,
           [&](std::size_t, std::size_t end) { only &= end_of_subscript(text, end) != std::string_view::npos; });
  return only;
}

std::string without_elements(std::string_view text, std::span<const RawParameter> parameters) {
  std::string left(text);
  for (const RawParameter& parameter : parameters) {
    if (!parameter.is_pointer) continue;
    const std::string now = left;
    each_use(now, parameter.name, [&](std::size_t begin, std::size_t end) {
      const std::size_t stop = end_of_subscript(now, end);
      if (stop != std::string_view::npos)
        std::fill(left.begin() + static_cast<std::ptrdiff_t>(begin), left.begin() + static_cast<std::ptrdiff_t>(stop),
                  ' ');
    });
  }
  return left;
}

SnippetArguments::SnippetArguments(const std::string& kernel, std::span<const RawParameter> parameters,
                                   std::span<const ArrayOperand> given)
    : arrays(take_array_list(parameters.size())) {
  if (given.size() != parameters.size()) {
    refuse_call(kernel,
           std::to_string(given.size()) + " arguments are given, it has " + std::to_string(parameters.size()) +
               " parameters",
           "give one for each, in order");
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    const RawParameter& parameter = parameters[i];
    if (parameter.is_pointer == given[i].is_number()) {
      refuse_call(kernel,
             "the parameter \"" + parameter.declaration + "\" wants " +
                 (parameter.is_pointer ? "an Array, it is given a number" : "a number, it is given an Array"),
             parameter.is_pointer ? "Array::full makes an Array of a number" : "item() reads an Array of one element");
    }
    if (!parameter.is_pointer) {
      numbers.push_back(as_declared(kernel, parameter, given[i].number()));
      continue;
    }
    const Array& array = given[i].array();
    if (array.dtype() != parameter.dtype) {
      refuse_call(kernel,
             "the parameter \"" + parameter.declaration + "\" wants elements of " + std::string(name(parameter.dtype)) +
                 ", it is given " + describe(array),
             "astype(x, " + std::string(name(parameter.dtype)) + ") converts it");
    }
    Backend& there = array.device().backend();
    if (backend && backend != &there) {
      throw DeviceError(kernel + ": arrays lie on " + backend->name() + " and " + there.name(),
                        "move one of them: x.to(device)");
    }
    backend = &there;
    arrays.push_back(array);
  }
  if (!backend) refuse_call(kernel, "no argument is an Array", "it has nothing to work on");
}

Shape common_shape(const std::string& kernel, std::span<const Array> arrays) {
  SmallList<Shape, 4> shapes;
  for (const Array& array : arrays) shapes.push_back(array.shape());
  try {
    return broadcast_shapes(shapes);
  } catch (const ShapeError& error) {
    throw ShapeError(kernel + ": " + error.parts().message, error.parts().remedy);
  }
}

}  // namespace damo
