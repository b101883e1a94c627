#include "runtime/kernel/kernel_scan.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "runtime/kernel/cuda_tokens.hpp"

namespace damo {
namespace {

void add_once(std::vector<std::string>& names, std::string name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
}

bool takes_brackets(std::string_view word) {
  constexpr std::string_view kWords[] = {"__launch_bounds__", "__attribute__", "__align__",   "alignas", "__declspec",
                                         "__cluster_dims__",  "__block_size__", "__maxnreg__", "decltype", "requires"};
  return std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords);
}

/// The tokens of a text with blanks where they are needed, or help to read.
std::string spaced(std::string_view text) {
  std::string result;
  CudaTokens tokens(text);
  for (std::string_view token = tokens.next(); !token.empty(); token = tokens.next()) {
    const bool is_apart = !result.empty() && (is_word(result.substr(result.size() - 1)) || std::isdigit(static_cast<unsigned char>(result.back())) ||
                                              std::string_view("*&>,").find(result.back()) != std::string_view::npos);
    if (is_apart && (is_word(token) || std::isdigit(static_cast<unsigned char>(token[0])))) result += ' ';
    result += token;
  }
  return result;
}

/// As #line tells.
std::size_t line_of(std::string_view source, std::size_t place) {
  constexpr std::string_view kLine = "\n#line ";
  const std::size_t directive = source.substr(0, place).rfind(kLine);
  const bool begins = directive == std::string_view::npos && source.starts_with(kLine.substr(1));
  std::size_t from = 0, line = 1;
  if (begins || directive != std::string_view::npos) {
    const std::size_t number = begins ? kLine.size() - 1 : directive + kLine.size();
    line = std::strtoul(std::string(source.substr(number, 20)).c_str(), nullptr, 10);
    from = std::min(source.find('\n', number), place - 1) + 1;
  }
  return line + static_cast<std::size_t>(std::count(source.begin() + static_cast<std::ptrdiff_t>(from), source.begin() + static_cast<std::ptrdiff_t>(place), '\n'));
}

class Scanner {
 public:
  explicit Scanner(std::string_view source) : source_(source), tokens_(source) {}

  ScannedNames run() {
    for (std::string_view token = tokens_.next(); !token.empty(); token = tokens_.next()) read(token);
    return std::move(names_);
  }

 private:
  /// What has been read of a declaration.
  struct Declaration {
    bool is_kernel = false, is_device = false, is_template = false, is_extern = false, is_type = false;
    bool is_instance = false;    ///< an explicit instantiation
    bool has_value = false;      ///< its initialiser has begun
    std::string name;
    std::string_view last_word;  ///< of the name
    bool joins = false;          ///< the last token was "::"
  };

  void read(std::string_view token) {
    if (is_word(token)) return read_word(token);
    switch (token[0]) {
      case ':': declaration_.joins = token == "::"; return;
      case '(': return read_parameters();
      case '[':
        end_of_name();
        return tokens_.skip_balanced('[');
      case '<': return tokens_.skip_balanced('<');  // template arguments of a type
      case '=':
        end_of_name();
        declaration_.has_value = true;
        return;
      case ',':
        end_of_name();
        declaration_.name.clear();
        declaration_.has_value = false;
        return;
      case ';':
        end_of_name();
        declaration_ = {};
        return;
      case '{': return read_braces();
      case '}':
        if (!spaces_.empty()) spaces_.pop_back();
        declaration_ = {};
        return;
      case '"':
        if (declaration_.is_extern && tokens_.peek() == "{") {  // extern "C" {
          tokens_.next();
          spaces_.emplace_back();
          declaration_ = {};
        } else {
          declaration_.is_extern = false;  // extern "C" float x: this is a definition
        }
        return;
      default: declaration_.joins = false; return;
    }
  }

  void read_word(std::string_view word) {
    if (word == "namespace") return read_namespace();
    if (word == "template") {
      declaration_.is_template = tokens_.peek() == "<";
      declaration_.is_instance = !declaration_.is_template;
      if (declaration_.is_template) {
        tokens_.next();
        tokens_.skip_balanced('<');
      }
    } else if (word == "__global__") {
      declaration_.is_kernel = true;
    } else if (word == "__device__" || word == "__constant__" || word == "__managed__") {
      declaration_.is_device = true;
    } else if (word == "extern") {
      declaration_.is_extern = true;
    } else if (word == "using" || word == "typedef" || word == "struct" || word == "class" || word == "union" ||
               word == "enum" || word == "operator") {
      declaration_.is_type = true;
    } else if (takes_brackets(word)) {
      if (tokens_.peek() == "(") {
        tokens_.next();
        tokens_.skip_balanced('(');
      }
    } else if (!declaration_.has_value) {
      declaration_.name = declaration_.joins ? declaration_.name + "::" + std::string(word) : std::string(word);
      declaration_.last_word = word;
    }
    declaration_.joins = false;
  }

  void read_namespace() {
    std::string name;
    for (std::string_view token = tokens_.next(); !token.empty(); token = tokens_.next()) {
      if (token == "{") {
        spaces_.push_back(std::move(name));
        declaration_ = {};
        return;
      }
      if (token == ";" || token == "=") return;  // an alias; "using namespace x;"
      if (token == "[") tokens_.skip_balanced('[');
      else if (token == "::") name += "::";
      else if (is_word(token) && token != "inline") name += token;
    }
  }

  /// A function's parameters, or a variable's value in brackets.
  void read_parameters() {
    const std::string_view behind_name = source_.substr(declaration_.last_word.empty() ? 0 : place_behind(declaration_.last_word));
    tokens_.skip_balanced('(');
    if (declaration_.is_kernel) {
      const std::string_view next = CudaTokens(tokens_).peek();
      const bool is_definition = !declaration_.name.empty() && !declaration_.is_instance && body_follows();
      if (is_definition) {
        add_once(declaration_.is_template ? names_.templates : names_.kernels, qualified());
        add_definition(behind_name.substr(0, static_cast<std::size_t>(next.data() - behind_name.data())));
      }
    }
    declaration_.is_kernel = declaration_.is_device = false;  // named or a function: no variable
  }

  std::size_t place_behind(std::string_view word) const { return static_cast<std::size_t>(word.data() - source_.data()) + word.size(); }

  /// parameters: in their brackets, and what stands before the next token.
  void add_definition(std::string_view parameters) {
    const std::size_t open = std::min(parameters.find('('), parameters.size() - 1), close = parameters.rfind(')');
    names_.definitions.push_back({qualified(), spaced(parameters.substr(open + 1, close - open - 1)), declaration_.is_template,
                                  line_of(source_, place_behind(declaration_.last_word))});
  }

  /// Skips what may stand between parameters and body.
  bool body_follows() {
    while (is_word(tokens_.peek())) {
      const std::string_view word = tokens_.next();
      if (takes_brackets(word) && tokens_.peek() == "(") {
        tokens_.next();
        tokens_.skip_balanced('(');
      }
    }
    return tokens_.peek() == "{";
  }

  void read_braces() {
    end_of_name();
    tokens_.skip_balanced('{');
    // "struct S {...} s;" goes on, and so may "float x{1}, y{2};"; a function's body ends its declaration.
    if (!declaration_.is_type && !declaration_.is_device) declaration_ = {};
    if (declaration_.is_type) declaration_.is_type = false, declaration_.name.clear();
  }

  /// The end of a declarator: a variable, if all says so.
  void end_of_name() {
    const Declaration& d = declaration_;
    if (d.is_device && !d.is_kernel && !d.is_template && !d.is_extern && !d.is_type && !d.has_value && !d.name.empty()) {
      add_once(names_.variables, qualified());
    }
  }

  std::string qualified() const {
    std::string text;
    for (const std::string& space : spaces_) text += space.empty() ? "" : space + "::";
    return text + declaration_.name;
  }

  std::string_view source_;
  CudaTokens tokens_;
  std::vector<std::string> spaces_;
  Declaration declaration_;
  ScannedNames names_;
};

}  // namespace

ScannedNames scan_names(std::string_view source) { return Scanner(source).run(); }

std::string kernels_of_name(const ScannedNames& scanned, std::string_view name) {
  std::string text;
  for (const ScannedKernel& kernel : scanned.definitions) {
    const bool has_name = kernel.name == name || kernel.name.ends_with("::" + std::string(name));
    if (!has_name || kernel.is_template) continue;
    text += (text.empty() ? "" : ", ") + kernel.name + "(" + kernel.parameters + ") in line " + std::to_string(kernel.line);
  }
  return text;
}

}  // namespace damo
