#include <damo/module.hpp>

#include <cstdlib>
#include <map>
#include <mutex>

#include <damo/error.hpp>
#include <damo/log.hpp>

#include "runtime/backend.hpp"
#include "runtime/kernel/cache.hpp"
#include "runtime/kernel/kernel_scan.hpp"
#include "runtime/module_request.hpp"
#include "runtime/text_file.hpp"

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

/// name, or the one name that ends in "::name"; empty if there is none.
std::string full_name(const std::vector<std::string>& names, std::string_view name) {
  const std::string ending = "::" + std::string(name);
  std::string found;
  int count = 0;
  for (const std::string& known : names) {
    if (known == name) return known;
    if (!known.ends_with(ending)) continue;
    found = known;
    ++count;
  }
  return count == 1 ? found : std::string();
}

std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

[[noreturn]] void refuse_kernel(const std::string& module, const std::string& source,
                                const std::vector<std::string>& names, std::string_view name) {
  const std::vector<std::string> templates = scan_names(source).templates;
  const std::string base(name.substr(0, name.find('<')));
  std::string remedy = "ask for one of these; a kernel is a __global__ function with a body";
  if (!full_name(templates, base).empty()) {
    remedy = "'" + base + "' is a template: name the instance in ModuleOptions::kernels, as in {\"" +
             (base == name ? base + "<float>" : std::string(name)) + "\"}";
  }
  throw DeviceError("module '" + module + "' has no kernel '" + std::string(name) + "'; it has " +
                        (names.empty() ? "none" : list(names)),
                    std::move(remedy));
}

}  // namespace

Module::Module(Device device, SourceText source, ModuleOptions options) {
  warn_of_check(device, options);
  auto data = std::make_shared<Data>(device, options.file_name, std::move(source.text));
  try {
    data->loaded = device.backend().cache().load_own(module_request(data->source, options), &data->log);
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

bool Module::has_global(std::string_view name) const { return data_->loaded->global(std::string(name)).second > 0; }

Global Module::global(std::string_view name) const {
  const auto [address, bytes] = data_->loaded->global(std::string(name));
  if (bytes == 0) {
    const std::vector<std::string> names = scan_names(data_->source).variables;
    throw DeviceError("module '" + data_->name + "' has no variable '" + std::string(name) + "'" +
                          (names.empty() ? "" : "; it has " + list(names)),
                      "declare it __device__ or __constant__ at namespace scope; one that no kernel uses and that is "
                      "static is left out by the compiler");
  }
  return Global(data_->device, data_->loaded, std::string(name), address, bytes);
}

}  // namespace damo
