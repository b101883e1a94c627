#include "cuda_entries.hpp"

#include <clang/Basic/SourceManager.h>
#include <clang/Lex/MacroInfo.h>
#include <clang/Lex/PPCallbacks.h>
#include <clang/Lex/Pragma.h>
#include <clang/Lex/Preprocessor.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "diagnostics.hpp"
#include "prelude.hpp"

namespace damo::clang_plugin {
namespace {

using Tokens = llvm::SmallVector<clang::Token, 16>;

/// Stands before the attribute of a variable's memory space. nvcc takes "__shared__ alignas(16) float x[4];", Clang only
/// "alignas(16) __shared__ float x[4];": the two change places. Nor does Clang take "__device__ __shared__", which means __shared__.
class VariablePragma : public clang::PragmaHandler {
 public:
  VariablePragma() : PragmaHandler("damo_variable") {}

  void HandlePragma(clang::Preprocessor& preprocessor, clang::PragmaIntroducer, clang::Token& token) override {
    while (token.isNot(clang::tok::eod)) preprocessor.LexUnexpandedToken(token);
    Tokens attributes, device, all;
    preprocessor.Lex(token);
    while (token.is(clang::tok::kw___attribute)) {
      Tokens attribute;
      take(preprocessor, token, attribute);
      (says(attribute, "device") ? device : attributes).append(attribute);
    }
    if (!says(attributes, "shared")) attributes.append(device);
    while (token.is(clang::tok::kw_alignas)) take(preprocessor, token, all);
    all.append(attributes);
    if (token.isNot(clang::tok::eof)) all.push_back(token);
    auto tokens = std::make_unique<clang::Token[]>(all.size());
    std::copy(all.begin(), all.end(), tokens.get());
    preprocessor.EnterTokenStream(std::move(tokens), static_cast<unsigned>(all.size()), /*DisableMacroExpansion=*/true, /*IsReinject=*/true);
  }

 private:
  static bool says(const Tokens& tokens, llvm::StringRef word) {
    return llvm::any_of(tokens, [&](const clang::Token& token) { return token.is(clang::tok::identifier) && token.getIdentifierInfo()->getName() == word; });
  }
  /// A word and its brackets; token becomes what follows.
  static void take(clang::Preprocessor& preprocessor, clang::Token& token, Tokens& to) {
    int open = 0;
    do {
      to.push_back(token);
      preprocessor.Lex(token);
      open += token.is(clang::tok::l_paren) ? 1 : 0;
      if (open == 1 && token.is(clang::tok::r_paren)) break;
      open -= token.is(clang::tok::r_paren) ? 1 : 0;
    } while (open > 0 && token.isNot(clang::tok::eof));
    if (token.isNot(clang::tok::r_paren)) return;
    to.push_back(token);
    preprocessor.Lex(token);
  }
};

class MissingHeaders : public clang::PPCallbacks {
 public:
  explicit MissingHeaders(clang::DiagnosticsEngine& diagnostics) : diagnostics_(diagnostics) {}

  bool FileNotFound(llvm::StringRef) override { return true; }
  /// A program's own header, in quotes, is another matter: it may hold what kernels need.
  void InclusionDirective(clang::SourceLocation, const clang::Token&, llvm::StringRef name, bool is_angled, clang::CharSourceRange range,
                          clang::OptionalFileEntryRef file, llvm::StringRef, llvm::StringRef, const clang::Module*, bool,
                          clang::SrcMgr::CharacteristicKind) override {
    if (file) return;
    if (const std::string_view what = refused_header(name); !what.empty()) report_error(diagnostics_, range.getBegin(), std::string(what) + " is not supported on the CPU");
    else if (is_angled) diagnostics_.Report(range.getBegin(), diagnostics_.getCustomDiagID(clang::DiagnosticsEngine::Warning, "there is no header <%0>: nothing is included")) << name;
    else diagnostics_.Report(range.getBegin(), diagnostics_.getCustomDiagID(clang::DiagnosticsEngine::Fatal, "'%0' file not found")) << name;
  }

 private:
  clang::DiagnosticsEngine& diagnostics_;
};

using Macros = llvm::SmallVector<std::pair<clang::IdentifierInfo*, clang::MacroInfo*>, 16>;

/// Those of the text, its headers and its flags that mean something to nobody else: names with an underscore in front and NDEBUG
/// tell headers what to do.
Macros users_macros(clang::Preprocessor& preprocessor) {
  const clang::SourceManager& sources = preprocessor.getSourceManager();
  Macros found;
  for (const auto& [identifier, state] : std::as_const(preprocessor).macros(/*IncludeExternalMacros=*/false)) {
    if (identifier->getName().starts_with("_") || identifier->getName() == "NDEBUG") continue;
    clang::MacroInfo* const macro = preprocessor.getMacroInfo(identifier);
    if (!macro || macro->isBuiltinMacro() || macro->getDefinitionLoc().isInvalid() || sources.isWrittenInBuiltinFile(macro->getDefinitionLoc())) continue;
    const clang::PresumedLoc place = sources.getPresumedLoc(macro->getDefinitionLoc());
    if (place.isValid() && is_user_file(place.getFilename())) found.emplace_back(const_cast<clang::IdentifierInfo*>(identifier), macro);
  }
  return found;
}

Macros hide(clang::Preprocessor& preprocessor) {
  Macros macros = users_macros(preprocessor);
  for (const auto& [identifier, macro] : macros) {
    preprocessor.appendMacroDirective(identifier, new (preprocessor.getPreprocessorAllocator()) clang::UndefMacroDirective(macro->getDefinitionLoc()));
  }
  return macros;
}

/// A header of the prelude has ordinary names for its parameters: "#define N 64" in front of it means the user's N alone.
class MacrosOutsideOfHeaders : public clang::PPCallbacks {
 public:
  explicit MacrosOutsideOfHeaders(clang::Preprocessor& preprocessor) : preprocessor_(preprocessor) {}

  void FileChanged(clang::SourceLocation place, FileChangeReason reason, clang::SrcMgr::CharacteristicKind, clang::FileID) override {
    if (reason != EnterFile && reason != ExitFile) return;
    const clang::PresumedLoc presumed = preprocessor_.getSourceManager().getPresumedLoc(place);
    const bool in_prelude = presumed.isValid() && llvm::StringRef(presumed.getFilename()).starts_with(kPreludeDirectory);
    if (in_prelude && !std::exchange(in_prelude_, true)) hidden_ = hide(preprocessor_);
    if (in_prelude || !std::exchange(in_prelude_, false)) return;
    for (const auto& [identifier, macro] : hidden_) preprocessor_.appendDefMacroDirective(identifier, macro);
    hidden_.clear();
  }

 private:
  clang::Preprocessor& preprocessor_;
  bool in_prelude_ = false;
  Macros hidden_;
};

}  // namespace

void forget_users_macros(clang::Preprocessor& preprocessor) { hide(preprocessor); }

void add_cuda_preprocessing(clang::Preprocessor& preprocessor) {
  preprocessor.AddPragmaHandler(new VariablePragma);
  preprocessor.addPPCallbacks(std::make_unique<MacrosOutsideOfHeaders>(preprocessor));
  preprocessor.addPPCallbacks(std::make_unique<MissingHeaders>(preprocessor.getDiagnostics()));
}

}  // namespace damo::clang_plugin
