#include "runtime/cpu/clang_plugin.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>

#include "prelude_digest.hpp"
#include "runtime/cpu/clang/plugin.h"
#include "runtime/cpu/compiler_guard.hpp"
#include "runtime/cpu/fail.hpp"

namespace damo::cpu_backend {
namespace {

constexpr const char* kPluginFile = "libdamo_clang.so";

struct Plugin {
  damo_clang_compile_fn compile = nullptr;
  damo_clang_release_fn release = nullptr;
  damo_clang_locate_fn locate = nullptr;
  std::string problem;
};

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

/// Of the library or executable that this code is linked into.
std::string own_directory() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&own_directory), &info) == 0 || !info.dli_fname) return {};
  return directory_of(info.dli_fname);
}

std::string executable_directory() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? directory_of(std::string(path, static_cast<std::size_t>(length))) : std::string();
}

/// DAMO_PLUGIN_DIR alone if it is set: what was asked for is not replaced in silence. "": where the loader looks, which
/// is the RUNPATH that find_package(damo) gives to programs.
std::vector<std::string> search_directories() {
  if (const char* chosen = std::getenv("DAMO_PLUGIN_DIR"); chosen && *chosen) return {chosen};
  std::vector<std::string> directories;
  for (const std::string& base : {own_directory(), executable_directory()}) {
    if (base.empty()) continue;
    directories.push_back(base);
    directories.push_back(base + "/damo");
    directories.push_back(base + "/../lib/damo");
  }
  directories.emplace_back();
  directories.push_back(DAMO_PLUGIN_BUILD_DIR);
  directories.push_back(DAMO_PLUGIN_INSTALL_DIR);
  return directories;
}

std::string missing(const std::string& tried) {
  return "the CPU compiler plugin " + std::string(kPluginFile) + " cannot be opened; tried:\n" + tried +
         "It needs Clang and LLVM " DAMO_LLVM_VERSION " (Debian, Ubuntu: libclang-cpp19 libllvm19). "
         "Build Damo with DAMO_CPU=ON, or set DAMO_PLUGIN_DIR to the directory that holds the plugin.";
}

Plugin open_plugin() {
  Plugin plugin;
  std::string tried;
  for (const std::string& directory : search_directories()) {
    const std::string path = directory.empty() ? kPluginFile : directory + "/" + kPluginFile;
    if (!directory.empty() && access(path.c_str(), R_OK) != 0) {
      tried += "  " + path + ": not there\n";
      continue;
    }
    void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (!library) {
      tried += "  " + std::string(dlerror()) + "\n";
      continue;
    }
    const auto version = reinterpret_cast<damo_clang_version_fn>(dlsym(library, "damo_clang_version"));
    const std::string stamp = version ? version() : "no version";
    if (stamp != cache_stamp()) {
      tried += "  " + path + ": is of another build (" + stamp + ", wanted " + cache_stamp() + ")\n";
      dlclose(library);
      continue;
    }
    plugin.compile = reinterpret_cast<damo_clang_compile_fn>(dlsym(library, "damo_clang_compile"));
    plugin.release = reinterpret_cast<damo_clang_release_fn>(dlsym(library, "damo_clang_release"));
    plugin.locate = reinterpret_cast<damo_clang_locate_fn>(dlsym(library, "damo_clang_locate"));
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

CompileOutput compile(const CompileRequest& request) {
  const Plugin& compiler = plugin();
  if (!compiler.compile) fail(compiler.problem);
  const auto kernels = pointers_to(request.kernels);
  const auto flags = pointers_to(request.flags), files = pointers_to(request.files);
  damo_clang_request raw{};
  raw.source = request.source.data();
  raw.source_bytes = request.source.size();
  raw.file_name = request.file_name.c_str();
  raw.language = request.language == SourceLanguage::kCudaC ? DAMO_CLANG_CUDA_C : DAMO_CLANG_LOOPS;
  raw.kernels = request.kernels.empty() ? nullptr : kernels.data();
  raw.flags = flags.data();
  raw.files = files.data();
  raw.cpu = request.cpu.empty() ? nullptr : request.cpu.c_str();
  damo_clang_result result{};
  CompileOutput output;
  if (std::string problem = run_compiler([&] { compiler.compile(&raw, &result); }); !problem.empty()) {
    output.log = request.file_name + ": error: " + problem + "\n";
    return output;
  }
  output.ok = result.ok != 0;
  const auto* bytes = reinterpret_cast<const std::byte*>(result.object);
  output.object.assign(bytes, bytes + result.object_bytes);
  output.log = result.log;
  output.signatures = result.signatures;
  compiler.release(&result);
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
