#include "kernels.hpp"

namespace damo::clang_plugin {

std::string signatures(const std::vector<KernelInfo>& kernels) {
  std::string text;
  for (const KernelInfo& kernel : kernels) {
    std::string sizes;
    text += kernel.name + ": ";
    for (size_t i = 0; i < kernel.parameter_types.size(); ++i) {
      text += (i ? ", " : "") + kernel.parameter_types[i];
      sizes += (i ? "," : "") + std::to_string(kernel.parameter_bytes[i]);
    }
    text += "\t" + sizes + "\t" + std::to_string(kernel.shared_bytes) + "," + std::to_string(kernel.max_threads) + "\n";
  }
  return text;
}

}  // namespace damo::clang_plugin
