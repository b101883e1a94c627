// Where libnvrtc.so is. Probes names instead of reading directories: a system's library directory has thousands.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "graph/base/environment.hpp"
#include "runtime/cuda/nvrtc_library.hpp"
#include "runtime/cuda/toolkit_library.hpp"

namespace damo::cuda_backend {
namespace {

namespace fs = std::filesystem;

constexpr int kOldestMajor = 12, kNewestMajor = 19;

/// The link without a number is the choice of who installed the toolkit; else the newest.
std::string library_in(const fs::path& directory, const char* file) {
  std::error_code ignored;
  const fs::path base = directory / file;
  if (fs::exists(base, ignored)) return base.string();
  for (int major = kNewestMajor; major >= kOldestMajor; --major) {
    const std::string path = base.string() + "." + std::to_string(major);
    if (fs::exists(path, ignored)) return path;
  }
  return {};
}

void add_toolkit(std::vector<fs::path>& directories, const fs::path& root) {
  if (root.empty()) return;
  directories.push_back(root / "lib64");
  directories.push_back(root / "lib");
  directories.push_back(root / "targets/x86_64-linux/lib");
}

void add_list(std::vector<fs::path>& directories, const std::string& list) {
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(':', begin), list.size());
    if (end > begin) directories.emplace_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
}

/// /usr/local/cuda-12.6, /usr/local/cuda-13.0, ...: the newest first.
std::vector<fs::path> numbered_toolkits() {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator("/usr/local", ignored)) {
    if (entry.path().filename().string().starts_with("cuda-")) found.push_back(entry.path());
  }
  const auto version = [](const fs::path& path) { return std::atof(path.filename().string().c_str() + 5); };
  std::sort(found.begin(), found.end(), [&](const fs::path& a, const fs::path& b) { return version(a) > version(b); });
  return found;
}

std::vector<fs::path> search_directories() {
  std::vector<fs::path> directories;
  add_toolkit(directories, environment("CUDA_HOME"));
  add_toolkit(directories, environment("CUDA_PATH"));
  add_list(directories, environment("LD_LIBRARY_PATH"));
#ifdef DAMO_CUDA_LIBRARY_DIR
  directories.emplace_back(DAMO_CUDA_LIBRARY_DIR);
#endif
  add_toolkit(directories, "/usr/local/cuda");
  for (const fs::path& root : numbered_toolkits()) add_toolkit(directories, root);
  for (const char* system : {"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/opt/cuda/lib64"}) {
    directories.emplace_back(system);
  }
  return directories;
}

}  // namespace

std::string find_toolkit_library(const char* file, const char* variable) {
  if (const std::string chosen = environment(variable); !chosen.empty()) {
    std::error_code ignored;
    if (fs::is_directory(chosen, ignored)) return library_in(chosen, file);
    return fs::exists(chosen, ignored) ? chosen : std::string();
  }
  for (const fs::path& directory : search_directories()) {
    if (std::string path = library_in(directory, file); !path.empty()) return path;
  }
  return {};
}

std::string find_nvrtc() { return find_toolkit_library("libnvrtc.so", "DAMO_NVRTC_PATH"); }

std::string nvrtc_file_stamp(const std::string& path) {
  std::error_code error;
  const fs::path file = fs::canonical(path, error);
  if (path.empty() || error) return "none";
  const std::string name = file.filename().string();
  if (std::count(name.begin(), name.end(), '.') >= 4) return name;  // libnvrtc.so.13.0.88
  const auto changed = fs::last_write_time(file, error).time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(changed).count();
  return name + "-" + std::to_string(fs::file_size(file, error)) + "-" + std::to_string(seconds);
}

}  // namespace damo::cuda_backend
