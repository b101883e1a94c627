#include "runtime/module/text_file.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <damo/error.hpp>

namespace damo {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw OptionError("'" + path + "' cannot be read: " + why,
                    "name a file that this process may read; a relative name is looked for in " +
                        std::filesystem::current_path().string());
}

}  // namespace

std::string read_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) refuse(path, "it is a directory");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse(path, errno ? std::strerror(errno) : "it cannot be opened");
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) refuse(path, "reading it failed");
  return text;
}

void write_file(const std::string& path, std::string_view text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << text << std::flush;
  if (!file) throw OptionError("'" + path + "' cannot be written: " + (errno ? std::strerror(errno) : "writing it failed"), "name a file in a directory that exists and is yours, on a disk that has room");
}

std::string directory_of(const std::string& path) {
  const std::string directory = std::filesystem::path(path).parent_path().string();
  return directory.empty() ? "." : directory;
}

}  // namespace damo
