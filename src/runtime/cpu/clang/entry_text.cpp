#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclTemplate.h>

#include "cuda_entries.hpp"

namespace damo::clang_plugin {
namespace {

/// The type of a kernel's parameter, in words that the entry can say. A function's name says it all, unless the prelude
/// has functions of that name too ("norm", "max"): then the type is spelled out, and the call picks the kernel by it.
std::string parameter_type(const std::string& kernel, const clang::FunctionDecl& function, unsigned index) {
  const auto found = function.getDeclContext()->getRedeclContext()->lookup(function.getDeclName());
  const bool overloaded = std::next(found.begin()) != found.end();
  if (!overloaded || function.getDescribedFunctionTemplate()) {
    return "damo::cuda::Parameter<" + std::to_string(index) + ", decltype(" + kernel + ")>";
  }
  clang::PrintingPolicy policy = function.getASTContext().getPrintingPolicy();
  policy.FullyQualifiedName = true;
  policy.PrintCanonicalTypes = true;
  return "damo::cuda::same<" + function.getParamDecl(index)->getType().getCanonicalType().getUnqualifiedType().getAsString(policy) + ">";
}

/// Arguments of the template that the name gives: "scale<float, 4>" has 2.
unsigned count_template_arguments(const std::string& kernel) {
  const size_t open = kernel.find('<');
  if (open == std::string::npos) return 0;
  unsigned count = 1;
  int depth = 0;
  for (const char c : kernel.substr(open)) {
    depth += (c == '<' || c == '(' || c == '{') - (c == '>' || c == ')' || c == '}');
    count += c == ',' && depth == 1 ? 1 : 0;
  }
  return count;
}

/// Parameters of a kernel. A pack at their end has one for each argument that the name gives the template's last one.
unsigned count_parameters(const std::string& kernel, const clang::FunctionDecl& function) {
  const unsigned written = function.getNumParams();
  const clang::FunctionTemplateDecl* pattern = function.getDescribedFunctionTemplate();
  if (!pattern || written == 0 || !function.getParamDecl(written - 1)->isParameterPack()) return written;
  const unsigned named = count_template_arguments(kernel), before = pattern->getTemplateParameters()->size() - 1;
  return written - 1 + (named > before ? named - before : 0);
}

}  // namespace

std::string entry_text(const KernelInfo& kernel, const clang::FunctionDecl& function) {
  std::string declarations, arguments;
  for (unsigned i = 0, count = count_parameters(kernel.name, function); i < count; ++i) {
    const std::string n = std::to_string(i), type = parameter_type(kernel.name, function, i);
    declarations += type + " p" + n + " = *static_cast<" + type + "*>(arguments[" + n + "]); ";
    arguments += (i ? ", p" : "p") + n;
  }
  const std::string head = "extern \"C\" __attribute__((device)) void ", call = kernel.name + "(" + arguments + ")";
  const std::string blocks = "(void* const* arguments, const damo::LaunchFrame* frame, long first, long last) { ";
  return head + kernel.thread + "(void* const* arguments, damo::cuda::ThreadState* state) { " + declarations + call + "; }\n" +
         head + kernel.entry + blocks + declarations + "__DAMO_RUN_BLOCKS(__DAMO_RUN_THREADS(" + call + ")) }\n" +
         head + kernel.blocks + blocks + "__DAMO_RUN_BLOCKS(" + kernel.thread + "(arguments, &state);) }\n";
}

}  // namespace damo::clang_plugin
