// Clang's diagnostics as the user should read them: the user's file, line and column, nothing of the prelude.
#pragma once
#include <clang/Basic/Diagnostic.h>
#include <clang/Basic/DiagnosticOptions.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <llvm/Support/raw_ostream.h>

#include <string>

namespace damo::clang_plugin {

/// Names of places the user never wrote.
inline constexpr const char* kEntryFile = "<damo-entry>";

/// Of the user's text, or of a file that it includes.
bool is_user_file(llvm::StringRef name);

void report_error(clang::DiagnosticsEngine& diagnostics, clang::SourceLocation place, const std::string& message);

class UserDiagnostics : public clang::DiagnosticConsumer {
 public:
  /// file: named by errors that have no place in the user's text.
  UserDiagnostics(clang::DiagnosticOptions* options, std::string file);
  void BeginSourceFile(const clang::LangOptions& language, const clang::Preprocessor* preprocessor) override { printer_.BeginSourceFile(language, preprocessor); }
  void EndSourceFile() override { printer_.EndSourceFile(); }
  void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& info) override;

  /// Everything printed so far.
  std::string text() const { return text_; }

 private:
  bool is_users(const clang::Diagnostic& info) const;
  bool is_launch_from_kernel(const clang::Diagnostic& info) const;
  void print_launch(const clang::Diagnostic& info);
  void print_without_place(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& info);

  void choose_margin(const clang::Diagnostic& info);

  clang::DiagnosticOptions* options_;
  bool shown_ = false;
  std::string file_;
  std::string text_;
  llvm::raw_string_ostream stream_;
  clang::TextDiagnosticPrinter printer_;
};

}  // namespace damo::clang_plugin
