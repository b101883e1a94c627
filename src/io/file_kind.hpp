// What stands under a name where a file is wanted.
#pragma once
#include <sys/stat.h>

#include <string_view>

namespace damo::io {

/// By stat's st_mode; empty for a file.
inline std::string_view other_kind(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return {};
    case S_IFDIR:
      return "a folder";
    case S_IFIFO:
      return "a pipe";
    case S_IFSOCK:
      return "a socket";
    default:
      return "a device";
  }
}

}  // namespace damo::io
