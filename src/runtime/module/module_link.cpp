// Module::link and Module::load.
#include <algorithm>
#include <cstring>
#include <filesystem>

#include <damo/error.hpp>

#include "runtime/kernel/cache.hpp"
#include "runtime/kernel/kernel_scan.hpp"
#include "runtime/kernel/name_expression.hpp"
#include "runtime/module/module_request.hpp"
#include "runtime/module/text_file.hpp"

namespace damo {
namespace {

using Kind = LinkInput::Kind;

/// By what the file holds where that tells, else by its name.
Kind kind_of(const std::string& path, const std::string& contents) {
  const std::string extension = std::filesystem::path(path).extension().string();
  if (extension == ".a") return Kind::kLibrary;
  if (extension == ".o") return Kind::kObject;
  constexpr unsigned char kFatbinMagic[] = {0x50, 0xed, 0x55, 0xba};
  if (contents.starts_with("\x7f" "ELF")) return Kind::kCubin;
  if (contents.size() > 4 && std::memcmp(contents.data(), kFatbinMagic, 4) == 0) return Kind::kFatbin;
  if (extension == ".ptx") return Kind::kPtx;
  if (extension == ".cubin" || extension == ".fatbin") {
    throw OptionError("'" + path + "' is no " + extension.substr(1) + ": its first bytes are others",
                      "make it with nvcc, or give the source");
  }
  return Kind::kSource;
}

CodePart::Kind part_kind(Kind kind) {
  switch (kind) {
    case Kind::kPtx: return CodePart::Kind::kPtx;
    case Kind::kCubin: return CodePart::Kind::kCubin;
    case Kind::kFatbin: return CodePart::Kind::kFatbin;
    case Kind::kObject: return CodePart::Kind::kObject;
    case Kind::kLibrary: return CodePart::Kind::kLibrary;
    case Kind::kSource: break;
  }
  return CodePart::Kind::kCompiled;
}

/// PTX is text that the driver wants to end with a NUL.
std::span<const std::byte> bytes_of(const LinkInput& input) {
  return std::as_bytes(std::span(input.contents().c_str(), input.contents().size() + (input.kind() == Kind::kPtx ? 1 : 0)));
}

void require_gpu(Device device, const LinkInput& input) {
  if (device.kind() == DeviceKind::kCuda) return;
  throw DeviceError("'" + input.name() + "' is machine code of a GPU, which cannot run on " + device.name(),
                    "give its CUDA C source, which runs on both");
}

bool is_source(const LinkInput& input) { return input.kind() == Kind::kSource; }

/// Whether the text has the template of which name, "scale<float>", is an instance, or the kernel that a cast chooses.
bool has_named(const std::string& text, const std::string& name) {
  const std::string_view named = name_in(name), base = named.substr(0, named.find('<'));
  const std::vector<ScannedKernel> kernels = scan_names(text).definitions;
  return std::any_of(kernels.begin(), kernels.end(), [&](const ScannedKernel& kernel) { return kernel.name == base && (kernel.is_template || has_cast(name)); });
}

}  // namespace

LinkInput::LinkInput(SourceText source, std::string name)
    : name_(name.empty() ? "kernel.cu" : std::move(name)), contents_(std::move(source.text)), where_(source.where) {}

LinkInput LinkInput::file(const std::string& path) {
  LinkInput input;
  input.contents_ = read_file(path);
  input.kind_ = kind_of(path, input.contents_);
  input.name_ = path;
  return input;
}

std::vector<std::string> input_names(const std::vector<LinkInput>& inputs) {
  std::vector<std::string> names;
  for (const LinkInput& input : inputs) names.push_back(input.name());
  return names;
}

std::string joined_sources(const std::vector<LinkInput>& inputs) {
  std::string text;
  for (const LinkInput& input : inputs) {
    if (!is_source(input)) continue;
    text += "#line 1 \"" + name_for_messages(input.name()) + "\"\n" + input.contents();
    if (text.back() != '\n') text += '\n';
  }
  return text;
}

std::shared_ptr<const LoadedModule> load_linked(Device device, const std::vector<LinkInput>& inputs,
                                                const ModuleOptions& options, const std::string& source,
                                                std::string& log) {
  if (inputs.empty()) throw OptionError("Module::link of nothing", "give at least one source or file");
  Backend& backend = device.backend();
  if (device.kind() != DeviceKind::kCuda) {
    for (const LinkInput& input : inputs) {
      if (!is_source(input)) require_gpu(device, input);
    }
    return backend.cache().load_own(module_request(source, options, backend.kind()), &log);
  }
  // An instance of a template is asked of the sources in which the template stands, an overload of those that have its name.
  std::vector<CompiledCode> compiled;
  compiled.reserve(inputs.size());
  std::vector<CodePart> parts;
  CompileOptions link_options;
  for (const LinkInput& input : inputs) {
    if (!is_source(input)) {
      parts.push_back({part_kind(input.kind()), input.name(), bytes_of(input)});
      continue;
    }
    ModuleOptions own = options;
    own.file_name = input.name();
    std::erase_if(own.kernels, [&](const std::string& name) { return !has_named(input.contents(), name); });
    CompileRequest request = module_request(input.contents(), own, backend.kind());
    request.options.relocatable = true;
    link_options = request.options;
    compiled.push_back(backend.cache().code(request));
    if (!compiled.back().log.empty()) log += (log.empty() ? "" : "\n") + compiled.back().log;
    parts.push_back({CodePart::Kind::kCompiled, input.name(), compiled.back().bytes});
  }
  return backend.load(backend.link(parts, link_options), inputs.front().name());
}

std::shared_ptr<const LoadedModule> load_code(Device device, const LinkInput& input) {
  require_gpu(device, input);
  if (input.kind() == LinkInput::Kind::kObject || input.kind() == LinkInput::Kind::kLibrary) {
    throw OptionError("'" + input.name() + "' is an object to be linked", "give it to Module::link");
  }
  return device.backend().load(bytes_of(input), input.name());
}

}  // namespace damo
