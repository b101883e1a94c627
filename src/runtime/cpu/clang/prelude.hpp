// The prelude's files as text in the plugin: core.h, math_*.h, elementwise.h and, for CUDA C,
// cuda_*.h. See embed_prelude.cmake.
#pragma once
#include <string>

namespace damo::clang_plugin {

struct PreludeFile {
  const char* name;
  const char* text;
};

/// Ends with a null name.
extern const PreludeFile prelude_files[];

/// Where the compiler sees those files; diagnostics from here are not the user's.
inline constexpr const char* kPreludeDirectory = "/damo-prelude/";

/// The one header that a compile of this language includes. source: what is compiled, null for all sources: families of
/// functions that it does not name are left out, which makes the first compile of a process a fifth faster.
std::string umbrella_header(bool cuda, const std::string* source);

}  // namespace damo::clang_plugin
