#include "cuda_entries.hpp"

#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/AST/ASTMutationListener.h>
#include <clang/AST/Mangle.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Lex/Pragma.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Sema/Sema.h>
#include <clang/Sema/SemaCUDA.h>
#include <llvm/Demangle/Demangle.h>

#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "diagnostics.hpp"

namespace damo::clang_plugin {
namespace {

class OnPragma : public clang::PragmaHandler {
 public:
  OnPragma(const char* name, std::function<void()> act) : PragmaHandler(name), act_(std::move(act)) {}
  void HandlePragma(clang::Preprocessor& preprocessor, clang::PragmaIntroducer, clang::Token& token) override {
    // The rest of the line first: what is entered now must not be read as part of the directive.
    do preprocessor.LexUnexpandedToken(token);
    while (token.isNot(clang::tok::eod));
    act_();
  }

 private:
  std::function<void()> act_;
};

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
  return text;
}

/// Names in an unnamed namespace are found without it, as C++ does.
std::string without_unnamed_spaces(std::string name) { return replaced(std::move(name), "(anonymous namespace)::", ""); }

/// As the types are called on a GPU.
std::string cuda_name(std::string name) { return replaced(replaced(std::move(name), "_Float16", "__half"), "damo::bfloat16", "__nv_bfloat16"); }

std::string pointer_name(std::size_t number) { return "__damo_kernel_" + std::to_string(number); }

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
    if (function->hasAttr<clang::CUDAGlobalAttr>() && !function->getPrimaryTemplate()) {
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
  return "\n# 1 \"<damo-entry>\"\n;\n#pragma damo_kernel_end\n#pragma clang force_cuda_host_device end\n#pragma damo_names\n";
}

std::unique_ptr<clang::ASTConsumer> CudaEntries::make_consumer(clang::CompilerInstance& compiler) {
  compiler_ = &compiler;
  clang::Preprocessor& preprocessor = compiler.getPreprocessor();
  add_cuda_preprocessing(preprocessor);
  preprocessor.AddPragmaHandler(new OnPragma("damo_names", [this] { enter_names(); }));
  preprocessor.AddPragmaHandler(new OnPragma("damo_entries", [this] { enter_entries(); }));
  // What __global__ and the end of the user's text say (cuda_c.h).
  preprocessor.AddPragmaHandler(new OnPragma("damo_kernel", [this] { mark_for_both(false); }));
  preprocessor.AddPragmaHandler(new OnPragma("damo_kernel_end", [this] { mark_for_both(true); }));
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
  if (llvm::isa<clang::CXXMethodDecl>(function)) report_error(compiler_->getDiagnostics(), function->getLocation(), "a __global__ function cannot be a member of a class");
  for (Kernel& kernel : kernels_) {
    if (kernel.function->getCanonicalDecl() == function->getCanonicalDecl()) return;
  }
  kernels_.push_back({function, without_unnamed_spaces(function->getQualifiedNameAsString()), is_template});
}

/// Those that the text asks for, "template __global__ void scale<float>(float*);", or writes, "template <> ...": "scale<float>".
void CudaEntries::add_instances(const Kernel& kernel) {
  clang::PrintingPolicy policy = compiler_->getASTContext().getPrintingPolicy();
  for (const clang::FunctionDecl* function : kernel.function->getDescribedFunctionTemplate()->specializations()) {
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
    choices_.push_back({stream.str(), {}, function});
  }
}

/// "(void (*)(float const*))": the function's type, by which an expression chooses among those of one name. In the words in which the
/// names that NVRTC makes are read back, so that a kernel has one name on every device.
std::string CudaEntries::cast_to(const clang::FunctionDecl& function) const {
  clang::ASTContext& context = compiler_->getASTContext();
  const clang::QualType type = context.getPointerType(function.getType());
  if (type->isDependentType()) return "(" + type.getAsString(context.getPrintingPolicy()) + ")";  // it has the parameter's name, "T *", and no symbol
  std::string symbol;
  llvm::raw_string_ostream stream(symbol);
  std::unique_ptr<clang::MangleContext>(context.createMangleContext())->mangleCanonicalTypeName(type, stream);
  const std::string text = llvm::demangle(stream.str());  // "typeinfo name for void (*)(float const*)"
  return "(" + without_unnamed_spaces(text.substr(text.find("void (*)"))) + ")";
}

/// How a caller may name this one of several kernels of a name.
std::string CudaEntries::candidate(const Kernel& kernel, const std::string& name) const {
  const unsigned line = compiler_->getSourceManager().getPresumedLineNumber(kernel.function->getLocation());
  return cuda_name(cast_to(*kernel.function)) + name + " in line " + std::to_string(line);
}

/// A name that the caller gave: an expression, such as "scale<float>" or "(void (*)(float*))scale", which Clang reads, or
/// a plain name, which must be one kernel's.
void CudaEntries::choose_wanted(const std::string& name) {
  const std::string base = name.substr(0, name.find('<'));
  Choice choice{name, name, nullptr};
  std::string known, candidates;
  bool is_known = base == "static_cast" || base.find_first_of("(&") != std::string::npos;
  for (const Kernel& kernel : kernels_) {
    if (kernel.name == base) is_known = true;
    known += (known.empty() ? "; there is " : ", ") + kernel.name + (kernel.is_template ? "<...>" : "");
    if (kernel.name != name || kernel.is_template || !kernel.function->isDefined()) continue;
    candidates += (candidates.empty() ? "" : ", ") + candidate(kernel, name);
    if (choice.function) choice.name.clear();
    choice.function = kernel.function;
  }
  if (!is_known) return report_error(compiler_->getDiagnostics(), {}, "no __global__ function named '" + name + "'" + known);
  if (choice.name.empty()) return report_error(compiler_->getDiagnostics(), {}, "several __global__ functions are named '" + name + "': " + candidates + "; name one by such an expression");
  choices_.push_back(std::move(choice));
}

void CudaEntries::choose() {
  // "*" among the names: those that are no templates, and the instances that the text asks for, beside the others.
  const bool all = std::erase(wanted_, "*") > 0 || wanted_.empty();
  for (const std::string& name : wanted_) choose_wanted(name);
  const std::size_t given = choices_.size();
  for (const Kernel& kernel : kernels_) {
    if (!all) break;
    if (kernel.is_template) add_instances(kernel);
    else if (kernel.function->isDefined()) choices_.push_back({kernel.name, {}, kernel.function});
  }
  std::map<std::string, int> count;
  for (std::size_t i = given; i < choices_.size(); ++i) ++count[choices_[i].name];
  for (Choice& choice : choices_) {
    if (!choice.function) continue;
    // Also the prelude may have functions of that name ("norm", "max").
    const auto same = choice.function->getDeclContext()->getRedeclContext()->lookup(choice.function->getDeclName());
    choice.expression = (std::next(same.begin()) == same.end() ? "" : cast_to(*choice.function)) + choice.name;
    if (count[choice.name] > 1) choice.name = cuda_name(choice.expression);
  }
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

/// Threads that the kernel's __launch_bounds__ allows; 0 if there is none.
static unsigned long launch_bound(const clang::FunctionDecl& kernel, const clang::ASTContext& context) {
  const auto* bounds = kernel.getAttr<clang::CUDALaunchBoundsAttr>();
  if (!bounds || bounds->getMaxThreads()->isValueDependent()) return 0;
  const auto threads = bounds->getMaxThreads()->getIntegerConstantExpr(context);
  return threads && threads->isStrictlyPositive() ? static_cast<unsigned long>(threads->getLimitedValue()) : 0;
}

void CudaEntries::enter(const std::string& text) {
  clang::Preprocessor& preprocessor = compiler_->getPreprocessor();
  const clang::FileID file = compiler_->getSourceManager().createFileID(llvm::MemoryBuffer::getMemBufferCopy(text, kEntryFile));
  preprocessor.EnterSourceFile(file, nullptr, clang::SourceLocation());
}

/// First the names are read, each as the value of a pointer, so that Clang finds the functions that they stand for.
void CudaEntries::enter_names() {
  // A text that ends inside a function or a namespace: the parser is about to say so.
  if (compiler_->getDiagnostics().hasErrorOccurred() || !compiler_->getSema().CurContext->isTranslationUnit()) return;
  choose();
  make_callable();
  std::string text;
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    text += "static __device__ constexpr auto " + pointer_name(i) + " = " + choices_[i].expression + ";\n";
  }
  enter(text + ";\n#pragma damo_entries\n");
}

/// The function that a name was found to stand for; null, with an error, if it is no kernel.
const clang::FunctionDecl* CudaEntries::found_kernel(std::size_t number) const {
  clang::ASTContext& context = compiler_->getASTContext();
  const auto found = context.getTranslationUnitDecl()->lookup(&context.Idents.get(pointer_name(number)));
  const clang::APValue* const value = found.find_first<clang::VarDecl>()->evaluateValue();
  const auto* pointee = value && value->isLValue() ? value->getLValueBase().dyn_cast<const clang::ValueDecl*>() : nullptr;
  const auto* function = llvm::dyn_cast_or_null<clang::FunctionDecl>(pointee);
  const clang::FunctionDecl* const pattern = function && function->getPrimaryTemplate() ? function->getPrimaryTemplate()->getTemplatedDecl() : function;
  for (const Kernel& kernel : kernels_) {
    if (pattern && pattern->getCanonicalDecl() == kernel.function->getCanonicalDecl()) return function;
  }
  report_error(compiler_->getDiagnostics(), {}, "'" + choices_[number].name + "' is no __global__ function");
  return nullptr;
}

/// An error tells what Clang could not make of a name, not which name that was, nor what it may be where templates share it.
void CudaEntries::explain_names() {
  clang::ASTContext& context = compiler_->getASTContext();
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    const auto found = context.getTranslationUnitDecl()->lookup(&context.Idents.get(pointer_name(i)));
    const auto* const pointer = found.find_first<clang::VarDecl>();
    if (!pointer || !pointer->isInvalidDecl()) continue;
    const std::string& name = choices_[i].name;
    std::string candidates;
    int count = 0;
    for (const Kernel& kernel : kernels_) {
      if (kernel.is_template && kernel.name == name.substr(0, name.find('<'))) candidates += (count++ ? ", " : "") + candidate(kernel, name);
    }
    report_error(compiler_->getDiagnostics(), {}, count > 1 ? "several __global__ templates are named as in '" + name + "': name one by its type, as " + candidates
                                                            : "'" + name + "' does not name a kernel");
  }
}

/// Then the entries.
void CudaEntries::enter_entries() {
  explain_names();
  std::string text;
  clang::ASTContext& context = compiler_->getASTContext();
  std::set<const clang::FunctionDecl*> entered;
  for (std::size_t i = 0; i < choices_.size() && !compiler_->getDiagnostics().hasErrorOccurred(); ++i) {
    const clang::FunctionDecl* const kernel = found_kernel(i);
    if (!kernel || (!entered.insert(kernel->getCanonicalDecl()).second && i >= wanted_.size())) continue;  // the caller's name stands
    const std::string number = std::to_string(i);
    KernelInfo info{.name = choices_[i].name, .entry = "__damo_entry_" + number, .thread = "__damo_thread_" + number, .blocks = "__damo_blocks_" + number};
    info.max_threads = launch_bound(*kernel, context);
    const clang::PresumedLoc place = context.getSourceManager().getPresumedLoc(kernel->getLocation());
    if (place.isValid()) info.place = std::string(place.getFilename()) + ":" + std::to_string(place.getLine());
    for (const clang::ParmVarDecl* parameter : kernel->parameters()) {
      clang::QualType type = parameter->getType().getCanonicalType().getUnqualifiedType();
      info.parameter_names.push_back(parameter->getNameAsString());
      info.parameter_types.push_back(type.getAsString(context.getPrintingPolicy()));
      if (type->isReferenceType()) type = context.getPointerType(type.getNonReferenceType());  // what is passed is an address
      // A class template's instance may not have been needed so far. One that can't be made is an error of the entry.
      const bool is_complete = compiler_->getSema().isCompleteType(parameter->getLocation(), type);
      const clang::CXXRecordDecl* const record = is_complete ? type->getAsCXXRecordDecl() : nullptr;
      info.by_address.push_back(record && !record->canPassInRegisters());
      info.parameter_bytes.push_back(is_complete ? static_cast<unsigned>(context.getTypeSizeInChars(type).getQuantity()) : 0);
    }
    text += entry_text(info, pointer_name(i));
    found_.push_back(std::move(info));
  }
  forget_users_macros(compiler_->getPreprocessor());  // "#define nx 680": an entry has variables of such names
  enter(text);
}

}  // namespace damo::clang_plugin
