// FileError: what a file that is read or written is at fault for, or what the system refuses of it. Its text names the format and the
// file, the byte (or line and column) where reading stopped, and what was expected there. See tests/io/.
#pragma once
#include <damo/error.hpp>

namespace damo {

struct FileError : Error { using Error::Error; };

}  // namespace damo
