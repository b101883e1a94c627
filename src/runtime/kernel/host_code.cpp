#include "runtime/kernel/host_code.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include <damo/error.hpp>

#include "graph/base/compiler_log.hpp"
#include "runtime/kernel/cuda_tokens.hpp"

namespace damo {
namespace {

bool is_mark(std::string_view word) {
  constexpr std::string_view kMarks[] = {"__global__", "__device__", "__constant__", "__shared__", "__managed__"};
  return std::find(std::begin(kMarks), std::end(kMarks), word) != std::end(kMarks);
}

bool is_attribute(std::string_view word) {
  constexpr std::string_view kAttributes[] = {"__align__", "alignas", "__attribute__", "__declspec", "__launch_bounds__"};
  return std::find(std::begin(kAttributes), std::end(kAttributes), word) != std::end(kAttributes);
}

bool is_type_word(std::string_view word) {
  return word == "struct" || word == "class" || word == "union" || word == "enum";
}

/// Reads one declaration after the other.
class Declarations {
 public:
  explicit Declarations(std::string_view source) : source_(source), tokens_(source) {}

  std::vector<Declaration> read() {
    for (std::string_view token = tokens_.next(); !token.empty(); token = tokens_.next()) {
      if (opens_space(token) || is_access(token) || token == "}" || token == ";") continue;
      read_declaration(token);
    }
    return std::move(found_);
  }

 private:
  std::size_t place_of(std::string_view token) const { return static_cast<std::size_t>(token.data() - source_.data()); }

  /// "namespace a::b {", "extern "C" {"
  bool opens_space(std::string_view token) {
    CudaTokens ahead = tokens_;
    if (token == "inline") token = ahead.next();
    if (token == "extern" && ahead.next() == "\"" && ahead.peek() == "{") {
      ahead.next();
    } else if (token == "namespace") {
      for (token = ahead.next(); is_word(token) || token == "::"; token = ahead.next()) {
      }
      if (token != "{") return false;
    } else {
      return false;
    }
    tokens_ = ahead;
    return true;
  }

  /// "public:"
  bool is_access(std::string_view token) {
    if ((token != "public" && token != "protected" && token != "private") || tokens_.peek() != ":") return false;
    tokens_.next();
    return true;
  }

  /// "struct __align__(8) Complex {": Complex, of what stands behind "struct".
  std::string class_name() const {
    CudaTokens ahead = tokens_;
    for (std::string_view token = ahead.next(); !token.empty() && token != "{" && token != ";"; token = ahead.next()) {
      if (token == "(" || token == "[") ahead.skip_balanced(token[0]);
      else if (is_word(token) && !is_attribute(token)) return std::string(token);
    }
    return {};
  }

  void read_declaration(std::string_view token) {
    Declaration declaration;
    declaration.begin = place_of(token);
    bool is_type = false, has_parameters = false, has_value = false;
    std::string_view last, before;
    for (; !token.empty() && token != ";"; token = tokens_.next()) {
      if (token == "}") break;  // of the namespace around it, which stays: "INSTANCES(1) INSTANCES(2) }"
      if (token == ":" && has_parameters && !is_type && declaration.body == 0) declaration.body = place_of(token);
      if (!has_parameters && is_type_word(token)) {
        if (!is_type && token != "enum") declaration.class_name = class_name();
        is_type = true;
      }
      has_value |= token == "=" && last != "operator";
      if (is_word(token)) last = token;
      if (token == "(" && !has_parameters && !last.empty() && !is_attribute(last)) {
        has_parameters = declaration.is_function = true;
        declaration.names.emplace_back(last);
      }
      if (token == "(" || token == "[")
        tokens_.skip_balanced(token[0]);
      else if (token == "<" && last == "template")
        tokens_.skip_balanced('<');
      else if (token == "{") {
        if (is_type && !last.empty()) declaration.names.emplace_back(last);
        const bool is_initialiser = declaration.body > 0 && is_word(before);  // ": count{0}"
        const bool is_class = is_type && !has_parameters && declaration.members_end == 0;
        const std::size_t opened = place_of(token);
        if (is_class) declaration.members_begin = opened + 1;
        tokens_.skip_balanced('{');
        if (is_class) declaration.members_end = end_of_braces();
        if (has_parameters && !has_value && !is_type && !is_initialiser) {  // a function's body
          if (declaration.body == 0) declaration.body = opened;
          break;
        }
        is_type = false;
      }
      before = token;
    }
    if (!has_parameters && !last.empty()) declaration.names.emplace_back(last);
    CudaTokens rest = tokens_;
    const std::string_view next = rest.next();
    declaration.end = next.empty() ? source_.size() : place_of(next);
    if (token == "}") declaration.end = place_of(token);
    // The next one's indentation is not this one's: an error in that line is none of this one.
    while (declaration.end > declaration.begin && std::isspace(static_cast<unsigned char>(source_[declaration.end - 1]))) --declaration.end;
    declaration.is_device = has_mark(source_.substr(declaration.begin, declaration.end - declaration.begin));
    found_.push_back(std::move(declaration));
  }

  /// Where the "}" stands that was read last.
  std::size_t end_of_braces() const {
    CudaTokens rest = tokens_;
    const std::string_view next = rest.next();
    const std::size_t end = source_.rfind('}', next.empty() ? source_.size() : place_of(next));
    return end == std::string_view::npos ? source_.size() : end;
  }

  static bool has_mark(std::string_view text) {
    CudaTokens tokens(text);
    for (std::string_view token = tokens.next(); !token.empty(); token = tokens.next()) {
      if (is_mark(token)) return true;
    }
    return false;
  }

  std::string_view source_;
  CudaTokens tokens_;
  std::vector<Declaration> found_;
};

/// "cudaMalloc", "cudaStream_t": a name of the API for hosts.
bool names_host_api(const std::string& source) {
  for (std::size_t at = 0; (at = source.find("cuda", at)) != std::string::npos; at += 4) {
    const bool begins = at == 0 || (!std::isalnum(static_cast<unsigned char>(source[at - 1])) && source[at - 1] != '_');
    if (begins && at + 4 < source.size() && std::isupper(static_cast<unsigned char>(source[at + 4]))) return true;
  }
  return false;
}

/// Signs of a program around the kernels.
bool may_have_host_code(const std::string& source) {
  if (source.find("#line") != std::string::npos) return false;
  for (const char* sign : {"<<<", "main(", "main (", "torch::", "PYBIND11_MODULE", "std::vector", "std::string", "std::cout",
                           "cublas", "cudnn", "<unistd.h>", "helper_cuda"}) {
    if (source.find(sign) != std::string::npos) return true;
  }
  return names_host_api(source);
}

bool is_missing_file(const std::string& message) {
  for (const char* words : {"file not found", "cannot open source file", "could not open source file"}) {
    if (message.find(words) != std::string::npos) return true;
  }
  return false;
}

/// Of an error that says that the source gives one of the prelude's type names another meaning: that name.
std::string redefined_type(const LogError& error) {
  const auto word_at = [](const std::string& text, std::size_t begin) {
    std::size_t end = begin;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) ++end;
    return text.substr(begin, end - begin);
  };
  constexpr std::string_view kNvrtc = "invalid redeclaration of type name \"";
  if (error.message.starts_with(kNvrtc)) return word_at(error.message, kNvrtc.size());
  const bool is_clangs = error.message.find("redefinition with different types") != std::string::npos;
  if (!is_clangs || error.column < 1 || static_cast<std::size_t>(error.column) > error.shown.size()) return {};
  return word_at(error.shown, static_cast<std::size_t>(error.column) - 1);
}

/// Blank but for preprocessor lines, of which other code may be in need. A pragma is about the code beside it.
void blank(std::string& source, std::size_t begin, std::size_t end) {
  const auto is_pragma = [&](std::size_t at) {
    at = source.find_first_not_of(" \t", at + 1);
    return at != std::string::npos && source.compare(at, 6, "pragma") == 0;
  };
  bool is_directive = false, line_begins = true;
  for (std::size_t at = begin; at < end; ++at) {
    char& c = source[at];
    if (c == '\n') {
      is_directive &= source[at - (at > 0)] == '\\';
      line_begins = true;
      continue;
    }
    if (line_begins && c == '#') is_directive = !is_pragma(at);
    if (!std::isspace(static_cast<unsigned char>(c))) line_begins = false;
    if (!is_directive) c = ' ';
  }
}

std::string joined(std::string text, const std::string& more) {
  if (!text.empty() && text.back() != '\n' && !more.empty()) text += '\n';
  return text + more;
}

/// One file, as far as it has been left out.
class HostCode {
 public:
  HostCode(std::string file, const std::string& source) : text(source), file_(std::move(file)), declarations_(declarations(source)) {
    line_begins_.push_back(0);
    for (std::size_t at = 0; (at = source.find('\n', at)) != std::string::npos;) line_begins_.push_back(++at);
  }

  /// False if the error is not in host code.
  bool leave_out(const LogError& error) {
    const auto number = static_cast<std::size_t>(error.line);
    if (number > line_begins_.size()) return false;
    const std::size_t begin = line_begins_[number - 1], end = std::min(text.find('\n', begin), text.size());
    const std::size_t first = text.find_first_not_of(" \t", begin);
    if (first >= end) return false;  // left out by an error before this one
    if (text[first] == '#') return leave_out_include(error, begin, end);
    bool any = false;
    for (Declaration& declaration : declarations_) {
      if (declaration.end <= begin || declaration.begin >= end) continue;
      if (leave_out_member(declaration, error, begin, end)) {
        any = true;
        continue;
      }
      if (declaration.is_device) continue;
      blank(text, declaration.begin, declaration.end);
      declaration.is_device = true;  // not again
      left_out_.push_back({what_of(declaration) + " (line " + std::to_string(error.line) + ": " + error.message + ")", declaration.names});
      any = true;
    }
    return any;
  }

  /// What was left out, for the log of a text that compiles then; empty if nothing was.
  std::string note() const {
    std::string note;
    for (const Piece& piece : left_out_) note += (note.empty() ? "" : "; ") + piece.text;
    if (!note.empty()) note = file_ + ": warning: left out, as it does not compile and is not marked as code of the device: " + note;
    return joined(std::move(note), missing_note());
  }
  /// What the errors of a log may come from, for that log.
  std::string note_for(const std::string& log) const {
    std::string named;
    for (const Piece& piece : left_out_) {
      if (piece.is_named_in(log)) named += (named.empty() ? "" : "; ") + piece.text;
    }
    if (!named.empty()) named = file_ + ": note: errors may come from what does not compile itself and was left out: " + named;
    return joined(std::move(named), missing_note());
  }

  std::string text;

 private:
  /// Without a member whose place the compiler would fill.
  static bool can_do_without(const Declaration& of_class, const Declaration& member, std::string_view text) {
    const std::string& name = member.names.front();
    if (name == of_class.class_name || text.find("virtual") != std::string_view::npos || text.find("override") != std::string_view::npos) return false;
    CudaTokens tokens(text);
    for (std::string_view token = tokens.next(); !token.empty(); token = tokens.next()) {
      if (token == "operator") return tokens.next() != "=" || tokens.peek() == "=";
    }
    return true;
  }

  /// False if the error is in no member function of a class that it can do without.
  bool leave_out_member(const Declaration& of_class, const LogError& error, std::size_t begin, std::size_t end) {
    if (of_class.members_begin >= end || of_class.members_end <= begin) return false;
    const std::string members = text.substr(of_class.members_begin, of_class.members_end - of_class.members_begin);
    const std::size_t place = error.column > 0 ? std::min(begin + static_cast<std::size_t>(error.column) - 1, end - 1) : end - 1;
    for (Declaration& member : declarations(members)) {
      const std::size_t from = of_class.members_begin + member.begin, to = of_class.members_begin + member.end, body = of_class.members_begin + member.body;
      if (to <= begin || from >= end || member.is_device || !member.is_function) continue;
      if (member.body > 0 && place >= body) {  // declared it stays: who calls it is told
        blank(text, body, to);
        text[body] = ';';
      } else if (can_do_without(of_class, member, std::string_view(members).substr(member.begin, member.end - member.begin))) {
        blank(text, from, to);
      } else {
        continue;
      }
      left_out_.push_back({what_of(member) + " of '" + of_class.class_name + "' (line " + std::to_string(error.line) + ": " + error.message + ")", member.names});
      return true;
    }
    return false;
  }

  bool leave_out_include(const LogError& error, std::size_t begin, std::size_t end) {
    const std::string line = text.substr(begin, end - begin);
    if (line.find("include") == std::string::npos) return false;
    std::fill(text.begin() + static_cast<std::ptrdiff_t>(begin), text.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    const std::string place = " (line " + std::to_string(error.line);
    if (is_missing_file(error.message)) missing_ += (missing_.empty() ? "" : ", ") + line.substr(std::min(line.find_first_of("<\""), line.size())) + place + ")";
    else left_out_.push_back({line + place + ": " + error.message + ")", {}});
    return true;
  }
  std::string missing_note() const {
    return missing_.empty() ? std::string() : file_ + ": warning: left out, as there is no such file: " + missing_;
  }
  static std::string what_of(const Declaration& declaration) {
    return declaration.names.empty() ? "a declaration" : "'" + declaration.names.front() + "'";
  }

  struct Piece {
    std::string text;
    std::vector<std::string> names;  ///< that it declares; none: it may declare anything
    bool is_named_in(const std::string& log) const {
      return names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string& name) {
        return log.find("'" + name + "'") != std::string::npos || log.find("\"" + name + "\"") != std::string::npos;
      });
    }
  };

  std::string file_;
  std::vector<Declaration> declarations_;
  std::vector<std::size_t> line_begins_;
  std::vector<Piece> left_out_;
  std::string missing_;
};

/// One source and what it includes, from one attempt to compile it to the next.
class Attempts {
 public:
  explicit Attempts(const CompileRequest& request)
      : request_(request), has_host_code_(may_have_host_code(request.source)), main_(request.file_name, request.source) {}

  CompileRequest request() const {
    CompileRequest request = request_;
    request.source = main_.text;
    return request;
  }
  SourceEdits edits() const {
    SourceEdits edits{{}, own_types_};
    for (const auto& [path, file] : included_) edits.files.emplace(path, file.text);
    return edits;
  }
  /// False if nothing in the log can be left out.
  bool learn(const std::string& log) {
    bool any = false;
    for (const LogError& error : errors_in(log)) any |= learn(error);
    return any;
  }
  std::string notes() const {
    std::string notes = main_.note();
    for (const auto& [path, file] : included_) notes = joined(std::move(notes), file.note());
    return notes;
  }
  std::string notes_for(const std::string& log) const {
    std::string notes = main_.note_for(log);
    for (const auto& [path, file] : included_) notes = joined(std::move(notes), file.note_for(log));
    return notes;
  }

 private:
  bool learn(const LogError& error) {
    if (const std::string name = redefined_type(error); !name.empty() && own_types_.insert(name).second) return true;
    if (error.file == request_.file_name) return (has_host_code_ || is_system_include(error)) && main_.leave_out(error);
    auto file = included_.find(error.file);
    if (file == included_.end()) {
      std::ifstream stream(error.file, std::ios::binary);
      if (!stream) return false;
      const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
      file = included_.emplace(error.file, HostCode(error.file, text)).first;
    }
    return file->second.leave_out(error);
  }
  static bool is_system_include(const LogError& error) { return is_missing_file(error.message) && error.shown.find('<') != std::string::npos; }

  const CompileRequest& request_;
  bool has_host_code_;
  HostCode main_;
  std::map<std::string, HostCode> included_;  // by path
  std::set<std::string> own_types_;
};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

std::vector<Declaration> declarations(std::string_view source) { return Declarations(source).read(); }

std::string without_function_instances(std::string source) {
  if (source.find("template") == std::string::npos) return source;
  for (const Declaration& declaration : declarations(source)) {
    CudaTokens tokens(std::string_view(source).substr(declaration.begin, declaration.end - declaration.begin));
    std::string_view token = tokens.next();
    if (token == "extern") token = tokens.next();
    if (token != "template" || tokens.peek() == "<") continue;
    bool is_function = false, is_kernel = false;
    while (!(token = tokens.next()).empty() && !is_type_word(token)) {
      is_function |= token == "(";
      is_kernel |= token == "__global__";
    }
    if (token.empty() && is_function && !is_kernel) blank(source, declaration.begin, declaration.end);
  }
  return source;
}

CompiledCode compile_past_host_code(const CompileRequest& request,
                                    const std::function<CompiledCode(const CompileRequest&, const SourceEdits&)>& compile) {
  if (request.kind != SourceKind::kCudaC) return compile(request, {});
  std::optional<Attempts> attempts;  // made by the first error
  for (;;) {
    try {
      if (!attempts) return compile(request, {});
      CompiledCode code = compile(attempts->request(), attempts->edits());
      code.log = joined(std::move(code.log), attempts->notes());
      return code;
    } catch (const CompileError& error) {
      const bool is_first = !attempts;
      if (is_first) attempts.emplace(request);
      if (attempts->learn(error.log())) continue;
      if (is_first) throw;
      throw CompileError(first_line(error.what()), joined(attempts->notes_for(error.log()), error.log()), request.source);
    }
  }
}

}  // namespace damo
