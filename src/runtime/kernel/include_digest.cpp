#include "runtime/kernel/include_digest.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "runtime/kernel/sha256.hpp"

namespace damo {
namespace {

/// The names that stand in "..." or <...> after #include.
std::vector<std::string> included_names(std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    const auto skip_blank = [&] { line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size())); };
    const auto skip = [&](std::string_view word) {
      skip_blank();
      if (!line.starts_with(word)) return false;
      line.remove_prefix(word.size());
      return true;
    };
    if (!skip("#") || !skip("include")) continue;
    skip_blank();
    if (line.empty() || (line[0] != '"' && line[0] != '<')) continue;
    const std::size_t close = line.find(line[0] == '"' ? '"' : '>', 1);
    if (close != std::string_view::npos) names.emplace_back(line.substr(1, close - 1));
  }
  return names;
}

class Reader {
 public:
  explicit Reader(const std::vector<std::string>& directories) : directories_(directories) {}

  void follow(std::string_view text, const std::filesystem::path& own_directory) {
    for (const std::string& name : included_names(text)) {
      if (!own_directory.empty() && take(name, own_directory / name)) continue;
      for (const std::string& directory : directories_) {
        if (take(name, std::filesystem::path(directory) / name)) break;
      }
    }
  }
  std::map<std::string, std::string> paths() {
    std::erase_if(paths_, [](const auto& entry) { return entry.second.empty(); });
    return std::move(paths_);
  }
  std::string digest() { return seen_.empty() ? std::string() : digest_.hex(); }

 private:
  /// Whether there is such a file.
  bool take(const std::string& name, const std::filesystem::path& path) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) return false;
    const auto [known, is_new] = paths_.emplace(name, path.string());
    if (!is_new && known->second != path.string()) known->second.clear();
    if (!seen_.insert(path.lexically_normal().string()).second) return true;
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    digest_.update_field(path.string()).update_field(text);
    follow(text, path.parent_path());
    return true;
  }

  const std::vector<std::string>& directories_;
  std::set<std::string> seen_;
  std::map<std::string, std::string> paths_;  // by names; empty: several
  Sha256 digest_;
};

}  // namespace

std::map<std::string, std::string> included_files(std::string_view source, const std::vector<std::string>& directories) {
  Reader reader(directories);
  reader.follow(source, {});
  return reader.paths();
}

std::string include_digest(std::string_view source, const std::vector<std::string>& directories) {
  if (directories.empty()) return {};
  Reader reader(directories);
  reader.follow(source, {});
  return reader.digest();
}

}  // namespace damo
