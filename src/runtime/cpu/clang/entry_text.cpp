#include "cuda_entries.hpp"

namespace damo::clang_plugin {

std::string entry_text(const KernelInfo& kernel, const std::string& pointer) {
  std::string declarations, types, arguments;
  for (std::size_t i = 0; i < kernel.parameter_types.size(); ++i) {
    const std::string n = std::to_string(i), type = "T" + n, argument = "damo::cuda::Argument<" + type + (kernel.by_address[i] ? ", true>" : ", false>");
    declarations += "using " + type + " = decltype(damo::cuda::parameter<" + n + ">(" + pointer + ")); ";
    declarations += argument + "::Held p" + n + " = " + argument + "::at(arguments[" + n + "]); ";
    types += (i ? ", " : "") + argument + "::Passed";
    arguments += (i ? ", " : "") + argument + "::pass(p" + n + ")";
  }
  const std::string head = "extern \"C\" __attribute__((device)) void ", call = "((void (*)(" + types + "))" + pointer + ")(" + arguments + ")";
  const std::string blocks = "(void* const* arguments, const damo::LaunchFrame* frame, long first, long last) { ";
  return head + kernel.thread + "(void* const* arguments, damo::cuda::ThreadState* state) { " + declarations + call + "; }\n" +
         head + kernel.entry + blocks + declarations + "__DAMO_RUN_BLOCKS(__DAMO_RUN_THREADS(" + call + ")) }\n" +
         head + kernel.blocks + blocks + "__DAMO_RUN_BLOCKS(__DAMO_RUN_ROWS(" + kernel.thread + "(arguments, &state))) }\n";
}

}  // namespace damo::clang_plugin
