// Files of CUDA C hold the program around their kernels too: main, functions that launch, buffers, checks of errors.
// None of that is compiled here. A text that does not compile as it stands, and that has such code, is tried again
// without the declarations that the errors are in, as long as these are not marked as code of the device; "#include"s
// of headers that are not there go the same way. Lines and columns stay as they were. See
// tests/runtime/kernel/host_code_test.cpp.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/backend.hpp"

namespace damo {

/// A declaration of a text, outside of functions and classes.
struct Declaration {
  std::size_t begin = 0, end = 0;  ///< in the text
  bool is_device = false;          ///< something in it is marked __global__, __device__, __constant__, ...
  std::vector<std::string> names;  ///< that it declares, as far as can be told without a compiler
};

/// In the order of the text; what stands in namespaces too.
std::vector<Declaration> declarations(std::string_view source);

/// Blank where "template __global__ void scale<float>(float*);" stood: Clang takes no such instance of a function that
/// may run anywhere, and kernels are instantiated by their names.
std::string without_kernel_instances(std::string source);

/// compile(request), and if that fails as described above. What was passed over is in the code's log. Throws the first
/// CompileError if kernels need what was passed over, else one of what is wrong with the rest.
CompiledCode compile_past_host_code(const CompileRequest& request,
                                    const std::function<CompiledCode(const CompileRequest&)>& compile);

}  // namespace damo
