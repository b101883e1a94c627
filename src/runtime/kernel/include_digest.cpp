#include "runtime/kernel/include_digest.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>
#include <vector>

#include "runtime/kernel/sha256.hpp"

namespace damo {
namespace {

/// The text with lines joined that a backslash parts.
std::string joined(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && text.substr(i + 1).starts_with("\n")) {
      ++i;
    } else if (text[i] == '\\' && text.substr(i + 1).starts_with("\r\n")) {
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

/// One line of a directive, read from its beginning.
class Line {
 public:
  explicit Line(std::string_view text) : rest_(text) {}

  bool skip(std::string_view word) {
    skip_blank();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  /// What stands in "..." or <...> next; empty if nothing does.
  std::string name() {
    skip_blank();
    if (rest_.empty() || (rest_[0] != '"' && rest_[0] != '<')) return {};
    const std::size_t close = rest_.find(rest_[0] == '"' ? '"' : '>', 1);
    return close == std::string_view::npos ? std::string() : std::string(rest_.substr(1, close - 1));
  }
  void skip_identifier() {
    skip_blank();
    const auto is_in_name = [](char c) { return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    rest_.remove_prefix(static_cast<std::size_t>(std::find_if_not(rest_.begin(), rest_.end(), is_in_name) - rest_.begin()));
  }

 private:
  /// A comment is a blank too.
  void skip_blank() {
    for (;;) {
      rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\v\f"), rest_.size()));
      if (!rest_.starts_with("/*")) return;
      const std::size_t end = rest_.find("*/", 2);
      rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 2);
    }
  }
  std::string_view rest_;
};

/// The names after #include, #include_next and #import, and after #define NAME, which an #include NAME may mean.
std::vector<std::string> included_names(std::string_view text) {
  std::vector<std::string> names;
  const std::string whole = joined(text);
  for (std::size_t at = 0; at < whole.size();) {
    const std::size_t end = std::min(whole.find('\n', at), whole.size());
    Line line(std::string_view(whole).substr(at, end - at));
    at = end + 1;
    if (!line.skip("#") && !line.skip("%:")) continue;
    if (line.skip("include_next") || line.skip("include") || line.skip("import")) {
    } else if (line.skip("define")) {
      line.skip_identifier();
    } else {
      continue;
    }
    if (std::string name = line.name(); !name.empty()) names.push_back(std::move(name));
  }
  return names;
}

/// What the flags of both compilers say about includes.
struct Flags {
  std::vector<std::string> directories, files, definitions;
};

Flags read(const std::vector<std::string>& flags) {
  struct Option {
    std::string_view name;
    std::vector<std::string> Flags::*list;
  };
  // Longer names first: "-include-pch" begins like "-include", that like "-I" does not.
  constexpr Option kOptions[] = {{"--include-path", &Flags::directories},   {"--pre-include", &Flags::files},
                                 {"--define-macro", &Flags::definitions},   {"-internal-externc-isystem", &Flags::directories},
                                 {"-internal-isystem", &Flags::directories}, {"-iwithprefixbefore", &Flags::directories},
                                 {"-iwithprefix", &Flags::directories},     {"-idirafter", &Flags::directories},
                                 {"-cxx-isystem", &Flags::directories},     {"-isystem", &Flags::directories},
                                 {"-iquote", &Flags::directories},          {"-include-pch", &Flags::files},
                                 {"-include", &Flags::files},               {"-imacros", &Flags::files},
                                 {"-I", &Flags::directories},               {"-D", &Flags::definitions}};
  Flags result;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    const std::string_view flag = flags[i];
    const auto option = std::find_if(std::begin(kOptions), std::end(kOptions), [&](const Option& known) { return flag.starts_with(known.name); });
    if (option == std::end(kOptions)) continue;
    std::string_view value = flag.substr(option->name.size());
    if (value.starts_with('=')) value.remove_prefix(1);
    if (value.empty() && i + 1 < flags.size()) value = flags[++i];
    (result.*option->list).emplace_back(value);
  }
  return result;
}

class Reader {
 public:
  explicit Reader(std::vector<std::string> directories) : directories_(std::move(directories)) {}

  void follow(std::string_view text, const std::filesystem::path& own_directory) {
    for (const std::string& name : included_names(text)) find(name, own_directory);
  }
  /// In every directory: which of several files a compiler takes depends on the kind of include.
  void find(const std::string& name, const std::filesystem::path& own_directory) {
    take(name, own_directory / name);  // an absolute name stays itself
    if (std::filesystem::path(name).is_absolute()) return;
    for (const std::string& directory : directories_) take(name, std::filesystem::path(directory) / name);
  }
  std::map<std::string, std::string> paths() {
    std::erase_if(paths_, [](const auto& entry) { return entry.second.empty(); });
    return std::move(paths_);
  }
  std::string digest() { return seen_.empty() ? std::string() : digest_.hex(); }

 private:
  void take(const std::string& name, const std::filesystem::path& path) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) return;
    const auto [known, is_new] = paths_.emplace(name, path.string());
    if (!is_new && known->second != path.string()) known->second.clear();
    if (!seen_.insert(path.lexically_normal().string()).second) return;
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    digest_.update_field(path.string()).update_field(text);
    follow(text, path.parent_path());
  }

  std::vector<std::string> directories_;
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

std::string include_digest(const CompileRequest& request) {
  if (request.kind != SourceKind::kCudaC) return {};
  Flags flags = read(request.flags);
  const auto& own = request.options.include_directories;
  flags.directories.insert(flags.directories.begin(), own.begin(), own.end());
  for (const auto& [name, value] : request.options.defines) flags.definitions.push_back(name + "=" + value);
  const std::filesystem::path beside = std::filesystem::path(request.file_name).parent_path();
  Reader reader(std::move(flags.directories));
  for (const std::string& file : flags.files) reader.find(file, {});
  for (const std::string& definition : flags.definitions) {
    const std::size_t equals = definition.find('=');
    if (equals != std::string::npos) reader.follow("#include " + definition.substr(equals + 1), {});
  }
  reader.follow(request.source, beside);
  return reader.digest();
}

}  // namespace damo
