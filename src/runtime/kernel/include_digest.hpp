// What a source includes from files, as a digest: part of the cache key, so that a changed header is not taken for the
// old one. Looks where the compilers look: in the request's directories, in those of its flags (-I, -isystem and their
// kin), beside the file that includes, and at absolute paths; -include and --pre-include name files themselves. A file
// that a compiler would not reach may be among them, which costs a compile and nothing else: conditions are not
// evaluated, comments and strings are read as text, and a macro in the place of a name stands for all names that it is
// defined as. What is asked for by __has_include counts as included: it changes the code when it appears. Headers of the
// toolkit are the compiler's.
// See tests/runtime/kernel/include_digest_test.cpp.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "runtime/backend.hpp"

namespace damo {

/// Empty if there is no such file, and for generated code, which includes nothing. Null where the files can't be told without a
/// preprocessor: an #include or a __has_include of what a macro with parameters makes, a macro that stands for __has_include, flags that search in other ways. Then
/// nothing may be taken for the code but what is compiled now.
std::optional<std::string> include_digest(const CompileRequest& request);

/// Those files by the names under which they are included; names that mean several files are left out.
std::map<std::string, std::string> included_files(std::string_view source, const std::vector<std::string>& directories);

}  // namespace damo
