#include "lowering_steps.hpp"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/Support/MathExtras.h>

#include "locate.hpp"

namespace damo::clang_plugin {
namespace {

/// The mirror of CheckBits.
enum Bits : unsigned { kRead = 1, kWrite = 2, kCopy = 4, kShared = 8, kDynamic = 16, kLocal = 32, kAlignment = 8 };

struct Access {
  llvm::Instruction* instruction;
  llvm::Value* address;
  llvm::Value* bytes;
  unsigned bits;
};

unsigned alignment_bits(llvm::MaybeAlign alignment) { return llvm::Log2(alignment.valueOrOne()) << kAlignment; }

/// "_ZZ1kPfE4tile" -> "tile".
std::string plain_name(llvm::StringRef symbol) {
  const std::string full = llvm::demangle(symbol);
  const size_t colon = full.rfind("::");
  return colon == std::string::npos ? full : full.substr(colon + 2);
}

class Instrumenter {
 public:
  explicit Instrumenter(llvm::Module& module) : module_(module), data_(module.getDataLayout()) {
    llvm::LLVMContext& context = module.getContext();
    llvm::Type* const none = llvm::Type::getVoidTy(context);
    llvm::Type* const pointer = llvm::PointerType::get(context, 0);
    wide_ = llvm::Type::getInt64Ty(context);
    llvm::Type* const word = llvm::Type::getInt32Ty(context);
    object_ = module.getOrInsertFunction("damo_check_object", none, pointer, pointer, pointer, wide_, pointer, wide_, word);
    memory_ = module.getOrInsertFunction("damo_check_memory", none, pointer, pointer, wide_, word);
    local_ = module.getOrInsertFunction("damo_check_local", none, pointer, pointer, wide_, word);
  }

  void instrument(llvm::Function& function) {
    std::vector<Access> accesses;
    for (llvm::Instruction& instruction : llvm::instructions(function)) collect(instruction, accesses);
    for (const Access& access : accesses) check(access);
    name_locals(function);
  }

 private:
  llvm::Value* constant(std::uint64_t value) { return llvm::ConstantInt::get(wide_, value); }

  void collect(llvm::Instruction& instruction, std::vector<Access>& accesses) {
    const auto add = [&](llvm::Value* address, llvm::Type* type, llvm::MaybeAlign alignment, unsigned bits) {
      accesses.push_back({&instruction, address, constant(data_.getTypeStoreSize(type)), bits | alignment_bits(alignment)});
    };
    if (llvm::Value* const address = llvm::getLoadStorePointerOperand(&instruction)) {
      add(address, llvm::getLoadStoreType(&instruction), llvm::getLoadStoreAlignment(&instruction), llvm::isa<llvm::LoadInst>(instruction) ? kRead : kWrite);
    } else if (auto* change = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
      add(change->getPointerOperand(), change->getType(), change->getAlign(), kRead | kWrite);
    } else if (auto* swap = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
      add(swap->getPointerOperand(), swap->getNewValOperand()->getType(), swap->getAlign(), kRead | kWrite);
    } else if (auto* fill = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction)) {
      if (auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(fill)) {
        accesses.push_back({copy, copy->getRawSource(), copy->getLength(), kRead | kCopy | alignment_bits(copy->getSourceAlign())});
      }
      accesses.push_back({fill, fill->getRawDest(), fill->getLength(), kWrite | alignment_bits(fill->getDestAlign())});
    }
  }

  /// A place in a local array or a variable that is known, and known to be in it.
  bool is_plainly_right(const Access& access, const llvm::Value* object, std::uint64_t object_bytes) const {
    const auto* bytes = llvm::dyn_cast<llvm::ConstantInt>(access.bytes);
    llvm::APInt offset(data_.getIndexTypeSizeInBits(access.address->getType()), 0);
    const llvm::Value* base = access.address->stripAndAccumulateConstantOffsets(data_, offset, /*AllowNonInbounds=*/true);
    if (!bytes || base != object || offset.isNegative()) return false;
    return offset.getZExtValue() + bytes->getZExtValue() <= object_bytes;
  }

  void check(const Access& access) {
    const std::string place = user_place(*access.instruction);
    if (place.empty()) return;  // the prelude's own: the entry reads its arguments
    llvm::Value* const object = const_cast<llvm::Value*>(llvm::getUnderlyingObject(access.address, 0));
    if (auto* local = llvm::dyn_cast<llvm::AllocaInst>(object)) {
      const auto size = local->getAllocationSize(data_);
      if (!size) return check_memory(access, place);
      if (is_plainly_right(access, local, size->getFixedValue())) return;
      check_object(access, place, local->getName(), local, size->getFixedValue(), kLocal);
    } else if (auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(object)) {
      check_variable(access, place, *variable);
    } else {
      check_memory(access, place);
    }
  }

  void check_variable(const Access& access, const std::string& place, llvm::GlobalVariable& variable) {
    const std::uint64_t bytes = data_.getTypeAllocSize(variable.getValueType());
    if (variable.getSection() == kSharedSection) {
      const unsigned dynamic = variable.isDeclaration() ? unsigned{kDynamic} : 0;
      return check_object(access, place, plain_name(variable.getName()), &variable, bytes, kShared | dynamic);
    }
    if (!is_plainly_right(access, &variable, bytes)) check_object(access, place, plain_name(variable.getName()), &variable, bytes, 0);
  }

  void check_object(const Access& access, const std::string& place, llvm::StringRef name, llvm::Value* object, std::uint64_t bytes, unsigned bits) {
    llvm::IRBuilder<> builder(access.instruction);
    const llvm::StringRef plain = name.split('.').first;  // as inlining leaves it: "row.i.i"
    builder.CreateCall(object_, {builder.CreateGlobalString(place), builder.CreateGlobalString(plain), object, constant(bytes), access.address,
                                 builder.CreateZExtOrTrunc(access.bytes, wide_), builder.getInt32(access.bits | bits)});
  }

  void check_memory(const Access& access, const std::string& place) {
    llvm::IRBuilder<> builder(access.instruction);
    builder.CreateCall(memory_, {builder.CreateGlobalString(place), access.address, builder.CreateZExtOrTrunc(access.bytes, wide_), builder.getInt32(access.bits)});
  }

  /// For accesses through pointers that may be to one of several objects.
  void name_locals(llvm::Function& function) {
    const bool is_thread = function.getName().starts_with("__damo_thread_");
    std::vector<llvm::AllocaInst*> locals;
    for (llvm::Instruction& instruction : function.getEntryBlock()) {
      auto* local = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
      if (local && local->getAllocationSize(data_)) locals.push_back(local);
    }
    if (locals.empty()) return;
    llvm::IRBuilder<> builder(&*function.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
    if (llvm::DISubprogram* lines = function.getSubprogram()) builder.SetCurrentDebugLocation(llvm::DILocation::get(module_.getContext(), 0, 0, lines));
    for (llvm::AllocaInst* local : locals) {
      builder.CreateCall(local_, {builder.CreateGlobalString(local->getName().split('.').first), local,
                                  constant(local->getAllocationSize(data_)->getFixedValue()), builder.getInt32(is_thread)});
    }
  }

  llvm::Module& module_;
  const llvm::DataLayout& data_;
  llvm::Type* wide_;
  llvm::FunctionCallee object_, memory_, local_;
};

}  // namespace

void check_memory(llvm::Module& module) {
  Instrumenter instrumenter(module);
  for (llvm::Function& function : module) {
    if (!function.isDeclaration() && !function.getName().starts_with("__damo_blocks_")) instrumenter.instrument(function);
  }
}

std::string check_table(const std::vector<KernelInfo>& kernels) {
  std::string text;
  for (const KernelInfo& kernel : kernels) {
    const auto variables = llvm::map_range(kernel.shared_variables, [](const SharedVariable& variable) {
      return plain_name(variable.symbol) + ":" + std::to_string(variable.offset) + ":" + std::to_string(variable.bytes);
    });
    text += kernel.name + "\t" + llvm::join(kernel.parameter_names, ",") + "\t" + llvm::join(variables, ",") + "\n";
  }
  return text;
}

}  // namespace damo::clang_plugin
