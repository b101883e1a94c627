#include "runtime/kernel/cuda_tokens.hpp"

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

namespace damo {
namespace {

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }

}  // namespace

bool is_word(std::string_view token) {
  return !token.empty() && in_word(token[0]) && !std::isdigit(static_cast<unsigned char>(token[0]));
}

void CudaTokens::skip_directive() {
  const std::size_t word = source_.find_first_not_of(" \t", at_ + 1);
  if (skips_else_ && word != std::string_view::npos && (source_.substr(word, 4) == "else" || source_.substr(word, 4) == "elif")) skip_to_endif();
  while (at_ < source_.size() && source_[at_] != '\n') {
    if (at(0) == '/' && at(1) == '*') {  // may go on over lines
      at_ = std::min(source_.find("*/", at_ + 2), source_.size() - 2) + 2;
      continue;
    }
    at_ += at(0) == '\\' && at(1) == '\n' ? 2 : 1;
  }
}

/// From an "#else" to its "#endif".
void CudaTokens::skip_to_endif() {
  for (int depth = 1; depth > 0;) {
    at_ = source_.find('\n', at_);
    const std::size_t begin = at_ == std::string_view::npos ? at_ : source_.find_first_not_of(" \t\r\n", at_);
    if (begin == std::string_view::npos) {
      at_ = source_.size();
      return;
    }
    at_ = begin;
    if (source_[begin] != '#') continue;
    const std::size_t word = std::min(source_.find_first_not_of(" \t", begin + 1), source_.size());
    if (source_.substr(word, 2) == "if") ++depth;
    else if (source_.substr(word, 5) == "endif") --depth;
  }
}

void CudaTokens::skip_blank() {
  while (at_ < source_.size()) {
    const char c = source_[at_];
    if (c == '\n') line_begins_ = true;
    if (std::isspace(static_cast<unsigned char>(c)) || c == '\0') {
      ++at_;
    } else if (c == '/' && at(1) == '/') {
      at_ = std::min(source_.find('\n', at_), source_.size());
    } else if (c == '/' && at(1) == '*') {
      const std::size_t end = source_.find("*/", at_ + 2);
      at_ = end == std::string_view::npos ? source_.size() : end + 2;
    } else if (c == '#' && line_begins_) {
      skip_directive();
    } else {
      return;
    }
  }
}

void CudaTokens::skip_literal(char quote) {
  while (at_ < source_.size() && source_[at_] != quote && source_[at_] != '\n') at_ += source_[at_] == '\\' ? 2 : 1;
  at_ = std::min(at_ + 1, source_.size());
}

/// R"mark( ... )mark": the position is past the first quote.
void CudaTokens::skip_raw_literal() {
  const std::size_t open = source_.find('(', at_);
  if (open == std::string_view::npos) return skip_literal('"');
  const std::string end = ")" + std::string(source_.substr(at_, open - at_)) + "\"";
  const std::size_t found = source_.find(end, open);
  at_ = found == std::string_view::npos ? source_.size() : found + end.size();
}

std::string_view CudaTokens::next() {
  skip_blank();
  if (at_ >= source_.size()) return {};
  line_begins_ = false;
  const std::size_t begin = at_;
  const char c = source_[at_++];
  if (in_word(c)) {
    // 1'000 is one number; the quote of a literal's prefix ends the word.
    const bool is_number = std::isdigit(static_cast<unsigned char>(c));
    while (at_ < source_.size() && (in_word(source_[at_]) || (is_number && source_[at_] == '\'' && in_word(at(1))))) ++at_;
    const std::string_view word = source_.substr(begin, at_ - begin);
    if (at(0) == '"' && word.back() == 'R' && word.size() <= 3) {
      ++at_;
      skip_raw_literal();
      return "\"";
    }
    return word;
  }
  if (c == '"' || c == '\'') skip_literal(c);
  else if (c == ':' && at(0) == ':') ++at_;
  else return source_.substr(begin, 1);
  return c == ':' ? std::string_view("::") : source_.substr(begin, 1);
}

std::string_view CudaTokens::peek() {
  const std::size_t at = at_;
  const bool line_begins = line_begins_;
  const std::string_view token = next();
  at_ = at;
  line_begins_ = line_begins;
  return token;
}

// A list in place of recursion: a source may open a million brackets.
void CudaTokens::skip_balanced(char open) {
  std::string opened(1, open);
  const bool skipped_else = std::exchange(skips_else_, true);
  for (std::string_view token = next(); !token.empty(); token = next()) {
    if (token.size() > 1 || is_word(token)) continue;
    const char c = token[0], innermost = opened.back();
    const char close = innermost == '(' ? ')' : innermost == '{' ? '}' : innermost == '[' ? ']' : '>';
    if (c == close) {
      opened.pop_back();
      if (opened.empty()) break;
    } else if (c == '(' || c == '{' || c == '[' || (c == '<' && innermost == '<')) {
      opened += c;  // within other brackets a "<" is a comparison
    } else if (innermost == '<' && (c == ';' || c == '}')) {
      break;  // it was no bracket after all
    }
  }
  skips_else_ = skipped_else;
}

}  // namespace damo
