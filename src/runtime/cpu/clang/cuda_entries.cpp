#include "cuda_entries.hpp"

#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/AST/ASTMutationListener.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Lex/Pragma.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Sema/Sema.h>
#include <clang/Sema/SemaCUDA.h>

#include <algorithm>
#include <functional>
#include <string_view>

#include "diagnostics.hpp"

namespace damo::clang_plugin {
namespace {

constexpr const char* kThreadPrefix = "__damo_thread_";

class OnPragma : public clang::PragmaHandler {
 public:
  OnPragma(const char* name, std::function<void(clang::Preprocessor&)> act) : PragmaHandler(name), act_(std::move(act)) {}
  void HandlePragma(clang::Preprocessor& preprocessor, clang::PragmaIntroducer, clang::Token& token) override {
    // The rest of the line first: what is entered now must not be read as part of the directive.
    do preprocessor.LexUnexpandedToken(token);
    while (token.isNot(clang::tok::eod));
    act_(preprocessor);
  }

 private:
  std::function<void(clang::Preprocessor&)> act_;
};

std::string base_name(const std::string& expression) { return expression.substr(0, expression.find('<')); }

}  // namespace

/// Sees the user's declarations as the parser finishes them, before code is generated for them.
class CudaEntries::Consumer : public clang::ASTConsumer,
                              public clang::ASTMutationListener,
                              public clang::RecursiveASTVisitor<CudaEntries::Consumer> {
 public:
  explicit Consumer(CudaEntries& owner) : owner_(owner) {}

  clang::ASTMutationListener* GetASTMutationListener() override { return this; }
  void AddedVisibleDecl(const clang::DeclContext*, const clang::Decl* declaration) override {
    if (declaration->isFunctionOrFunctionTemplate()) owner_.mark_for_both(true);
  }

  bool HandleTopLevelDecl(clang::DeclGroupRef group) override {
    for (clang::Decl* declaration : group) TraverseDecl(declaration);
    return true;
  }

  bool VisitFunctionDecl(clang::FunctionDecl* function) {
    if (function->getIdentifier() && function->getName().starts_with(kThreadPrefix)) {
      if (function->hasBody()) owner_.read_entry(function);
    } else if (function->hasAttr<clang::CUDAGlobalAttr>() && !function->getPrimaryTemplate()) {
      owner_.add_kernel(function, function->getDescribedFunctionTemplate() != nullptr);
    }
    return true;
  }
  /// No kernel stands in a function's body.
  bool TraverseStmt(clang::Stmt*) { return true; }

 private:
  CudaEntries& owner_;
};

CudaEntries::CudaEntries(std::vector<std::string> wanted, std::vector<KernelInfo>& found)
    : wanted_(std::move(wanted)), found_(found) {}

// The empty declaration makes the parser finish the user's last function before it meets the pragma.
const char* CudaEntries::trailer() { 
  return "\n# 1 \"<damo-entry>\"\n;\n#pragma damo_kernel_end\n#pragma clang force_cuda_host_device end\n#pragma damo_entries\n";
}

std::unique_ptr<clang::ASTConsumer> CudaEntries::make_consumer(clang::CompilerInstance& compiler) {
  compiler_ = &compiler;
  clang::Preprocessor& preprocessor = compiler.getPreprocessor();
  add_cuda_preprocessing(preprocessor);
  preprocessor.AddPragmaHandler(new OnPragma("damo_entries", [this](clang::Preprocessor& at) { enter(at); }));
  // What __global__ and the end of the user's text say (cuda_c.h).
  preprocessor.AddPragmaHandler(new OnPragma("damo_kernel", [this](clang::Preprocessor&) { mark_for_both(false); }));
  preprocessor.AddPragmaHandler(new OnPragma("damo_kernel_end", [this](clang::Preprocessor&) { mark_for_both(true); }));
  return std::make_unique<Consumer>(*this);
}

// A kernel is no function for host and device, though the pragma around the user's text makes all of them so: Clang would
// take a kernel's two declarations for contradictory.
void CudaEntries::mark_for_both(bool marks) {
  if (marks == marks_for_both_) return;
  marks_for_both_ = marks;
  if (marks) compiler_->getSema().CUDA().PushForceHostDevice();
  else if (!compiler_->getSema().CUDA().PopForceHostDevice()) marks_for_both_ = true;  // outside of the user's text
}

void CudaEntries::add_kernel(clang::FunctionDecl* function, bool is_template) {
  for (Kernel& kernel : kernels_) {
    if (kernel.function->getCanonicalDecl() == function->getCanonicalDecl()) return;
  }
  std::string name = function->getQualifiedNameAsString();
  constexpr std::string_view kUnnamed = "(anonymous namespace)::";  // found without it, as C++ does
  for (size_t at = 0; (at = name.find(kUnnamed, at)) != std::string::npos;) name.erase(at, kUnnamed.size());
  kernels_.push_back({function, std::move(name), is_template});
}

/// Those that the text asks for, "template __global__ void scale<float>(float*);", or writes, "template <> ...": "scale<float>".
std::vector<std::string> CudaEntries::instances(const Kernel& kernel) const {
  std::vector<std::string> names;
  const clang::FunctionTemplateDecl* const pattern = kernel.function->getDescribedFunctionTemplate();
  if (!pattern) return names;
  clang::PrintingPolicy policy = compiler_->getASTContext().getPrintingPolicy();
  for (const clang::FunctionDecl* function : pattern->specializations()) {
    const clang::TemplateSpecializationKind kind = function->getTemplateSpecializationKind();
    if (kind != clang::TSK_ExplicitInstantiationDefinition && (kind != clang::TSK_ExplicitSpecialization || !function->isDefined())) continue;
    const auto* const written = function->getTemplateSpecializationArgsAsWritten();
    const auto* const deduced = function->getTemplateSpecializationArgs();
    std::string name = kernel.name;
    llvm::raw_string_ostream stream(name);
    // The entry, which is at global scope, names the instance so too: within a namespace arguments may need the whole name.
    const bool as_written = written && written->NumTemplateArgs == deduced->size() && kernel.name.find(':') == std::string::npos;
    policy.FullyQualifiedName = policy.PrintCanonicalTypes = !as_written;
    as_written ? clang::printTemplateArgumentList(stream, written->arguments(), policy)
               : clang::printTemplateArgumentList(stream, deduced->asArray(), policy);
    stream.flush();
    names.push_back(std::move(name));
  }
  return names;
}

std::vector<std::string> CudaEntries::choose(clang::Preprocessor& preprocessor) {
  // "*" among the names: those that are no templates, beside the others.
  const bool all = std::erase(wanted_, "*") > 0 || wanted_.empty();
  std::vector<std::string> names = wanted_;
  std::string known;
  for (const Kernel& kernel : kernels_) {
    known += (known.empty() ? "" : ", ") + kernel.name + (kernel.is_template ? "<...>" : "");
    const bool is_choice = all && !kernel.is_template && kernel.function->isDefined();
    for (const std::string& instance : all ? instances(kernel) : std::vector<std::string>()) {
      if (std::find(names.begin(), names.end(), instance) == names.end()) names.push_back(instance);
    }
    if (is_choice && std::find(wanted_.begin(), wanted_.end(), kernel.name) == wanted_.end()) names.push_back(kernel.name);
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (std::find(names.begin(), names.begin() + i, names[i]) == names.begin() + i) continue;
    report_error(preprocessor.getDiagnostics(), clang::SourceLocation(),
           "two __global__ functions are named '" + names[i] + "': a kernel is found by its name, so names must differ");
    return {};
  }
  const auto is_known = [&](const std::string& name) {
    for (const Kernel& kernel : kernels_) {
      if (kernel.name == base_name(name)) return true;
    }
    return false;
  };
  for (const std::string& name : wanted_) {
    if (is_known(name)) continue;
    report_error(preprocessor.getDiagnostics(), clang::SourceLocation(),
           "no __global__ function named '" + name + "'" + (known.empty() ? "" : "; there is " + known));
    return {};
  }
  if (names.empty()) {
    report_error(preprocessor.getDiagnostics(), clang::SourceLocation(), "no __global__ function to compile" + (known.empty() ? "" : " but templates: " + known + "; name the instances that are wanted, such as \"scale<float>\""));
  }
  return names;
}

/// A kernel becomes an ordinary device function, which the entry may call. All of the user's text has been checked
/// by now, under CUDA's rules.
void CudaEntries::make_callable() {
  clang::ASTContext& context = compiler_->getASTContext();
  const auto make_device_function = [&](clang::FunctionDecl* function) {
    for (clang::FunctionDecl* declaration : function->redecls()) {
      declaration->dropAttr<clang::CUDAGlobalAttr>();
      if (!declaration->hasAttr<clang::CUDADeviceAttr>()) declaration->addAttr(clang::CUDADeviceAttr::CreateImplicit(context));
    }
  };
  for (Kernel& kernel : kernels_) {
    make_device_function(kernel.function);
    clang::FunctionTemplateDecl* const pattern = kernel.function->getDescribedFunctionTemplate();
    if (!pattern) continue;
    for (clang::FunctionDecl* instance : pattern->specializations()) make_device_function(instance);
  }
}

void CudaEntries::enter(clang::Preprocessor& preprocessor) {
  // A text that ends inside a function or a namespace: the parser is about to say so.
  if (preprocessor.getDiagnostics().hasErrorOccurred() || !compiler_->getSema().CurContext->isTranslationUnit()) return;
  const std::vector<std::string> names = choose(preprocessor);
  make_callable();
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    const clang::FunctionDecl* function = nullptr;
    for (const Kernel& kernel : kernels_) {
      if (kernel.name == base_name(names[i])) function = kernel.function;
    }
    const std::string number = std::to_string(i);
    found_.push_back({.name = names[i], .entry = "__damo_entry_" + number, .thread = kThreadPrefix + number, .blocks = "__damo_blocks_" + number});
    text += entry_text(found_.back(), *function);
  }
  clang::SourceManager& sources = preprocessor.getSourceManager();
  const clang::FileID file = sources.createFileID(llvm::MemoryBuffer::getMemBufferCopy(text, kEntryFile));
  preprocessor.EnterSourceFile(file, nullptr, clang::SourceLocation());
}

/// Threads that the kernel's __launch_bounds__ allows; 0 if there is none.
static unsigned long launch_bound(const clang::FunctionDecl& kernel, const clang::ASTContext& context) {
  const auto* bounds = kernel.getAttr<clang::CUDALaunchBoundsAttr>();
  if (!bounds || bounds->getMaxThreads()->isValueDependent()) return 0;
  const auto threads = bounds->getMaxThreads()->getIntegerConstantExpr(context);
  return threads && threads->isStrictlyPositive() ? static_cast<unsigned long>(threads->getLimitedValue()) : 0;
}

/// The kernel that an entry's statement calls; null if it calls none. An entry is of Damo's own text (entry_text).
const clang::FunctionDecl* CudaEntries::called_kernel(const clang::Stmt* statement) const {
  if (!statement) return nullptr;
  const auto* const call = llvm::dyn_cast<clang::CallExpr>(statement);
  if (const clang::FunctionDecl* callee = call ? call->getDirectCallee() : nullptr) {
    const clang::FunctionTemplateDecl* const primary = callee->getPrimaryTemplate();
    const clang::FunctionDecl* pattern = primary ? primary->getTemplatedDecl() : nullptr;
    for (const Kernel& known : kernels_) {
      const clang::FunctionDecl* canonical = known.function->getCanonicalDecl();
      if (callee->getCanonicalDecl() == canonical || (pattern && pattern->getCanonicalDecl() == canonical)) return callee;
    }
  }
  for (const clang::Stmt* child : statement->children()) {
    if (const clang::FunctionDecl* found = called_kernel(child)) return found;
  }
  return nullptr;
}

/// The parameter types as the entry's call resolved them: a template's arguments are in place.
void CudaEntries::read_entry(const clang::FunctionDecl* entry) {
  const clang::FunctionDecl* const kernel = called_kernel(entry->getBody());
  if (!kernel) return;
  clang::ASTContext& context = compiler_->getASTContext();
  for (KernelInfo& info : found_) {
    if (entry->getName() != info.thread) continue;
    info.max_threads = launch_bound(*kernel, context);
    const clang::PresumedLoc place = context.getSourceManager().getPresumedLoc(kernel->getLocation());
    if (place.isValid()) info.place = std::string(place.getFilename()) + ":" + std::to_string(place.getLine());
    for (const clang::ParmVarDecl* parameter : kernel->parameters()) {
      const clang::QualType type = parameter->getType().getCanonicalType().getUnqualifiedType();
      info.parameter_names.push_back(parameter->getNameAsString());
      info.parameter_types.push_back(type.getAsString(context.getPrintingPolicy()));
      info.parameter_bytes.push_back(static_cast<unsigned>(context.getTypeSizeInChars(type).getQuantity()));
    }
  }
}

}  // namespace damo::clang_plugin
