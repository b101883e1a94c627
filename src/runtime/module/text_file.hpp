// Files that a caller names.
#pragma once
#include <string>
#include <string_view>

namespace damo {

/// All of its bytes. Throws OptionError with the system's reason if it cannot be read.
std::string read_file(const std::string& path);
/// A report or the like, in the place of what stood there. Throws OptionError with the system's reason if it cannot be written.
void write_file(const std::string& path, std::string_view text);
/// "/a/b.cu" -> "/a"; "b.cu" -> ".".
std::string directory_of(const std::string& path);

}  // namespace damo
