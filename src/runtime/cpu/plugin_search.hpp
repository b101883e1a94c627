// Where the compiler plugin may be. Opening a library runs its code, so it is taken only from places that nobody else can
// write to. See tests/runtime/cpu/plugin_search_test.cpp.
#pragma once
#include <string>
#include <vector>

namespace damo::cpu_backend {

/// Paths to try, in order: in DAMO_PLUGIN_DIR alone if that is set, as what was asked for is not replaced in silence; else
/// beside this library or program, in the RUNPATH that find_package(damo) or the build tree gave it, where Damo was
/// installed.
std::vector<std::string> plugin_candidates(const std::string& file);

/// Who but root, this process's user and the owner of the running program could change what lies at the path, as
/// "user 1000 owns /opt/lib"; empty if nobody can. Looks at the file and at every directory above it, past links.
std::string who_else_writes(const std::string& path);

/// Whether a library's file ends before what is to be loaded of it: a copy that did not come to its end. The loader maps such a file, and whoever
/// touches what is missing is killed.
bool is_cut_short(const std::string& path);

}  // namespace damo::cpu_backend
