// The prelude's files as text in the plugin: core.h, math_*.h, elementwise.h and, for CUDA C, cuda_*.h. See
// embed_prelude.cmake. Parsing is a large part of the time of a process' first compile, so a source gets the parts that
// it may use, by the words in it. Too many cost time; one too few would be an error, so a source that includes headers of its
// own or pastes words together gets all parts.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace damo::clang_plugin {

struct PreludeFile {
  const char* name;
  const char* text;
};

/// Ends with a null name.
extern const PreludeFile prelude_files[];

/// Where the compiler sees those files; diagnostics from here are not the user's.
inline constexpr const char* kPreludeDirectory = "/damo-prelude/";

/// The one header that a compile of this language includes. source: what is compiled, with the user's flags; null for
/// all sources, which is what a precompiled prelude holds.
std::string umbrella_header(bool cuda, const std::string* source);

/// What a CUDA C source needs on top of that: parts that few sources name, never precompiled.
std::string extra_header(const std::string& source);

/// Headers that CUDA C programs include, each with its text: an own part of the prelude, or nothing where all is declared already.
std::vector<std::pair<std::string, std::string>> provided_headers();

/// Of a header that is not there: what it has, if nothing of that kind is supported; else nothing.
std::string_view refused_header(std::string_view name);

}  // namespace damo::clang_plugin
