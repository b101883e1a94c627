#include "runtime/module/module_request.hpp"

#include <algorithm>
#include <string_view>

#include <damo/error.hpp>

#include "graph/base/environment.hpp"
#include "runtime/kernel/given_names.hpp"
#include "runtime/kernel/name_expression.hpp"

namespace damo {
namespace {

/// NAME or NAME(a, b).
bool is_macro_name(const std::string& name) {
  const std::size_t open = name.find('(');
  return is_identifier(name.substr(0, open)) && (open == std::string::npos || name.back() == ')');
}

/// "c++17", "gnu++20".
bool is_standard(std::string_view text) {
  constexpr std::string_view kYears[] = {"11", "14", "17", "20", "23", "2a", "2b"};
  for (const std::string_view family : {"c++", "gnu++"}) {
    if (text.starts_with(family)) return std::ranges::count(kYears, text.substr(family.size())) > 0;
  }
  return false;
}

/// Whether it may be an expression as "space::scale<float, 4>" or "(void (*)(float*))scale" is: what is not would give errors of code
/// nobody wrote.
bool may_be_instance(std::string_view name) {
  if (name.find_first_of(";{}#\n") != std::string_view::npos) return false;
  int open = 0;
  for (const char c : name) {
    open += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (open < 0) return false;
  }
  const std::size_t last = name.find_last_not_of(" \t");
  const bool has_arguments = name.find('<') != std::string_view::npos && name[0] != '(';
  return open == 0 && !name_in(name).empty() && (!has_arguments || name[last] == '>' || name[last] == ')');
}

void check(const ModuleOptions& options) {
  for (const auto& [name, value] : options.defines) {
    if (!is_macro_name(name))
      throw OptionError("ModuleOptions::defines: '" + name + "' is no name of a macro", "use letters, digits and _");
    if (value.find('\n') != std::string::npos)
      throw OptionError("ModuleOptions::defines: the value of '" + name + "' has a line break", "write it in one line");
  }
  if (!options.standard.empty() && !is_standard(options.standard)) {
    throw OptionError("ModuleOptions::standard is '" + options.standard + "'", "write \"c++17\" or \"c++20\"");
  }
  if (options.max_registers < 0) {
    throw OptionError("ModuleOptions::max_registers is " + std::to_string(options.max_registers),
                      "0 leaves it to the compiler");
  }
  for (const std::string& name : options.kernels) {
    if (name.empty()) throw OptionError("ModuleOptions::kernels has an empty name", "write \"scale<float>\"");
    if (!may_be_instance(name))
      throw OptionError("ModuleOptions::kernels: '" + name + "' names no kernel", "write \"scale<float>\"");
  }
}

/// What PyCUDA's programs pass as options, and Clang does not know.
void check_flags_for_cpu(const std::vector<std::string>& flags) {
  struct Option {
    std::string_view name, remedy;
  };
  constexpr Option kOptions[] = {
      {"use_fast_math", "say .fast_math = true, which both compilers are told in their own words"},
      {"lineinfo", "leave it out: ModuleOptions::line_info is on unless a program says otherwise"},
      {"generate-line-info", "leave it out: ModuleOptions::line_info is on unless a program says otherwise"},
      {"maxrregcount", "say .max_registers, which has an effect on a GPU only"},
      {"arch", "leave it out: the code is for the device of the Module"},
      {"gpu-architecture", "leave it out: the code is for the device of the Module"},
      {"Xptxas", "pass it where module.device() is a GPU"},
      {"ptxas-options", "pass it where module.device() is a GPU"},
      {"rdc", "leave it out: Module::link sees to it"},
      {"relocatable-device-code", "leave it out: Module::link sees to it"}};
  for (const std::string& flag : flags) {
    const std::string_view text(flag);
    const std::string_view name = text.substr(std::min(text.find_first_not_of('-'), text.size()));
    for (const Option& option : kOptions) {
      if (!text.starts_with('-') || name.substr(0, name.find('=')) != option.name) continue;
      throw OptionError("ModuleOptions::flags has '" + flag + "', an option of NVRTC: on the CPU flags are clang -cc1's",
                        std::string(option.remedy));
    }
  }
}

}  // namespace

bool ModuleOptions::default_check() { return is_switched_on("DAMO_CHECK"); }

std::string name_for_messages(std::string name) {
  for (char& c : name) {
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ') c = '_';
  }
  return name.empty() ? "kernel.cu" : name;
}

CompileRequest module_request(const std::string& source, const ModuleOptions& options, DeviceKind device) {
  check(options);
  if (device == DeviceKind::kCpu) check_flags_for_cpu(options.flags);
  CompileRequest request;
  request.source = source;
  request.kind = SourceKind::kCudaC;
  request.file_name = name_for_messages(options.file_name);
  request.kernels = {kAllKernels};
  for (const std::string& name : options.kernels) {
    if (std::find(request.kernels.begin(), request.kernels.end(), name) == request.kernels.end())
      request.kernels.push_back(name);
  }
  request.flags = options.flags;
  request.options = {.defines = options.defines,
                     .include_directories = options.include_directories,
                     .standard = options.standard,
                     .fast_math = options.fast_math,
                     .line_info = options.line_info,
                     .max_registers = options.max_registers,
                     .check = options.check,
                     .relocatable = false};
  return request;
}

}  // namespace damo
