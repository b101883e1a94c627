#include "runtime/module/argument_check.hpp"

#include <damo/error.hpp>
#include <damo/host_argument.hpp>
#include "graph/base/counted.hpp"

namespace damo {
namespace {

using Argument = KernelArgument::Kind;
using Parameter = ParameterType::Kind;

bool number_fits(const KernelArgument& argument, const ParameterType& parameter) {
  // An enum, whose size is compared. None is a floating number, which for a struct would be garbage.
  if (parameter.kind == Parameter::kOther) return !is_floating(argument.element().dtype);
  if (parameter.kind != Parameter::kNumber) return false;
  const DType given = argument.element().dtype, wanted = parameter.element.dtype;
  if (given == wanted) return true;
  // The same value in C++'s own conversion, whose bytes are the same: int and unsigned, bool as a byte.
  return is_integer(wanted) && (is_integer(given) || given == bool_) && itemsize(given) == itemsize(wanted);
}

bool class_fits(const KernelArgument& argument, const ParameterType& parameter) {
  if (parameter.kind == Parameter::kOther) return true;
  if (parameter.kind == Parameter::kPointer) return true;  // a class that is a pointer; its size is compared
  return parameter.kind == Parameter::kNumber && is_narrow(parameter.element.dtype) && argument.bytes() == itemsize(parameter.element.dtype);
}

/// Memory that is to get values from a kernel that cannot write it.
bool is_never_written(const KernelArgument& argument, const ParameterType& parameter) {
  return argument.host() != nullptr && argument.host()->direction() == KernelArgument::Direction::kOut &&
         parameter.kind == Parameter::kPointer && parameter.is_const;
}

bool kinds_fit(const KernelArgument& argument, const ParameterType& parameter) {
  switch (argument.kind()) {
    case Argument::kNumber:
    case Argument::kEnum:
      return number_fits(argument, parameter);
    case Argument::kClass:
      return class_fits(argument, parameter);
    case Argument::kNull:
      return parameter.kind == Parameter::kPointer;
    case Argument::kPointer:
      return parameter.kind == Parameter::kPointer && parameter.element.takes(argument.element()) &&
             (parameter.is_const || !argument.is_const());
    case Argument::kArray:
    case Argument::kHost:
      if (is_never_written(argument, parameter)) return false;
      return parameter.kind == Parameter::kPointer && parameter.element.takes(argument.element());
    case Argument::kStrided:
      return parameter.kind == Parameter::kStrided && parameter.rank == argument.rank() &&
             parameter.element.dtype == argument.element().dtype && (parameter.is_const || !argument.is_const());
  }
  return false;
}

bool fits(const KernelArgument& argument, const ParameterType& parameter) {
  const bool same_size = parameter.bytes == 0 || argument.bytes() == parameter.bytes;
  return same_size && (parameter.kind == Parameter::kUnknown || kinds_fit(argument, parameter));
}

/// How a host program writes the type.
std::string host_type(DType dtype) {
  switch (dtype) {
    case bool_: return "bool";
    case float8_e4m3: return "damo::Float8E4M3";
    case float8_e5m2: return "damo::Float8E5M2";
    case float16: return "damo::Half";
    case bfloat16: return "damo::BFloat16";
    case float32: return "float";
    case float64: return "double";
    default: return "std::" + std::string(name(dtype)) + "_t";
  }
}

std::string remedy_for_pointer(const KernelArgument& argument, const ParameterType& parameter) {
  const bool has_elements = argument.kind() == Argument::kArray || argument.kind() == Argument::kPointer ||
                            argument.kind() == Argument::kHost;
  if (argument.kind() == Argument::kStrided)
    return "declare the parameter as damo::Strided<type, rank>, or pass the Array itself for a pointer";
  if (is_never_written(argument, parameter))
    return "the kernel cannot write to it: pass In, or InOut, or declare the parameter without const";
  if (!has_elements) return "pass an Array, a pointer on the device, or host memory in In, Out or InOut";
  if (argument.kind() == Argument::kPointer && argument.is_const() && !parameter.is_const &&
      parameter.element.takes(argument.element()))
    return "the kernel may write through it: declare the parameter const, or pass a pointer that is not";
  if (parameter.element.kind == ElementType::Kind::kNumber)
    return "pass elements of " + std::string(name(parameter.element.dtype)) +
           "; to pass the bytes as they are, pass a void*";
  return "pass bytes (uint8) or a void* for a pointer to a struct";
}

std::string remedy_for(const KernelArgument& argument, const ParameterType& parameter) {
  switch (parameter.kind) {
    case Parameter::kPointer:
      return remedy_for_pointer(argument, parameter);
    case Parameter::kNumber:
      return "pass a " + host_type(parameter.element.dtype);
    case Parameter::kStrided:
      return "pass strided(array) of a " + std::string(name(parameter.element.dtype)) + " Array with " +
             counted_axes(parameter.rank);
    case Parameter::kOther:
      return "pass a struct of the same layout, or for an enum its number";
    case Parameter::kUnknown:
      break;
  }
  return "pass a value of the parameter's own type: std::int32_t for int, float for float, an Array for a pointer";
}

std::string place(const LoadedKernel& kernel, std::size_t index, std::size_t count) {
  return "launch of '" + kernel.name() + "': argument " + std::to_string(index + 1) + " of " + std::to_string(count);
}

[[noreturn]] void refuse_count(const LoadedKernel& kernel, std::size_t count) {
  const std::vector<ParameterType>& wanted = *kernel.parameters();
  std::string list;
  for (const ParameterType& parameter : wanted) list += (list.empty() ? "" : ", ") + parameter.text;
  const bool has_texts = !wanted.empty() && !wanted.front().text.empty();
  throw TypeError("launch of '" + kernel.name() + "': " + std::to_string(count) +
                      (count == 1 ? " argument is" : " arguments are") + " given, the kernel has " +
                      std::to_string(wanted.size()) + (wanted.size() == 1 ? " parameter" : " parameters") +
                      (has_texts ? ": " + list : ""),
                  "give one argument a parameter, in order");
}

[[noreturn]] void refuse_type(const LoadedKernel& kernel, const KernelArgument& argument, std::size_t index,
                              std::size_t count) {
  const ParameterType& parameter = (*kernel.parameters())[index];
  const auto bytes = [](std::size_t size) { return std::to_string(size) + " bytes"; };
  std::string what;
  if (parameter.text.empty())
    what = " has " + bytes(argument.bytes()) + ", the kernel's parameter has " + std::to_string(parameter.bytes);
  else
    what = " is " + describe(argument) + ", the kernel's parameter is '" + parameter.text + "'";
  const bool by_size = !parameter.text.empty() && kinds_fit(argument, parameter);
  if (by_size) what += " of " + bytes(parameter.bytes) + ", the argument has " + std::to_string(argument.bytes());
  throw TypeError(place(kernel, index, count) + what, remedy_for(argument, parameter));
}

/// What is wrong with an argument whatever the parameter is.
void check_memory(const LoadedKernel& kernel, const KernelArgument& argument, std::size_t index, std::size_t count) {
  if (argument.is_empty_array()) {
    throw TypeError(place(kernel, index, count) + " is an empty Array, without elements or device",
                    "make one with Array::empty(shape); for a null pointer pass nullptr");
  }
  if (argument.kind() == Argument::kHost) return;  // copied to where it is wanted
  if (argument.device() && !is_within_reach(argument.device(), *kernel.backend)) {
    throw DeviceError(place(kernel, index, count) + " is on " + argument.device()->name() + ", the kernel is on " +
                          kernel.backend->name(),
                      "copy it first: array.to(kernel.device()); for host memory use In, Out or InOut");
  }
  if (!argument.is_contiguous()) {
    throw TypeError(place(kernel, index, count) + " is " + describe(argument) +
                        " whose elements are not contiguous, and a bare pointer knows no strides",
                    "pass array.contiguous(), or strided(array) to a kernel that declares damo::Strided; a kernel that "
                    "gets the strides in other parameters takes array.data()");
  }
}

}  // namespace

bool is_within_reach(const Backend* device, const Backend& on) { return device == &on; }

void check_arguments(const LoadedKernel& kernel, const KernelArgument* arguments, std::size_t count) {
  const auto& wanted = kernel.parameters();
  if (wanted && count != wanted->size()) [[unlikely]]
    refuse_count(kernel, count);
  for (std::size_t i = 0; i < count; ++i) {
    const KernelArgument& argument = arguments[i];
    if (argument.kind() >= Argument::kPointer) check_memory(kernel, argument, i, count);
    if (wanted && !fits(argument, (*wanted)[i])) [[unlikely]]
      refuse_type(kernel, argument, i, count);
  }
}

}  // namespace damo
