// Files of CUDA C hold the program around their kernels too: main, functions that launch, buffers, checks of errors; and
// they include more of it. None of that is compiled here. A text that does not compile as it stands is tried again
// without the declarations that the errors are in, in the text itself if it has such code and in files that it includes, as
// long as these are not marked as code of the device; of a class without the bodies of the member functions that they are in, or without the
// whole function, unless the compiler would put another in its place (constructors, destructors, assignments, overrides). "#include"s of headers that are not there go the same way. So do
// names of the prelude's that the source gives another meaning ("typedef long long ssize_t;"): the prelude leaves them
// out. Lines and columns stay as they were. See tests/runtime/kernel/host_code_test.cpp.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/backend.hpp"

namespace damo {

/// A declaration of a text, outside of functions and classes; or of the text between a class's braces.
struct Declaration {
  std::size_t begin = 0, end = 0;  ///< in the text
  bool is_device = false;          ///< something in it is marked __global__, __device__, __constant__, ...
  bool is_function = false;
  std::size_t body = 0;  ///< of a function's definition, where its body begins, or the initialisers of a constructor's; else 0
  std::vector<std::string> names;  ///< that it declares, as far as can be told without a compiler
  std::string class_name;          ///< of the definition of a class, whose members stand from members_begin to members_end
  std::size_t members_begin = 0, members_end = 0;
};

/// In the order of the text; what stands in namespaces too.
std::vector<Declaration> declarations(std::string_view source);

/// Blank where "template float square<float>(float);" stood: Clang takes no such instance of a function that may run
/// anywhere, and instances are made where they are called. Those of kernels stay.
std::string without_function_instances(std::string source);

/// How a source is compiled otherwise than it is written.
struct SourceEdits {
  std::map<std::string, std::string> files;  ///< included files, by their paths, without the host code in them
  std::set<std::string> own_types;           ///< names that the prelude leaves out, as the source has others
};
/// The macro that makes a prelude leave the name out.
inline std::string own_type_macro(const std::string& name) { return "__DAMO_OWN_" + name; }

/// compile(request), and if that fails as described above. What was left out is in the code's log, or in that of the
/// CompileError that is thrown if kernels need it, or if the rest is wrong too: each declaration with its line and why.
CompiledCode compile_past_host_code(const CompileRequest& request,
                                    const std::function<CompiledCode(const CompileRequest&, const SourceEdits&)>& compile);

}  // namespace damo
