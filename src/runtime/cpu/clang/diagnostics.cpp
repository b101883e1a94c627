#include "diagnostics.hpp"

#include <clang/Basic/SourceManager.h>

#include "prelude.hpp"

namespace damo::clang_plugin {

bool is_user_file(llvm::StringRef name) { return !name.starts_with(kPreludeDirectory) && name != kEntryFile; }

UserDiagnostics::UserDiagnostics(clang::DiagnosticOptions* options, std::string file)
    : file_(std::move(file)), stream_(text_), printer_(stream_, options) {
  options->ShowPresumedLoc = true;  // as #line says: a row's code is the user's line, not the generated one
}

void UserDiagnostics::BeginSourceFile(const clang::LangOptions& language, const clang::Preprocessor* preprocessor) {
  printer_.BeginSourceFile(language, preprocessor);
}

void UserDiagnostics::EndSourceFile() { printer_.EndSourceFile(); }

void UserDiagnostics::HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& info) {
  DiagnosticConsumer::HandleDiagnostic(level, info);  // counts
  // A note belongs to the message before it, and is shown where that is.
  if (level != clang::DiagnosticsEngine::Note) shown_ = is_users(info) || level >= clang::DiagnosticsEngine::Error;
  if (shown_ && is_users(info)) {
    printer_.HandleDiagnostic(level, info);
  } else if (level >= clang::DiagnosticsEngine::Error) {
    print_without_place(level, info);
  }
}

bool UserDiagnostics::is_users(const clang::Diagnostic& info) const {
  if (!info.hasSourceManager() || info.getLocation().isInvalid()) return false;
  const clang::PresumedLoc place = info.getSourceManager().getPresumedLoc(info.getLocation());
  if (place.isInvalid()) return false;
  return is_user_file(place.getFilename());
}

void UserDiagnostics::print_without_place(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& info) {
  llvm::SmallString<256> message;
  info.FormatDiagnostic(message);
  stream_ << file_ << ": " << (level == clang::DiagnosticsEngine::Fatal ? "fatal error: " : "error: ") << message << '\n';
}

}  // namespace damo::clang_plugin
