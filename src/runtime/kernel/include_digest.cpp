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

/// The text as directives are read from it: lines joined that a backslash parts, trigraphs and a mark of the byte order replaced,
/// each line ended by \n.
std::string plain(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (text.substr(i).starts_with("?\?=") || text.substr(i).starts_with("?\?/")) {
      c = text[i + 2] == '=' ? '#' : '\\';
      i += 2;
    }
    if (c == '\\') {
      const std::size_t end = std::min(text.find_first_not_of(" \t\v\f", i + 1), text.size());
      if (end < text.size() && (text[end] == '\n' || text[end] == '\r')) {
        i = text.substr(end).starts_with("\r\n") ? end + 1 : end;
        continue;
      }
    }
    result += c == '\r' ? '\n' : c;
  }
  return result;
}

bool is_in_identifier(char c) {
  return c == '_' || c == '$' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<signed char>(c) < 0;
}

/// A directive, read from its beginning.
class Directive {
 public:
  explicit Directive(std::string_view text) : rest_(text) {}

  bool skip(std::string_view word) {
    skip_blank();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  /// What stands in "..." or <...> next, on this line; empty if nothing does.
  std::string name() {
    skip_blank();
    if (rest_.empty() || (rest_[0] != '"' && rest_[0] != '<')) return {};
    const std::size_t close = rest_.find_first_of(rest_[0] == '"' ? "\"\n" : ">\n", 1);
    if (close == std::string_view::npos || rest_[close] == '\n') return {};
    const std::string result(rest_.substr(1, close - 1));
    rest_.remove_prefix(close + 1);
    return result;
  }
  std::string identifier() {
    skip_blank();
    const std::string result(rest_.begin(), std::find_if_not(rest_.begin(), rest_.end(), is_in_identifier));
    rest_.remove_prefix(result.size());
    return result;
  }
  bool is_at_parameters() const { return rest_.starts_with('('); }
  bool is_at_end() {
    skip_blank();
    return rest_.empty() || rest_[0] == '\n' || rest_.starts_with("//");
  }

 private:
  /// A comment is a blank too, over any number of lines.
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

/// What a text says of files. What stands in comments and strings counts too, which costs a compile at most.
struct Mentions {
  std::vector<std::string> names;                                ///< after #include and its kin, and in __has_include(...)
  std::vector<std::string> macros;                               ///< that an #include names instead
  std::vector<std::pair<std::string, std::string>> definitions;  ///< of macros as one name; empty: as anything else
  bool are_all = true;                                           ///< false: there is an #include or a __has_include of something else
};

bool begins_line(std::string_view text, std::size_t at) {
  const std::size_t before = at == 0 ? std::string_view::npos : text.find_last_not_of(" \t\v\f", at - 1);
  return before == std::string_view::npos || text[before] == '\n' || (before > 0 && text.substr(before - 1, 2) == "*/");
}

bool takes_file(std::string_view word) { return word == "include" || word == "include_next" || word == "import" || word == "embed"; }

void read_directive(Directive directive, bool begins, Mentions& found) {
  const std::string word = directive.identifier();
  if (word == "define") {
    std::string macro = directive.identifier();
    std::string name = directive.is_at_parameters() ? std::string() : directive.name();
    found.definitions.emplace_back(std::move(macro), directive.is_at_end() ? std::move(name) : std::string());
  } else if (takes_file(word)) {
    if (std::string name = directive.name(); !name.empty()) {
      found.names.push_back(std::move(name));
    } else if (begins) {
      std::string macro = directive.identifier();
      found.are_all = found.are_all && !macro.empty() && directive.is_at_end();
      found.macros.push_back(std::move(macro));
    }
  }
}

/// Whether what stands there lets a macro ask for a file that is named elsewhere: it lies in a definition or a condition, and not behind `defined`.
bool lends_question(std::string_view text, std::size_t at) {
  const std::size_t begin = text.rfind('\n', at) + 1;  // 0 where there is none
  std::string_view before = text.substr(begin, at - begin);
  Directive directive(before);
  if (!directive.skip("#") && !directive.skip("%:")) return false;
  if (const std::string word = directive.identifier(); word != "define" && word != "if" && word != "elif") return false;
  const auto skip_back = [&](std::string_view characters) { before = before.substr(0, before.find_last_not_of(characters) + 1); };
  skip_back(" \t\v\f(");
  return !before.ends_with("defined");
}

/// Of __has_include(...) and its kin, behind their first two words. The second may be pasted together: then it is the beginning of one.
void read_question(std::string_view text, std::size_t at, std::size_t length, Mentions& found) {
  Directive question(text.substr(at + length));
  const std::string word = question.identifier();
  const bool is_part = std::string_view("include_next").starts_with(word) || std::string_view("embed").starts_with(word);
  if (!takes_file(word) && !is_part) return;
  if (!takes_file(word) || !question.skip("(")) {
    found.are_all = found.are_all && !lends_question(text, at);
    return;
  }
  std::string name = question.name();
  found.are_all = found.are_all && !name.empty();
  found.names.push_back(std::move(name));
}

Mentions read_mentions(std::string_view source) {
  constexpr std::string_view kQuestion = "__has_", kDigraph = "%:";
  Mentions found;
  const std::string whole = plain(source);
  const std::string_view text = whole;
  for (std::size_t at = text.find_first_of("#%_"); at != std::string_view::npos; at = text.find_first_of("#%_", at + 1)) {
    const std::string_view rest = text.substr(at);
    if (rest[0] == '#') read_directive(Directive(rest.substr(1)), begins_line(text, at), found);
    else if (rest.starts_with(kDigraph)) read_directive(Directive(rest.substr(kDigraph.size())), begins_line(text, at), found);
    else if (rest.starts_with(kQuestion)) read_question(text, at, kQuestion.size(), found);
  }
  return found;
}

/// What the flags of both compilers say about includes.
struct Flags {
  std::vector<std::string> directories, files, definitions;
  bool are_all = true;  ///< false: there is one that changes the search otherwise
};

/// Of a flag that is not among those that are read.
bool may_change_search(std::string_view flag) {
  constexpr std::string_view kBeginnings[] = {"-i", "--i", "-F", "-c-", "-objc", "-cxx-", "-stdlib++", "-internal", "-fmodule", "-vfsoverlay", "-working-directory", "-remap",
                                              "--sysroot", "@", "--options-file", "-optf", "--use-pch", "-use-pch", "--pch", "-pch"};
  return std::any_of(std::begin(kBeginnings), std::end(kBeginnings), [&](std::string_view beginning) { return flag.starts_with(beginning); });
}

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
    if (option == std::end(kOptions)) {
      result.are_all = result.are_all && !may_change_search(flag);
      continue;
    }
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
    Mentions mentions = read_mentions(text);
    are_all_ = are_all_ && mentions.are_all;
    own_directories_.insert(own_directory);
    macros_.insert(mentions.macros.begin(), mentions.macros.end());
    for (auto& [macro, name] : mentions.definitions) definitions_[std::move(macro)].insert(std::move(name));
    for (const std::string& name : mentions.names) find(name, own_directory);
  }
  /// In every directory: which of several files a compiler takes depends on the kind of include.
  void find(const std::string& name, const std::filesystem::path& own_directory) {
    take(name, own_directory / name);  // an absolute name stays itself
    if (std::filesystem::path(name).is_absolute()) return;
    for (const std::string& directory : directories_) take(name, std::filesystem::path(directory) / name);
  }
  /// Where macros stand for names: a macro may be defined in one file, named in another, and looked for beside a third. False if one
  /// of them is anything but a name somewhere.
  bool follow_macros() {
    std::size_t seen = 0;
    do {
      seen = seen_.size();
      const std::set<std::string> macros = macros_;
      const std::set<std::filesystem::path> directories = own_directories_;
      for (const std::string& macro : macros) {
        const std::set<std::string> names = definitions_[macro];
        if (names.empty() || names.contains("")) return false;
        for (const std::filesystem::path& directory : directories) {
          for (const std::string& name : names) find(name, directory);
        }
      }
    } while (seen_.size() != seen);
    return true;
  }
  bool are_all() const { return are_all_; }
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
    if (!seen_.insert(std::filesystem::canonical(path, error).string()).second) return;  // link/../a.h lies where the link leads
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    digest_.update_field(path.string()).update_field(text);
    follow(text, path.parent_path());
  }

  std::vector<std::string> directories_;
  std::set<std::string> seen_;
  std::set<std::string> macros_;  ///< that an #include names
  std::map<std::string, std::set<std::string>> definitions_;
  std::set<std::filesystem::path> own_directories_;
  std::map<std::string, std::string> paths_;  // by names; empty: several
  Sha256 digest_;
  bool are_all_ = true;
};

}  // namespace

std::map<std::string, std::string> included_files(std::string_view source, const std::vector<std::string>& directories) {
  Reader reader(directories);
  reader.follow(source, {});
  reader.follow_macros();
  return reader.paths();
}

std::optional<std::string> include_digest(const CompileRequest& request) {
  if (request.kind != SourceKind::kCudaC) return std::string();
  Flags flags = read(request.flags);
  const auto& own = request.options.include_directories;
  flags.directories.insert(flags.directories.begin(), own.begin(), own.end());
  for (const auto& [name, value] : request.options.defines) flags.definitions.push_back(name + "=" + value);
  const std::filesystem::path beside = std::filesystem::path(request.file_name).parent_path();
  Reader reader(std::move(flags.directories));
  for (const std::string& file : flags.files) reader.find(file, {});
  for (std::string& definition : flags.definitions) {
    if (const std::size_t equals = definition.find('='); equals != std::string::npos) definition[equals] = ' ';
    reader.follow("#define " + definition, beside);
  }
  reader.follow(request.source, beside);
  if (!reader.follow_macros() || !reader.are_all() || !flags.are_all) return std::nullopt;
  return reader.digest();
}

}  // namespace damo
