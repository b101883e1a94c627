#include <damo/module.hpp>

#include <algorithm>
#include <cctype>
#include <map>
#include <mutex>

#include <damo/error.hpp>
#include <damo/log.hpp>

#include "runtime/backend.hpp"
#include "runtime/kernel/cache.hpp"
#include "runtime/kernel/kernel_scan.hpp"
#include "runtime/kernel/name_expression.hpp"
#include "runtime/module/module_request.hpp"
#include "runtime/module/text_file.hpp"

namespace damo {

struct Module::Data {
  Device device;
  std::string name, source, log;
  std::shared_ptr<const LoadedModule> loaded;
  mutable std::mutex mutex;
  mutable std::map<std::string, std::shared_ptr<const LoadedKernel>, std::less<>> kernels;  // those asked for

  Data(Device device, std::string name, std::string source)
      : device(device), name(std::move(name)), source(std::move(source)) {}
};

namespace {

std::string where_text(SourceLine where) { return where ? "in the Module made at " + to_string(where) : std::string(); }

void warn_of_check(Device device, const ModuleOptions& options) {
  if (!options.check || device.kind() != DeviceKind::kCuda) return;
  log(LogLevel::kInfo, "'" + options.file_name + "': on a GPU accesses are not checked; run the program under "
                       "compute-sanitizer, or check it on the CPU");
}

/// Without the blanks that C++ does not need: "scale< float, 3 >" is "scale<float,3>".
std::string without_blanks(std::string_view name) {
  const auto is_blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (!is_blank(name[i])) {
      text += name[i];
      continue;
    }
    const std::size_t next = name.find_first_not_of(" \t\n\v\f\r", i);
    if (next != std::string_view::npos && !text.empty() && is_word(text.back()) && is_word(name[next])) text += ' ';
    i = std::min(next, name.size()) - 1;
  }
  return text;
}

/// The name itself if it is known, else the expressions that choose among those of the name, else those that end in "::name".
std::vector<std::string> full_names(const std::vector<std::string>& names, std::string_view name) {
  const std::string wanted = without_blanks(name), ending = "::" + wanted;
  std::vector<std::string> chosen, ended;
  for (const std::string& known : names) {
    const std::string text = without_blanks(known);
    if (text == wanted) return {known};
    const std::string_view named = name_in(text);
    if (named == wanted) chosen.push_back(known);
    if (named.ends_with(ending)) ended.push_back(known);
  }
  return chosen.empty() ? ended : chosen;
}

/// name, or the one name that ends in "::name"; empty if there is none.
std::string full_name(const std::vector<std::string>& names, std::string_view name) {
  const std::vector<std::string> found = full_names(names, name);
  return found.size() == 1 ? found.front() : std::string();
}

std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

[[noreturn]] void refuse_kernel(const std::string& module, const std::string& source,
                                const std::vector<std::string>& names, std::string_view name) {
  const ScannedNames scanned = scan_names(source);
  if (const std::vector<std::string> several = full_names(names, name); several.size() > 1) {
    const std::string found = kernels_of_name(scanned, name);
    throw DeviceError("module '" + module + "' has several kernels '" + std::string(name) + "': " + (found.empty() ? list(several) : found),
                      "ask for one by its whole name: " + list(several));
  }
  const std::string base(name.substr(0, name.find('<')));
  std::string remedy = "ask for one of these; a kernel is a __global__ function with a body";
  if (has_cast(name)) {
    remedy = "ask for one of these, or name the expression in ModuleOptions::kernels too: the compiler reads it there";
  } else if (!full_name(scanned.templates, base).empty()) {
    remedy = "'" + base + "' is a template: name the instance in ModuleOptions::kernels, as in {\"" +
             (base == name ? base + "<float>" : std::string(name)) + "\"}";
  }
  throw DeviceError("module '" + module + "' has no kernel '" + std::string(name) + "'; it has " +
                        (names.empty() ? "none" : list(names)),
                    std::move(remedy));
}

[[noreturn]] void refuse_variable(const std::string& module, const std::vector<std::string>& names,
                                  std::string_view name) {
  const std::string quoted = "'" + std::string(name) + "'";
  const std::vector<std::string> found = full_names(names, name);
  if (found.size() > 1) {
    throw DeviceError("module '" + module + "' has several variables " + quoted + ": " + list(found),
                      "ask for one of these by its whole name");
  }
  if (found.size() == 1) {
    throw DeviceError("module '" + module + "' declares the variable " + quoted + ", but its code has none of that name",
                      "use it in a kernel: the compiler may leave out what only the text itself can reach");
  }
  throw DeviceError("module '" + module + "' has no variable " + quoted +
                        (names.empty() ? "" : "; it has " + list(names)),
                    "declare it __device__ or __constant__ at namespace scope");
}

}  // namespace

Module::Module(Device device, SourceText source, ModuleOptions options) {
  warn_of_check(device, options);
  auto data = std::make_shared<Data>(device, options.file_name, std::move(source.text));
  try {
    data->loaded = device.backend().cache().load_own(module_request(data->source, options, device.kind()), &data->log);
  } catch (Error& error) {
    if (source.where) error.add_where(where_text(source.where));
    throw;
  }
  data_ = std::move(data);
}

Module Module::from_file(Device device, const std::string& path, ModuleOptions options) {
  SourceText source;
  source.text = read_file(path);
  if (options.file_name == ModuleOptions().file_name) options.file_name = path;
  options.include_directories.insert(options.include_directories.begin(), directory_of(path));
  return Module(device, std::move(source), std::move(options));
}

Module Module::link(Device device, const std::vector<LinkInput>& inputs, ModuleOptions options) {
  warn_of_check(device, options);
  auto data = std::make_shared<Data>(device, "linked " + list(input_names(inputs)), joined_sources(inputs));
  data->loaded = load_linked(device, inputs, options, data->source, data->log);
  return Module(std::move(data));
}

Module Module::load(Device device, const std::string& path) {
  const LinkInput input = LinkInput::file(path);
  if (input.kind() == LinkInput::Kind::kSource) {
    throw OptionError("Module::load of '" + path + "', which is no machine code",
                      "Module::from_file compiles CUDA C");
  }
  auto data = std::make_shared<Data>(device, path, std::string());
  data->loaded = load_code(device, input);
  return Module(std::move(data));
}

Device Module::device() const { return data_->device; }
const std::string& Module::log() const { return data_->log; }
const std::string& Module::source() const { return data_->source; }
std::vector<std::string> Module::kernel_names() const { return data_->loaded->kernel_names(); }

Kernel Module::kernel(std::string_view name) const {
  const Stream stream = Stream::default_of(data_->device);
  const std::lock_guard lock(data_->mutex);
  if (const auto known = data_->kernels.find(name); known != data_->kernels.end()) return Kernel(known->second, stream);
  const std::vector<std::string> names = data_->loaded->kernel_names();
  std::string full = full_name(names, name);
  // An old driver does not list the kernels of ready code, but finds them.
  const bool is_listed = !names.empty() || !data_->source.empty();
  if (full.empty() && is_listed && data_->device.kind() != DeviceKind::kNull)
    refuse_kernel(data_->name, data_->source, names, name);
  if (full.empty()) full = std::string(name);
  std::shared_ptr<const LoadedKernel> kernel = data_->loaded->kernel(full);
  data_->kernels.emplace(std::string(name), kernel);
  return Kernel(std::move(kernel), stream);
}

bool Module::has_global(std::string_view name) const { return find_global(name).second > 0; }

std::pair<void*, std::size_t> Module::find_global(std::string_view name) const {
  const auto found = data_->loaded->global(std::string(name));
  if (found.second > 0 || data_->source.empty()) return found;
  const std::string full = full_name(scan_names(data_->source).variables, name);
  return full.empty() || full == name ? found : data_->loaded->global(full);
}

Global Module::global(std::string_view name) const {
  const auto [address, bytes] = find_global(name);
  if (bytes == 0) refuse_variable(data_->name, scan_names(data_->source).variables, name);
  return Global(data_->device, data_->loaded, std::string(name), address, bytes);
}

}  // namespace damo
