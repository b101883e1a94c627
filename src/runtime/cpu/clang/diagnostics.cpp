#include "diagnostics.hpp"

#include <clang/Basic/DiagnosticSema.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Basic/SourceManagerInternals.h>
#include <clang/Lex/LexDiagnostic.h>

#include "prelude.hpp"

namespace damo::clang_plugin {

bool is_user_file(llvm::StringRef name) { return !name.starts_with(kPreludeDirectory) && name != kEntryFile; }

void report_error(clang::DiagnosticsEngine& diagnostics, clang::SourceLocation place, const std::string& message) {
  diagnostics.Report(place, diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Error, "%0")) << message;
}

UserDiagnostics::UserDiagnostics(clang::DiagnosticOptions* options, std::string file)
    : options_(options), file_(std::move(file)), stream_(text_), printer_(stream_, options) {
  options->ShowPresumedLoc = true;  // as #line says: a row's code is the user's line, not the generated one
}

void UserDiagnostics::HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& info) {
  DiagnosticConsumer::HandleDiagnostic(level, info);  // counts
  if (info.getID() == clang::diag::err_alias_is_definition && info.getLocation().isInvalid()) return;  // __shared__ (device_code.cpp): Clang says next what is wrong
  // A note belongs to the message before it, and is shown where that is.
  if (is_launch_from_kernel(info)) return print_launch(info);
  if (level != clang::DiagnosticsEngine::Note) shown_ = is_users(info) || level >= clang::DiagnosticsEngine::Error;
  if (shown_ && is_users(info)) {
    choose_margin(info);
    printer_.HandleDiagnostic(level, info);
  } else if (level >= clang::DiagnosticsEngine::Error) {
    print_without_place(level, info);
  }
}

/// Clang leaves room for the digits of a file's lines, and prints four thousand million blanks where #line has told of a
/// line with more digits.
void UserDiagnostics::choose_margin(const clang::Diagnostic& info) {
  clang::SourceManager& sources = info.getSourceManager();
  if (!sources.hasLineTable()) return;
  for (const auto& [file, entries] : sources.getLineTable()) {
    for (const clang::LineEntry& entry : entries) {
      if (entry.LineNo >= 10000) options_->ShowLineNumbers = 0;
    }
  }
}

bool UserDiagnostics::is_users(const clang::Diagnostic& info) const {
  if (!info.hasSourceManager() || info.getLocation().isInvalid()) return false;
  const clang::PresumedLoc place = info.getSourceManager().getPresumedLoc(info.getLocation());
  return place.isValid() && is_user_file(place.getFilename());
}

/// "reference to __global__ function 'child' in __global__ function", as Clang has it.
bool UserDiagnostics::is_launch_from_kernel(const clang::Diagnostic& info) const {
  if (info.getID() != clang::diag::err_ref_bad_target || !is_users(info)) return false;
  llvm::SmallString<256> message;
  info.FormatDiagnostic(message);
  return message.starts_with("reference to __global__ function") && !message.ends_with("in __host__ function");
}

void UserDiagnostics::print_launch(const clang::Diagnostic& info) {
  const clang::PresumedLoc place = info.getSourceManager().getPresumedLoc(info.getLocation());
  stream_ << place.getFilename() << ':' << place.getLine() << ':' << place.getColumn() << ": error: launching a kernel from a kernel (dynamic parallelism) is not supported on the CPU\n";
}

void UserDiagnostics::print_without_place(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& info) {
  llvm::SmallString<256> message;
  info.FormatDiagnostic(message);
  stream_ << file_ << ": " << (level == clang::DiagnosticsEngine::Fatal ? "fatal error: " : "error: ") << message << '\n';
}

}  // namespace damo::clang_plugin
