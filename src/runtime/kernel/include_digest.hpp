// What a source includes from the caller's directories, as a digest: part of the cache key, so that a changed header is
// not taken for the old one. Follows the #include lines of files it finds; headers of the toolkit are the compiler's.
// See tests/runtime/kernel/include_digest_test.cpp.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace damo {

/// Empty if none of the directories has a file that the source includes.
std::string include_digest(std::string_view source, const std::vector<std::string>& directories);

/// Those files by the names under which they are included; names that mean several files are left out.
std::map<std::string, std::string> included_files(std::string_view source, const std::vector<std::string>& directories);

}  // namespace damo
