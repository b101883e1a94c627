#include "prelude.hpp"

#include <cstring>

namespace damo::clang_plugin {

std::string umbrella_header(bool cuda) {
  // core and math are written as plain C++: in CUDA C the pragma makes them device functions.
  std::string text = cuda ? "#pragma clang force_cuda_host_device begin\n" : "";
  text += "#include \"core.h\"\n";
  for (const PreludeFile* file = prelude_files; file->name; ++file) {
    if (std::strncmp(file->name, "math_", 5) == 0) text += std::string("#include \"") + file->name + "\"\n";
  }
  text += "#include \"elementwise.h\"\n";
  text += cuda ? "" : "#include \"strips.h\"\n";
  if (cuda) text += "#pragma clang force_cuda_host_device end\n#include \"cuda_c.h\"\n";
  return text;
}

}  // namespace damo::clang_plugin
