#include "runtime/cpu/clang_plugin.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <string_view>

#include "prelude_digest.hpp"
#include "runtime/cpu/clang/plugin.h"
#include "runtime/cpu/compiler_guard.hpp"
#include "runtime/cpu/fail.hpp"
#include "runtime/cpu/form_chain.hpp"
#include "runtime/cpu/isa_level.hpp"
#include "runtime/cpu/plugin_search.hpp"

namespace damo::cpu_backend {
namespace {

constexpr const char* kPluginFile = "libdamo_clang.so";

struct Plugin {
  decltype(&damo_clang_compile) compile = nullptr;
  decltype(&damo_clang_release) release = nullptr;
  decltype(&damo_clang_locate) locate = nullptr;
  std::string problem;
};

std::string missing(const std::string& tried) {
  return "the CPU compiler plugin " + std::string(kPluginFile) + " cannot be opened; tried:\n" + tried +
         "It needs Clang and LLVM " DAMO_LLVM_VERSION " (Debian, Ubuntu: libclang-cpp19 libllvm19). "
         "Build Damo with DAMO_CPU=ON, or set DAMO_PLUGIN_DIR to the directory that holds the plugin.";
}

Plugin open_plugin() {
  Plugin plugin;
  std::string tried;
  for (const std::string& path : plugin_candidates(kPluginFile)) {
    if (access(path.c_str(), R_OK) != 0) {
      tried += "  " + path + ": not there\n";
      continue;
    }
    if (const std::string problem = who_else_writes(path); !problem.empty()) {  // before any of its code runs
      tried += "  " + path + ": " + problem + "\n";
      continue;
    }
    if (is_cut_short(path)) {
      tried += "  " + path + ": is cut short; build or install it again\n";
      continue;
    }
    void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (!library) {
      tried += "  " + std::string(dlerror()) + "\n";
      continue;
    }
    const auto version = reinterpret_cast<decltype(&damo_clang_version)>(dlsym(library, "damo_clang_version"));
    const std::string stamp = version ? version() : "no version";
    if (stamp != cache_stamp()) {
      tried += "  " + path + ": is of another build (" + stamp + ", wanted " + cache_stamp() + ")\n";
      dlclose(library);
      continue;
    }
    plugin.compile = reinterpret_cast<decltype(&damo_clang_compile)>(dlsym(library, "damo_clang_compile"));
    plugin.release = reinterpret_cast<decltype(&damo_clang_release)>(dlsym(library, "damo_clang_release"));
    plugin.locate = reinterpret_cast<decltype(&damo_clang_locate)>(dlsym(library, "damo_clang_locate"));
    if (plugin.compile && plugin.release && plugin.locate) return plugin;
    tried += "  " + path + ": lacks its functions\n";
  }
  plugin.compile = nullptr;
  plugin.problem = missing(tried);
  return plugin;
}

/// Never closed: LLVM's own statics would have to survive it.
const Plugin& plugin() {
  static const Plugin opened = open_plugin();
  return opened;
}

std::vector<const char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

namespace {

constexpr const char* kFormFlags[] = {"", "--damo-coroutines", "--damo-reference"};

/// The form that flags ask for.
KernelForm form_of(const std::vector<std::string>& flags) {
  KernelForm form = KernelForm::kLoops;
  for (const std::string& flag : flags) {
    if (flag == kFormFlags[1]) form = KernelForm::kCoroutines;
    if (flag == kFormFlags[2] || flag == "--damo-check") return KernelForm::kReference;
  }
  return form;
}

/// The line of the first #embed in a text, 0 if there is none. Clang 19 faults at one in a text that is no file.
std::size_t line_of_embed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  for (std::size_t line = 1; !text.empty(); ++line) {
    std::string_view rest = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), rest.size() + 1));
    for (const std::string_view word : {std::string_view("#"), std::string_view("embed")}) {
      rest.remove_prefix(std::min(rest.find_first_not_of(kBlank), rest.size()));
      if (!rest.starts_with(word)) break;
      rest.remove_prefix(word.size());
      if (word == "embed") return line;
    }
  }
  return 0;
}

FormAttempt compile_once(const Plugin& compiler, const CompileRequest& request, KernelForm form, CompileOutput& output) {
  const auto kernels = pointers_to(request.kernels);
  std::vector<std::string> all_flags = request.flags;
  if (form != KernelForm::kLoops) all_flags.push_back(kFormFlags[static_cast<int>(form)]);
  const auto flags = pointers_to(all_flags), files = pointers_to(request.files);
  damo_clang_request raw{};
  raw.source = request.source.data();
  raw.source_bytes = request.source.size();
  raw.file_name = request.file_name.c_str();
  raw.language = request.language == SourceLanguage::kCudaC ? DAMO_CLANG_CUDA_C : DAMO_CLANG_LOOPS;
  raw.kernels = request.kernels.empty() ? nullptr : kernels.data();
  raw.flags = flags.data();
  raw.files = files.data();
  const std::string cpu = request.cpu.empty() ? isa_level() : request.cpu;
  raw.cpu = cpu.empty() ? nullptr : cpu.c_str();
  damo_clang_result result{};
  output = {};
  if (const CompilerRun run = run_compiler([&] { compiler.compile(&raw, &result); }); !run.problem.empty()) {
    const std::size_t embed = result.at[0] == '\0' ? line_of_embed(request.source) : 0;
    output.log = embed > 0 ? request.file_name + ":" + std::to_string(embed) + ": error: #embed is not supported in a kernel's text\n"
                           : request.file_name + ": error: the compiler can't compile this text: " + run.problem + "\n";
    return {.gives_way = !run.is_final && result.at[0] != '\0', .at = result.at, .why = run.problem};
  }
  output.ok = result.ok == 1;
  const auto* bytes = reinterpret_cast<const std::byte*>(result.object);
  output.object.assign(bytes, bytes + result.object_bytes);
  output.log = result.log;
  const FormAttempt attempt{.gives_way = result.ok < 0, .at = result.at, .why = "it makes no valid function: " + output.log.substr(0, output.log.find('\n'))};
  compiler.release(&result);
  return attempt;
}

}  // namespace

CompileOutput compile(const CompileRequest& request) {
  const Plugin& compiler = plugin();
  if (!compiler.compile) fail(compiler.problem);
  CompileOutput output;
  compile_in_a_form(form_of(request.flags), [&](KernelForm form) { return compile_once(compiler, request, form, output); });
  return output;
}

std::string source_place(std::span<const std::byte> object, std::size_t section, std::uint64_t offset) {
  char place[1024] = "";
  if (plugin().compile) plugin().locate(reinterpret_cast<const char*>(object.data()), object.size(), section, offset, place, sizeof place);
  return place;
}

std::optional<std::string> plugin_problem() {
  return plugin().compile ? std::nullopt : std::optional(plugin().problem);
}

std::string cache_stamp() { return "clang " DAMO_LLVM_VERSION " prelude " DAMO_PRELUDE_DIGEST; }

}  // namespace damo::cpu_backend
