#include "target.hpp"

#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/X86TargetParser.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <utility>

namespace damo::clang_plugin {
namespace {

Target detect_host() {
  Target host;
  host.cpu = llvm::sys::getHostCPUName().str();
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
    host.features.push_back((feature.second ? "+" : "-") + feature.first().str());
  }
  std::sort(host.features.begin(), host.features.end());
  return host;
}

/// What a CPU's name stands for, said in full: code that asks for a feature need not know what names imply.
Target named(const std::string& cpu) {
  llvm::SmallVector<llvm::StringRef, 64> features;
  if (llvm::X86::parseArchX86(cpu) != llvm::X86::CK_None) llvm::X86::getFeaturesForCPU(cpu, features);
  Target target{cpu, {}};
  for (const llvm::StringRef feature : features) target.features.push_back("+" + feature.str());
  std::sort(target.features.begin(), target.features.end());
  return target;
}

/// Turns off each feature that is_gone says, and `root`, which the CPU's name may imply. AVX10 implies all of AVX-512.
template <class Predicate>
Target without(Target target, const char* root, Predicate is_gone) {
  for (std::string& feature : target.features) {
    const std::string_view name = std::string_view(feature).substr(1);
    if (is_gone(name) || name.starts_with("avx10.")) feature[0] = '-';
  }
  target.features.push_back(std::string("-") + root);
  return target;
}

}  // namespace

Target Target::without_avx512() const {
  return without(*this, "avx512f", [](std::string_view name) { return name.starts_with("avx512") || name == "evex512"; });
}

std::string Target::feature_string() const { return llvm::join(features, ","); }

bool Target::has_avx512() const {
  return std::any_of(features.begin(), features.end(), [](const std::string& feature) { return feature.starts_with("+avx512"); });
}

Target resolve_target(const char* cpu, const char* features, bool guarded) {
  static const Target host = detect_host();
  // A CPU named without features means that CPU's own, not a mixture with the host's.
  Target target = cpu ? named(cpu) : host;
  if (features) {
    llvm::SmallVector<llvm::StringRef> parts;
    llvm::StringRef(features).split(parts, ',', -1, /*KeepEmpty=*/false);
    target.features.assign(parts.begin(), parts.end());
  }
  return guarded ? without(std::move(target), "avx512fp16", [](std::string_view name) { return name == "avx512fp16"; }) : target;
}

void initialize_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
    // Of a loop's index loop strength reduction tries sums in all groupings: minutes for the 40 parts that an unrolled recurrence has (v = 3 * v + c[k]).
    // A sum of more than so many is left as it stands, in all of LLVM.
    if (llvm::cl::Option* const most = llvm::cl::getRegisteredOptions().lookup("scalar-evolution-huge-expr-threshold")) most->addOccurrence(0, "", "128");
    // What it can't go on from it ends by abort(), which the runtime catches; else by exit() in some cases.
    llvm::install_fatal_error_handler([](void*, const char*, bool) { std::abort(); });
  });
}

}  // namespace damo::clang_plugin
