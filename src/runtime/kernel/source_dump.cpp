#include "runtime/kernel/source_dump.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <span>

#include <damo/error.hpp>

#include "graph/base/environment.hpp"
#include "runtime/kernel/cache_file.hpp"

namespace damo {
namespace {

/// Renamed into its place: a link that stands there is replaced, not followed.
bool write_file(const std::string& directory, const std::string& name, const std::string& text) {
  const Descriptor in(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!in) return false;
  std::string temporary;
  const Descriptor file = create_temporary(in.number(), temporary, 0666);
  if (!file) return false;
  if (write_all(file, std::as_bytes(std::span(text))) && renameat(in.number(), temporary.c_str(), in.number(), name.c_str()) == 0) return true;
  unlinkat(in.number(), temporary.c_str(), 0);
  return false;
}

}  // namespace

void dump_source(const CompileRequest& request, const std::string& key, DeviceKind kind) {
  const std::string directory = environment("DAMO_DUMP");
  if (directory.empty()) return;
  std::error_code ignored;  // the file's own error is the one to report
  std::filesystem::create_directories(directory, ignored);
  const bool is_loops = kind != DeviceKind::kCuda && request.kind == SourceKind::kGenerated;
  const std::string name = key + (is_loops ? ".cpp" : ".cu");
  std::string text;
  for (const std::string& kernel : request.kernels) text += "// kernel " + kernel + "\n";
  for (const std::string& flag : request.flags) text += "// flag " + flag + "\n";
  if (write_file(directory, name, text + request.source)) return;
  throw OptionError("DAMO_DUMP is '" + directory + "', but '" + directory + "/" + name + "' cannot be written",
                    "name a directory that this process can write to");
}

}  // namespace damo
