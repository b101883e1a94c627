#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Sema/ParsedAttr.h>
#include <clang/Sema/Sema.h>
#include <clang/Sema/SemaCUDA.h>

#include "cuda_entries.hpp"
#include "diagnostics.hpp"

namespace damo::clang_plugin {
namespace {

/// A variable that stands for another one is not initialised: Clang, which would refuse to initialise what is in shared memory, gives this one
/// no initialiser as long as it has such an attribute. DeviceCode takes it away again.
struct SharedAttribute : clang::ParsedAttrInfo {
  SharedAttribute() {
    static constexpr Spelling kSpellings[] = {{clang::AttributeCommonInfo::AS_GNU, "damo_shared"}};
    Spellings = kSpellings;
  }
  AttrHandling handleDeclAttribute(clang::Sema& sema, clang::Decl* declaration, const clang::ParsedAttr&) const override {
    const auto* const variable = llvm::dyn_cast<clang::VarDecl>(declaration);
    if (!variable || !variable->isLocalVarDecl() || variable->hasExternalStorage()) return AttributeNotApplied;
    const clang::QualType element = sema.getASTContext().getBaseElementType(variable->getType());
    if (!element->isDependentType() && !element->isRecordType()) return AttributeNotApplied;
    declaration->addAttr(clang::AliasAttr::CreateImplicit(sema.getASTContext(), ""));
    return AttributeApplied;
  }
};

class DeviceCode : public clang::ASTConsumer, public clang::RecursiveASTVisitor<DeviceCode> {
 public:
  explicit DeviceCode(clang::CompilerInstance& compiler) : compiler_(compiler), diagnostics_(compiler.getDiagnostics()) {}

  bool HandleTopLevelDecl(clang::DeclGroupRef group) override {
    for (clang::Decl* declaration : group) TraverseDecl(declaration);
    return true;
  }
  bool TraverseFunctionDecl(clang::FunctionDecl* function) {
    // Host functions of the text are checked by Clang but never run here.
    return is_host_only(*function) ? true : RecursiveASTVisitor::TraverseFunctionDecl(function);
  }
  bool VisitVarDecl(clang::VarDecl* variable) {
    if (variable->hasAttr<clang::CUDASharedAttr>()) place_in_section(*variable);
    if (variable->isLocalVarDecl() && variable->hasAttr<clang::CUDASharedAttr>()) leave_uninitialized(*variable);
    // Variables that only the text itself can name: the host sets and reads them too, by their names.
    const bool is_devices = variable->hasAttr<clang::CUDADeviceAttr>() || variable->hasAttr<clang::CUDAConstantAttr>();
    const bool is_hidden = variable->isFileVarDecl() && !variable->isExternallyVisible() && !variable->getType().isConstQualified();
    if (is_devices && is_hidden && !variable->hasAttr<clang::UsedAttr>()) {
      variable->addAttr(clang::UsedAttr::CreateImplicit(compiler_.getASTContext()));
    }
    return true;
  }
  bool VisitAsmStmt(clang::AsmStmt* statement) {
    const auto* written = llvm::dyn_cast<clang::GCCAsmStmt>(statement);
    const bool is_empty = written && written->getAsmString()->getString().empty();  // only keeps the compiler from moving code
    if (!is_empty) report_error(diagnostics_, statement->getAsmLoc(), "inline assembly (PTX) is not supported on the CPU");
    return true;
  }
  bool VisitCallExpr(clang::CallExpr* call) {
    const clang::FunctionDecl* callee = call->getDirectCallee();
    if (callee && is_host_only(*callee)) {
      report_error(diagnostics_, call->getExprLoc(), "'" + callee->getNameAsString() + "' is a __host__ function: device code cannot call it");
    }
    return true;
  }

 private:
  /// Marked __host__ and nothing else. What has no mark at all may run anywhere, and Clang marks it both, implicitly.
  static bool is_host_only(const clang::FunctionDecl& function) {
    const auto* host = function.getAttr<clang::CUDAHostAttr>();
    const auto* device = function.getAttr<clang::CUDADeviceAttr>();
    return !function.hasAttr<clang::CUDAGlobalAttr>() && host && !host->isImplicit() && (!device || device->isImplicit());
  }

  /// Lowering knows __shared__ variables by their section, however the text says that they are shared. What lies in a section of which
  /// Clang does not know that it is written would be constant.
  void place_in_section(clang::VarDecl& variable) {
    clang::ASTContext& context = compiler_.getASTContext();
    context.SectionInfos[kSharedSection].SectionFlags = clang::ASTContext::PSF_Read | clang::ASTContext::PSF_Write;
    variable.dropAttr<clang::SectionAttr>();
    variable.addAttr(clang::SectionAttr::CreateImplicit(context, kSharedSection));
  }

  /// Checks the initialisation that SharedAttribute put off as Clang does, now that nothing refuses it any more. Code is generated for none.
  void leave_uninitialized(clang::VarDecl& variable) {
    if (!variable.hasAttr<clang::AliasAttr>() || variable.getDeclContext()->isDependentContext()) return;  // a template's instances have their own
    variable.dropAttr<clang::AliasAttr>();
    clang::Sema& sema = compiler_.getSema();
    const clang::Sema::ContextRAII within(sema, variable.getDeclContext());
    sema.ActOnUninitializedDecl(&variable);
    const auto* const made = llvm::dyn_cast_or_null<clang::CXXConstructExpr>(variable.getInit());
    if (!made) return;
    clang::CXXConstructorDecl* const constructor = made->getConstructor();
    const bool is_constant = constructor->isConstexpr() || sema.CUDA().isEmptyConstructor(variable.getLocation(), constructor);
    if (is_constant && sema.CUDA().isEmptyDestructor(variable.getLocation(), constructor->getParent()->getDestructor())) return;
    const unsigned warning = diagnostics_.getCustomDiagID(clang::DiagnosticsEngine::Warning, "no constructor or destructor runs for %0 in __shared__ memory, as on a GPU");
    diagnostics_.Report(variable.getLocation(), warning) << &variable;
  }

  clang::CompilerInstance& compiler_;
  clang::DiagnosticsEngine& diagnostics_;
};

}  // namespace

std::unique_ptr<clang::ASTConsumer> make_device_code_consumer(clang::CompilerInstance& compiler) { return std::make_unique<DeviceCode>(compiler); }

void register_shared_attribute() { static const clang::ParsedAttrInfoRegistry::Add<SharedAttribute> registered("damo_shared", ""); }

}  // namespace damo::clang_plugin
