#include "runtime/kernel/source_dump.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <damo/error.hpp>

namespace damo {

void dump_source(const CompileRequest& request, const std::string& key, DeviceKind kind) {
  const char* directory = std::getenv("DAMO_DUMP");
  if (!directory || !*directory) return;
  std::error_code ignored;  // the file's own error is the one to report
  std::filesystem::create_directories(directory, ignored);
  const bool is_loops = kind != DeviceKind::kCuda && request.kind == SourceKind::kGenerated;
  const std::string path = std::string(directory) + "/" + key + (is_loops ? ".cpp" : ".cu");
  std::ofstream file(path, std::ios::binary);
  for (const std::string& name : request.kernels) file << "// kernel " << name << "\n";
  for (const std::string& flag : request.flags) file << "// flag " << flag << "\n";
  file << request.source;
  if (!file.flush()) {
    throw OptionError("DAMO_DUMP is '" + std::string(directory) + "', but '" + path + "' cannot be written",
                      "name a directory that this process can write to");
  }
}

}  // namespace damo
