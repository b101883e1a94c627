#include "runtime/module_request.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string_view>

#include <damo/error.hpp>

#include "runtime/kernel/include_digest.hpp"

namespace damo {
namespace {

bool is_identifier(const std::string& name) {
  const auto in_name = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  return !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), in_name);
}

/// NAME or NAME(a, b).
bool is_macro_name(const std::string& name) {
  const std::size_t open = name.find('(');
  return is_identifier(name.substr(0, open)) && (open == std::string::npos || name.back() == ')');
}

void check(const ModuleOptions& options) {
  for (const auto& [name, value] : options.defines) {
    if (!is_macro_name(name))
      throw OptionError("ModuleOptions::defines: '" + name + "' is no name of a macro", "use letters, digits and _");
    if (value.find('\n') != std::string::npos)
      throw OptionError("ModuleOptions::defines: the value of '" + name + "' has a line break", "write it in one line");
  }
  if (!options.standard.empty() && !options.standard.starts_with("c++") && !options.standard.starts_with("gnu++")) {
    throw OptionError("ModuleOptions::standard is '" + options.standard + "'", "write \"c++17\" or \"c++20\"");
  }
  if (options.max_registers < 0) {
    throw OptionError("ModuleOptions::max_registers is " + std::to_string(options.max_registers),
                      "0 leaves it to the compiler");
  }
  for (const std::string& name : options.kernels) {
    if (name.empty()) throw OptionError("ModuleOptions::kernels has an empty name", "write \"scale<float>\"");
  }
}

}  // namespace

bool ModuleOptions::default_check() {
  const char* const value = std::getenv("DAMO_CHECK");
  return value && std::string_view(value) == "1";
}

std::string name_for_messages(std::string name) {
  for (char& c : name) {
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ') c = '_';
  }
  return name.empty() ? "kernel.cu" : name;
}

CompileRequest module_request(const std::string& source, const ModuleOptions& options) {
  check(options);
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
                     .relocatable = false,
                     .includes = include_digest(source, options.include_directories)};
  return request;
}

}  // namespace damo
