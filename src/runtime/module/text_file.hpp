// Files that a caller names.
#pragma once
#include <string>

namespace damo {

/// All of its bytes. Throws OptionError with the system's reason if it cannot be read.
std::string read_file(const std::string& path);
/// "/a/b.cu" -> "/a"; "b.cu" -> ".".
std::string directory_of(const std::string& path);

}  // namespace damo
