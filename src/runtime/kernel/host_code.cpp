#include "runtime/kernel/host_code.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>

#include <damo/error.hpp>

#include "runtime/kernel/cuda_tokens.hpp"

namespace damo {
namespace {

bool is_mark(std::string_view word) {
  constexpr std::string_view kMarks[] = {"__global__", "__device__", "__constant__", "__shared__", "__managed__"};
  return std::find(std::begin(kMarks), std::end(kMarks), word) != std::end(kMarks);
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
      if (opens_space(token) || token == "}" || token == ";") continue;
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

  void read_declaration(std::string_view token) {
    Declaration declaration;
    declaration.begin = place_of(token);
    bool is_type = false, has_parameters = false, has_value = false;
    std::string_view last;
    for (; !token.empty() && token != ";"; token = tokens_.next()) {
      if (token == "}") break;  // of the namespace around it
      is_type |= !has_parameters && is_type_word(token);
      has_value |= token == "=";
      if (is_word(token)) last = token;
      if (token == "(" && !has_parameters && !last.empty()) {
        has_parameters = true;
        declaration.names.emplace_back(last);
      }
      if (token == "(" || token == "[")
        tokens_.skip_balanced(token[0]);
      else if (token == "<" && last == "template")
        tokens_.skip_balanced('<');
      else if (token == "{") {
        if (is_type && !last.empty()) declaration.names.emplace_back(last);
        tokens_.skip_balanced('{');
        if (has_parameters && !has_value && !is_type) break;  // a function's body
        is_type = false;
      }
    }
    if (!has_parameters && !last.empty()) declaration.names.emplace_back(last);
    CudaTokens rest = tokens_;
    const std::string_view next = rest.next();
    declaration.end = next.empty() ? source_.size() : place_of(next);
    declaration.is_device = has_mark(source_.substr(declaration.begin, declaration.end - declaration.begin));
    found_.push_back(std::move(declaration));
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

/// Signs of a program around the kernels.
bool may_have_host_code(const std::string& source) {
  if (source.find("__global__") == std::string::npos || source.find("#line") != std::string::npos) return false;
  for (const char* sign : {"<<<", "main(", "main (", "cudaStream_t", "cudaError_t", "cudaMalloc",
                           "torch::", "PYBIND11_MODULE", "std::vector", "cublas", "cudnn", "unistd.h", "helper_cuda"}) {
    if (source.find(sign) != std::string::npos) return true;
  }
  return false;
}

/// The lines of file that have errors, from 1 on: "file:3:7: error: ..." or "file(3): error: ...".
std::set<std::size_t> error_lines(const std::string& log, const std::string& file) {
  std::set<std::size_t> lines;
  std::istringstream text(log);
  for (std::string line; std::getline(text, line);) {
    const bool names_file =
        line.size() > file.size() && line.starts_with(file) && (line[file.size()] == ':' || line[file.size()] == '(');
    if (!names_file || line.find("error") == std::string::npos) continue;
    const std::string number = line.substr(file.size() + 1, 9);
    if (std::isdigit(static_cast<unsigned char>(number[0]))) lines.insert(std::stoul(number));
  }
  return lines;
}

/// Blank but for preprocessor lines, of which other code may be in need.
void blank(std::string& source, std::size_t begin, std::size_t end) {
  bool is_directive = false, line_begins = true;
  for (std::size_t at = begin; at < end; ++at) {
    char& c = source[at];
    if (c == '\n') {
      is_directive &= source[at - (at > 0)] == '\\';
      line_begins = true;
      continue;
    }
    if (line_begins && c == '#') is_directive = true;
    if (!std::isspace(static_cast<unsigned char>(c))) line_begins = false;
    if (!is_directive) c = ' ';
  }
}

class HostCode {
 public:
  explicit HostCode(const std::string& source) : text(source), declarations_(declarations(source)) {
    line_begins_.push_back(0);
    for (std::size_t at = 0; (at = source.find('\n', at)) != std::string::npos;) line_begins_.push_back(++at);
  }

  /// False if no line is of host code.
  bool pass_over(const std::set<std::size_t>& lines) {
    bool any = false;
    for (const std::size_t line : lines) any |= line <= line_begins_.size() && pass_over_line(line);
    return any;
  }
  bool needed_by(const std::string& log) const {
    if (dropped_include_) return true;
    return std::any_of(names_.begin(), names_.end(), [&](const std::string& name) {
      return log.find("'" + name + "'") != std::string::npos || log.find("\"" + name + "\"") != std::string::npos;
    });
  }
  std::string note(const std::string& file) const {
    return "note: passed over in " + file + ", as it is not code of the device: " + passed_;
  }

  std::string text;

 private:
  bool pass_over_line(std::size_t number) {
    const std::size_t begin = line_begins_[number - 1], end = std::min(text.find('\n', begin), text.size());
    const std::size_t first = text.find_first_not_of(" \t", begin);
    if (first < end && text[first] == '#') return pass_over_include(number, begin, end);
    bool any = false;
    for (Declaration& declaration : declarations_) {
      if (declaration.is_device || declaration.end <= begin || declaration.begin >= end) continue;
      blank(text, declaration.begin, declaration.end);
      declaration.is_device = true;  // not again
      names_.insert(declaration.names.begin(), declaration.names.end());
      add(declaration.names.empty() ? "a declaration" : declaration.names.front(), number);
      any = true;
    }
    return any;
  }
  bool pass_over_include(std::size_t number, std::size_t begin, std::size_t end) {
    const std::string line = text.substr(begin, end - begin);
    if (line.find("include") == std::string::npos) return false;
    std::fill(text.begin() + static_cast<std::ptrdiff_t>(begin), text.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    add(line, number);
    return dropped_include_ = true;
  }
  void add(const std::string& what, std::size_t line) {
    passed_ += (passed_.empty() ? "" : ", ") + what + " (line " + std::to_string(line) + ")";
  }

  std::vector<Declaration> declarations_;
  std::vector<std::size_t> line_begins_;
  std::set<std::string> names_;
  std::string passed_;
  bool dropped_include_ = false;
};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

std::vector<Declaration> declarations(std::string_view source) { return Declarations(source).read(); }

std::string without_kernel_instances(std::string source) {
  if (source.find("template") == std::string::npos || source.find("__global__") == std::string::npos) return source;
  for (const Declaration& declaration : declarations(source)) {
    if (!declaration.is_device) continue;
    CudaTokens tokens(std::string_view(source).substr(declaration.begin, declaration.end - declaration.begin));
    std::string_view token = tokens.next();
    if (token == "extern") token = tokens.next();
    if (token == "template" && tokens.next() != "<") blank(source, declaration.begin, declaration.end);
  }
  return source;
}

CompiledCode compile_past_host_code(const CompileRequest& request,
                                    const std::function<CompiledCode(const CompileRequest&)>& compile) {
  if (request.kind != SourceKind::kCudaC || !may_have_host_code(request.source)) return compile(request);
  std::exception_ptr first;
  HostCode host(request.source);
  CompileRequest rest = request;
  for (;;) {
    try {
      CompiledCode code = compile(rest);
      if (first) code.log += (code.log.empty() ? "" : "\n") + host.note(request.file_name);
      return code;
    } catch (const CompileError& error) {
      const bool goes_on = host.pass_over(error_lines(error.log(), request.file_name));
      if (!first) first = std::current_exception();
      if (!goes_on) {
        if (host.needed_by(error.log()) || rest.source == request.source) std::rethrow_exception(first);
        throw CompileError(first_line(error.what()), error.log(), request.source);
      }
      rest.source = host.text;
    }
  }
}

}  // namespace damo
