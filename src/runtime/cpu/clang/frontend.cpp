#include "frontend.hpp"

#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/Basic/Diagnostic.h>
#include <clang/CodeGen/ModuleBuilder.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/FrontendAction.h>
#include <clang/Frontend/MultiplexConsumer.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <clang/Serialization/ASTWriter.h>
#include <clang/Serialization/InMemoryModuleCache.h>
#include <clang/Serialization/PCHContainerOperations.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/VirtualFileSystem.h>

#include <map>
#include <mutex>

#include "cuda_entries.hpp"
#include "diagnostics.hpp"
#include "plugin.h"
#include "prelude.hpp"

namespace damo::clang_plugin {
namespace {

using FileSystem = llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem>;

std::string prelude_path(const std::string& name) { return kPreludeDirectory + name; }

/// Everything that decides the meaning of the prelude: equal settings share a precompiled one.
struct Settings {
  bool cuda = false;
  Target target;
  std::vector<std::string> flags;  ///< the user's
  std::vector<std::string> files;  ///< in place of those on the disk: path, text, path, text
  bool line_tables = false;        ///< for the lines of faults

  /// A flag other than a macro or a search path can change the language, which a precompiled prelude can't follow.
  bool fits_precompiled() const {
    return llvm::all_of(flags, [](llvm::StringRef flag) {
      if (flag.starts_with("-D__DAMO_OWN_")) return false;  // a type of the prelude is to be left out
      return flag.starts_with("-D") || flag.starts_with("-U") || flag.starts_with("-I") || !flag.starts_with("-");
    });
  }
  std::string key() const { return (cuda ? "cuda " : "loops ") + target.cpu + " " + target.feature_string(); }
};

std::vector<std::string> compiler_arguments(const Settings& settings) {
  std::vector<std::string> arguments = {
      "-triple", kTriple, "-target-cpu", settings.target.cpu, "-O3", "-std=c++20",
      "-mrelocation-model", "pic", "-pic-level", "2", "-fno-rtti", "-fvisibility=hidden", "-fno-threadsafe-statics",
      "-nostdsysteminc", "-nobuiltininc", "-nostdinc++", "-fgnuc-version=4.2.1", "-ferror-limit", "200",
      "-fmessage-length=0", "-fpch-instantiate-templates",
      // Fused multiply-add wherever no pragma says otherwise; nothing else is given up: signed zeros, NaN and order stay.
      "-ffp-contract=fast-honor-pragmas",
      // As on a GPU, in CUDA C and in users' rows: a conversion out of range gives the nearest integer, a loop that never
      // ends stays one, and an access through null faults. The last two are reported.
      "-fno-strict-float-cast-overflow", "-fno-finite-loops", "-fno-delete-null-pointer-checks",
      "-Wno-unused-value", "-Wno-unknown-pragmas", "-Wno-invalid-constexpr"};
  const auto add = [&](std::initializer_list<const char*> more) { arguments.insert(arguments.end(), more.begin(), more.end()); };
  for (const std::string& feature : settings.target.features) add({"-target-feature", feature.c_str()});
  if (settings.target.has_avx512()) add({"-mprefer-vector-width=512"});
  if (settings.cuda) {
    add({"-x", "cuda", "-fcuda-is-device", "-fdeclspec", "-aux-triple", kTriple, "-Wno-undefined-internal", "-Wno-undefined-inline",
         // What nvcc takes, too: the word register; new in kernels, which gives null where there is no room.
         "-Wno-register", "-Wno-inline-new-delete", "-fcheck-new",
         // int2{threadIdx.x, threadIdx.y} is no error for nvcc.
         "-Wno-c++11-narrowing",
         // As on a GPU: memory may be read as another type, each operation on halves rounds.
         "-relaxed-aliasing", "-ffloat16-excess-precision=none", "-fexperimental-max-bitint-width=128", "-internal-isystem", kPreludeDirectory});
  } else {
    add({"-x", "c++", "-fwrapv"});  // integers of a row wrap, as NumPy's do
  }
  if (settings.line_tables) add({"-debug-info-kind=line-tables-only", "-dwarf-version=5", "-fdebug-compilation-dir=."});
  arguments.insert(arguments.end(), settings.flags.begin(), settings.flags.end());
  return arguments;
}

void add_provided_headers(llvm::vfs::InMemoryFileSystem& memory) {
  for (const auto& [name, text] : provided_headers()) {
    const std::string path = prelude_path(name);
    if (!memory.exists(path)) memory.addFile(path, 1, llvm::MemoryBuffer::getMemBufferCopy(text, path));
  }
}

/// words: all that the compiled text may name; null while a prelude is precompiled.
FileSystem file_system(const Settings& settings, const std::string* words, const llvm::SmallVectorImpl<char>* precompiled) {
  auto memory = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  for (const PreludeFile* file = prelude_files; file->name; ++file) {
    const std::string path = prelude_path(file->name);
    memory->addFileNoOwn(path, 1, llvm::MemoryBufferRef(file->text, path));
  }
  if (settings.cuda) add_provided_headers(*memory);
  const std::string umbrella = umbrella_header(settings.cuda, precompiled ? nullptr : words);
  memory->addFile(prelude_path("umbrella.h"), 1, llvm::MemoryBuffer::getMemBufferCopy(umbrella));
  if (settings.cuda && words) {
    memory->addFile(prelude_path("extra.h"), 1, llvm::MemoryBuffer::getMemBufferCopy(extra_header(*words)));
  }
  if (precompiled) {
    const llvm::StringRef bytes(precompiled->data(), precompiled->size());
    memory->addFileNoOwn(prelude_path("umbrella.pch"), 1, llvm::MemoryBufferRef(bytes, "umbrella.pch"));
  }
  // Generated text includes nothing; only a user's CUDA C may look at the disk.
  if (!settings.cuda) return memory;
  llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> disk = llvm::vfs::createPhysicalFileSystem();
  if (const auto directory = disk->getCurrentWorkingDirectory()) memory->setCurrentWorkingDirectory(*directory);
  for (size_t i = 0; i + 1 < settings.files.size(); i += 2) {
    memory->addFile(settings.files[i], 1, llvm::MemoryBuffer::getMemBufferCopy(settings.files[i + 1], settings.files[i]));
  }
  auto overlay = llvm::makeIntrusiveRefCnt<llvm::vfs::OverlayFileSystem>(disk);
  overlay->pushOverlay(memory);
  return overlay;
}

/// A compiler instance with its files and its diagnostics in our hands. False: the flags make no sense (see the log).
bool prepare(clang::CompilerInstance& compiler, const std::vector<std::string>& arguments, UserDiagnostics& diagnostics,
             FileSystem files) {
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  compiler.createDiagnostics(&diagnostics, /*ShouldOwnClient=*/false);
  auto invocation = std::make_shared<clang::CompilerInvocation>();
  if (!clang::CompilerInvocation::CreateFromArgs(*invocation, pointers, compiler.getDiagnostics())) return false;
  compiler.setInvocation(std::move(invocation));
  compiler.createDiagnostics(&diagnostics, /*ShouldOwnClient=*/false);  // now with the warning flags
  compiler.setVerboseOutputStream(llvm::nulls());
  compiler.createFileManager(files);
  compiler.getFrontendOpts().DisableFree = false;
  // Positions of the prelude in memory are not worth a check, and its time stamps have no meaning.
  compiler.getPreprocessorOpts().DisablePCHOrModuleValidation = clang::DisableValidationForModuleKind::PCH;
  return true;
}

clang::InputKind input_kind(const Settings& settings) {
  return clang::InputKind(settings.cuda ? clang::Language::CUDA : clang::Language::CXX);
}

class PrecompileAction : public clang::ASTFrontendAction {
 public:
  explicit PrecompileAction(std::shared_ptr<clang::PCHBuffer> buffer) : buffer_(std::move(buffer)) {}
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler, llvm::StringRef) override {
    return std::make_unique<clang::PCHGenerator>(compiler.getPreprocessor(), compiler.getModuleCache(),
                                                 prelude_path("umbrella.pch"), "", buffer_,
                                                 llvm::ArrayRef<std::shared_ptr<clang::ModuleFileExtension>>(),
                                                 /*AllowASTWithErrors=*/false, /*IncludeTimestamps=*/false);
  }
  clang::TranslationUnitKind getTranslationUnitKind() override { return clang::TU_Prefix; }
  bool hasASTFileSupport() const override { return false; }

 private:
  std::shared_ptr<clang::PCHBuffer> buffer_;
};

using Precompiled = std::shared_ptr<const clang::PCHBuffer>;

Precompiled precompile(Settings settings, std::string& log) {
  settings.flags.clear();
  settings.files.clear();
  llvm::IntrusiveRefCntPtr<clang::DiagnosticOptions> options(new clang::DiagnosticOptions);
  UserDiagnostics diagnostics(options.get(), "prelude");
  clang::CompilerInstance compiler;
  auto arguments = compiler_arguments(settings);
  arguments.push_back(prelude_path("umbrella.h"));
  auto buffer = std::make_shared<clang::PCHBuffer>();
  if (prepare(compiler, arguments, diagnostics, file_system(settings, nullptr, nullptr))) {
    compiler.getFrontendOpts().ProgramAction = clang::frontend::GeneratePCH;
    const clang::InputKind header = input_kind(settings).withHeaderUnit(clang::InputKind::HeaderUnit_None);
    compiler.getFrontendOpts().Inputs = {clang::FrontendInputFile(prelude_path("umbrella.h"), header)};
    PrecompileAction action(buffer);
    if (compiler.ExecuteAction(action) && buffer->IsComplete) return buffer;
  }
  log = "the CPU prelude does not compile:\n" + diagnostics.text();
  return nullptr;
}

/// One precompiled prelude a language and target, made by the second compile that wants it, kept for the process. The
/// first, and others while it is made, get none and parse the text: a process with one kernel is done before a precompiled prelude would pay. Null
/// with a log: the prelude does not compile.
Precompiled precompiled_prelude(const Settings& settings, std::string& log) {
  struct Slot {
    Precompiled prelude;
    bool was_wanted = false, is_being_made = false;
  };
  static std::mutex lock;
  static std::map<std::string, Slot> slots;
  {
    const std::lock_guard guard(lock);
    Slot& slot = slots[settings.key()];
    if (slot.prelude || !std::exchange(slot.was_wanted, true) || std::exchange(slot.is_being_made, true)) return slot.prelude;
  }
  // Without the lock, which a compile that is stopped in here would keep for ever.
  Precompiled made = precompile(settings, log);
  const std::lock_guard guard(lock);
  Slot& slot = slots[settings.key()];
  slot.prelude = made;
  slot.is_being_made = false;
  return made;
}

class GenerateAction : public clang::ASTFrontendAction {
 public:
  GenerateAction(llvm::LLVMContext& context, CudaEntries* entries) : context_(context), entries_(entries) {}

  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler, llvm::StringRef file) override {
    auto* generator = clang::CreateLLVMCodeGen(compiler.getDiagnostics(), file, &compiler.getVirtualFileSystem(),
                                               compiler.getHeaderSearchOpts(), compiler.getPreprocessorOpts(),
                                               compiler.getCodeGenOpts(), context_);
    generator_ = generator;
    std::vector<std::unique_ptr<clang::ASTConsumer>> consumers;
    if (entries_) {
      consumers.push_back(entries_->make_consumer(compiler));
      consumers.push_back(make_device_code_consumer(compiler));
    }
    consumers.emplace_back(generator);
    return std::make_unique<clang::MultiplexConsumer>(std::move(consumers));
  }
  void EndSourceFileAction() override { module_.reset(generator_->ReleaseModule()); }
  std::unique_ptr<llvm::Module> take_module() { return std::move(module_); }

 private:
  llvm::LLVMContext& context_;
  CudaEntries* entries_;
  clang::CodeGenerator* generator_ = nullptr;
  std::unique_ptr<llvm::Module> module_;
};

std::vector<std::string> list_of(const char* const* texts) {
  std::vector<std::string> list;
  for (; texts && *texts; ++texts) list.emplace_back(*texts);
  return list;
}

/// The source, the values of macros and the kernels asked for: what a part of the prelude may be needed for.
std::string words_of(const damo_clang_request& request, const Settings& settings) {
  std::string words(request.source, request.source_bytes);
  for (const std::string& flag : settings.flags) {
    if (flag.rfind("-D", 0) == 0) words += " " + flag;
  }
  for (const std::string& kernel : list_of(request.kernels)) words += " " + kernel;
  return words;
}

}  // namespace

FrontendResult run_frontend(const damo_clang_request& request, const std::vector<std::string>& flags, bool line_tables, const Target& target, llvm::LLVMContext& context) {
  register_shared_attribute();
  FrontendResult result;
  const Settings settings{request.language == DAMO_CLANG_CUDA_C, target, flags, list_of(request.files), line_tables};
  Precompiled prelude;
  if (settings.fits_precompiled()) {
    prelude = precompiled_prelude(settings, result.log);
    if (!prelude && !result.log.empty()) return result;
  }
  llvm::IntrusiveRefCntPtr<clang::DiagnosticOptions> options(new clang::DiagnosticOptions);
  const std::string name = request.file_name ? request.file_name : "<source>";
  UserDiagnostics diagnostics(options.get(), name);
  clang::CompilerInstance compiler;
  std::string text(request.source, request.source_bytes);
  if (settings.cuda) text += CudaEntries::trailer();
  auto arguments = compiler_arguments(settings);
  arguments.push_back(prelude ? "-include-pch" : "-include");
  arguments.push_back(prelude_path(prelude ? "umbrella.pch" : "umbrella.h"));
  if (settings.cuda) arguments.insert(arguments.end(), {"-include", prelude_path("extra.h")});
  arguments.push_back(name[0] == '-' ? "<source>" : name);
  const std::string words = words_of(request, settings);
  FileSystem files = file_system(settings, &words, prelude ? &prelude->Data : nullptr);
  if (prepare(compiler, arguments, diagnostics, files)) {
    compiler.getFrontendOpts().Inputs = {
        clang::FrontendInputFile(llvm::MemoryBufferRef(text, name), input_kind(settings))};
    CudaEntries entries(list_of(request.kernels), result.kernels);
    GenerateAction action(context, settings.cuda ? &entries : nullptr);
    if (compiler.ExecuteAction(action) && !compiler.getDiagnostics().hasErrorOccurred()) {
      result.module = action.take_module();
    }
  }
  result.log = diagnostics.text();
  return result;
}

}  // namespace damo::clang_plugin
