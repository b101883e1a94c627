#include "target.hpp"

#include <llvm/ADT/StringMap.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>

namespace damo::clang_plugin {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

Target detect_host() {
  Target host;
  host.cpu = llvm::sys::getHostCPUName().str();
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
    host.features.push_back((feature.second ? "+" : "-") + feature.first().str());
  }
  std::sort(host.features.begin(), host.features.end());
  return host;
}

}  // namespace

std::string Target::feature_string() const {
  std::string text;
  for (const std::string& feature : features) text += (text.empty() ? "" : ",") + feature;
  return text;
}

bool Target::has(const char* feature) const {
  return std::find(features.begin(), features.end(), std::string("+") + feature) != features.end();
}

Target resolve_target(const char* cpu, const char* features) {
  static const Target host = detect_host();
  Target target = host;
  // A CPU named without features means that CPU's own, not a mixture with the host's.
  if (cpu) target = Target{cpu, {}};
  if (features) target.features = split(features);
  return target;
}

void initialize_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    // What it can't go on from it ends by abort(), which the runtime catches; else by exit() in some cases.
    llvm::install_fatal_error_handler([](void*, const char*, bool) { std::abort(); });
  });
}

}  // namespace damo::clang_plugin
