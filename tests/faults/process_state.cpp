#include "faults/process_state.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace damo::faults {
namespace {

template <class Counted>
int count_entries(const std::string& directory, Counted counted) {
  int count = 0;
  std::error_code ignored;
  for (std::filesystem::directory_iterator at(directory, ignored), end; !ignored && at != end; at.increment(ignored)) {
    count += counted(at->path().filename().string());
  }
  return count;
}

/// Code without a file is what Damo's loader mapped.
int count_mappings() {
  std::ifstream file("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(file, line);) {
    const bool is_code = line.find("r-xp 00000000 00:00 0") != std::string::npos && line.back() != ']';
    count += is_code || line.find("/dev/shm/damo-") != std::string::npos;
  }
  return count;
}

std::string change(const char* what, long before, long after) {
  return before == after ? "" : std::string(what) + " " + std::to_string(before) + " -> " + std::to_string(after) + " ";
}

}  // namespace

ProcessState ProcessState::now() {
  const std::string own = "damo-" + std::to_string(getpid()) + "-";
  const char* const cache = std::getenv("DAMO_CACHE_DIR");
  return {.descriptors = count_entries("/proc/self/fd", [](const std::string&) { return true; }),
          .mappings = count_mappings(),
          .shared_blocks = count_entries("/dev/shm", [&](const std::string& name) { return name.starts_with(own); }),
          .temporary_files = cache ? count_entries(cache, [](const std::string& name) { return name.starts_with("."); }) : 0,
          .memory = held_memory()};
}

std::string difference(const ProcessState& before, const ProcessState& after) {
  return change("descriptors", before.descriptors, after.descriptors) + change("mappings", before.mappings, after.mappings) +
         change("shared blocks", before.shared_blocks, after.shared_blocks) + change("temporary files", before.temporary_files, after.temporary_files) +
         change("blocks of memory", before.memory.blocks, after.memory.blocks) + change("bytes of memory", before.memory.bytes, after.memory.bytes);
}

}  // namespace damo::faults
