// CudaTokens: CUDA C as a sequence of words and signs, without comments, literals' contents and preprocessor lines.
#pragma once
#include <cstddef>
#include <string_view>

namespace damo {

class CudaTokens {
 public:
  /// A byte order mark before it is skipped.
  explicit CudaTokens(std::string_view source) : source_(source), at_(source.starts_with("\xEF\xBB\xBF") ? 3 : 0) {}

  /// An identifier or number, "::", one other character, or a quote that stands for a literal; empty at the end.
  std::string_view next();
  /// next(), which stays the next.
  std::string_view peek();
  /// Skips past the sign that closes open, "(" "{" "[" or "<", which has just been read. Of "#if" and "#else" on the way the first alone
  /// counts: each may open what is closed behind both.
  void skip_balanced(char open);

 private:
  void skip_blank();
  void skip_directive();
  void skip_to_endif();
  void skip_literal(char quote);
  void skip_raw_literal();
  char at(std::size_t offset) const { return at_ + offset < source_.size() ? source_[at_ + offset] : '\0'; }

  std::string_view source_;
  std::size_t at_;
  bool line_begins_ = true, skips_else_ = false;
};

/// Whether a token is an identifier.
bool is_word(std::string_view token);

}  // namespace damo
