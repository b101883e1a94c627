// The compiler plugin as seen by Damo: opened at the first compile, kept until the process ends.
// A kernel that comes from the disk cache never opens it. cache_stamp() and host_isa() work without it: they go into
// every cache key, so that an object is only found again by the compiler, prelude and kind of CPU that made it.
// Thread-safe. See tests/runtime/cpu/clang_plugin_test.cpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace damo::cpu_backend {

enum class SourceLanguage {
  kLoops,  ///< generated C++ on the prelude; its functions are KernelEntry functions
  kCudaC   ///< a user's CUDA C; each __global__ function becomes a KernelEntry function under its own name
};

struct CompileRequest {
  std::string_view source;
  std::string file_name;              ///< as diagnostics should name it
  SourceLanguage language = SourceLanguage::kLoops;
  std::vector<std::string> kernels;   ///< CUDA C: "scale", "scale<float>"; empty: every one that is no template
  std::vector<std::string> flags;     ///< Clang's: -D, -I (cheap); any other gives up the precompiled prelude
  std::vector<std::string> files;     ///< CUDA C: texts in place of files on the disk: path, text, path, text
  std::string cpu;                    ///< LLVM's name ("x86-64-v3") for code that another CPU is to run; empty: this host, at isa_level()
};

struct CompileOutput {
  bool ok = false;
  std::vector<std::byte> object;  ///< for LoadedObject and for the disk cache
  std::string log;                ///< errors or warnings, with the user's lines
};

/// Throws if there is no plugin; what is wrong with the source is in the output's log.
CompileOutput compile(const CompileRequest& request);

/// Opens the plugin now. What is wrong, and what to install, if it can't be opened; nothing if it can.
std::optional<std::string> plugin_problem();

/// "user.cu:3:7" or "near user.cu:3:7": where in the user's text the code at an offset of a section of an object comes from, by the object's
/// line tables. Empty if that is not known, also for want of a plugin.
std::string source_place(std::span<const std::byte> object, std::size_t section, std::uint64_t offset);

/// "clang 19.1.7 prelude 0123456789abcdef", known at build time.
std::string cache_stamp();

/// Vendor, family, model and the SIMD features that code for this host depends on, from cpuid.
const std::string& host_isa();

}  // namespace damo::cpu_backend
