#include "codegen.hpp"

#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>

#include <functional>
#include <memory>
#include <optional>

#include "locate.hpp"
#include "parallel_threads.hpp"

namespace damo::clang_plugin {
namespace {

std::unique_ptr<llvm::LLVMTargetMachine> make_machine(const Target& target, bool full, std::string& error) {
  const llvm::Target* entry = llvm::TargetRegistry::lookupTarget(kTriple, error);
  if (!entry) return nullptr;
  llvm::TargetOptions options;
  // Standard: fuse what the IR's contract flags allow, so that contract(off) in the polynomials holds.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  options.NoTrappingFPMath = true;
  options.FunctionSections = false;
  // A kernel that gets where its text says that nobody gets (__builtin_unreachable) faults, and runs into no other function.
  options.TrapUnreachable = options.NoTrapAfterNoreturn = true;
  return std::unique_ptr<llvm::LLVMTargetMachine>(static_cast<llvm::LLVMTargetMachine*>(
      entry->createTargetMachine(kTriple, target.cpu, target.feature_string(), options, llvm::Reloc::PIC_,
                                 llvm::CodeModel::Small, full ? llvm::CodeGenOptLevel::Aggressive : llvm::CodeGenOptLevel::Less)));
}

/// The function that a pass is about to look at; null for a module.
const llvm::Function* function_of(const llvm::Any& unit) {
  if (const auto* function = llvm::any_cast<const llvm::Function*>(&unit)) return *function;
  if (const auto* loop = llvm::any_cast<const llvm::Loop*>(&unit)) return (*loop)->getHeader()->getParent();
  return nullptr;
}

void optimize(llvm::Module& module, llvm::TargetMachine& machine, const Options& options, const std::function<void(llvm::StringRef)>& note) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = options.full;
  tuning.SLPVectorization = options.full && options.slp;
  tuning.LoopInterleaving = options.full;
  llvm::PassInstrumentationCallbacks callbacks;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  if (options.guarded) guard_passes(callbacks, functions);
  callbacks.registerBeforeNonSkippedPassCallback([&](llvm::StringRef, const llvm::Any& unit) {
    if (const llvm::Function* const function = function_of(unit)) note(function->getName());
  });
  llvm::PassBuilder builder(&machine, tuning, std::nullopt, &callbacks);
  if (options.guarded) guard_vectorizer(builder);
  // No vector library: one function that its table lacks would make the whole loop scalar.
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(llvm::TargetLibraryInfoImpl(machine.getTargetTriple())); });
  keep_order_of_accesses(builder);
  describe_vector_loops(builder);
  part_rare_arguments(builder);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(options.full ? llvm::OptimizationLevel::O3 : llvm::OptimizationLevel::O1).run(module, modules);
}

/// What TargetMachine::addPassesToEmitFile does, but for a pass of ours behind instruction selection where one is wanted.
bool add_code_generator(llvm::LLVMTargetMachine& machine, llvm::legacy::PassManager& passes, llvm::raw_pwrite_stream& object, Unsound* found) {
  auto* functions = new llvm::MachineModuleInfoWrapperPass(&machine);
  llvm::TargetPassConfig* config = machine.createPassConfig(passes);
  if (found) guard_selection(*config, *found);
  passes.add(config);
  passes.add(functions);
  if (config->addISelPasses()) return false;
  config->addMachinePasses();
  config->setInitialized();
  if (machine.addAsmPrinter(passes, object, nullptr, llvm::CodeGenFileType::ObjectFile, functions->getMMI().getContext())) return false;
  passes.add(llvm::createFreeMachineFunctionPass());
  return true;
}

bool is_too_large(llvm::Type* type) {
  if (const auto* integer = llvm::dyn_cast<llvm::IntegerType>(type)) return integer->getBitWidth() > 256;
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  if (!vector) return false;
  return vector->getNumElements() > 4096 || type->getPrimitiveSizeInBits().getFixedValue() > 8 * 4096;
}

}  // namespace

bool check_types(const llvm::Module& module, std::string& error) {
  for (const llvm::Function& function : module) {
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      bool too_large = is_too_large(instruction.getType());
      for (const llvm::Use& operand : instruction.operands()) too_large |= is_too_large(operand->getType());
      if (!too_large) continue;
      const std::string place = user_place(instruction);
      error += (place.empty() ? "" : place + ": ") + "error: a vector of more than 4096 bytes, or an integer of more than 256 bits, is not supported\n";
      return false;
    }
  }
  return true;
}

Generated generate_object(llvm::Module& module, const std::vector<KernelInfo>& kernels, const Target& target, const Options& options, const Progress& progress) {
  Generated generated;
  const auto machine = make_machine(target, options.full, generated.error);
  if (!machine) return generated;
  module.setDataLayout(machine->createDataLayout());
  if (options.guarded) set_target(module, target, options.without_avx512);
  optimize(module, *machine, options, [&](llvm::StringRef function) { progress.at_function(function, kernels); });
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (!add_code_generator(*machine, passes, stream, options.guarded && target.has_avx512() ? &generated.found : nullptr)) {
    generated.error = "the code generator cannot write an object file";
    return generated;
  }
  passes.run(module);
  generated.ok = true;
  generated.object.assign(bytes.begin(), bytes.end());
  return generated;
}

}  // namespace damo::clang_plugin
