// CUDA C on the CPU, the part that needs the syntax tree: finds the __global__ functions, names what is not supported
// at the user's line, and appends for each kernel the function that runs it over blocks and threads.
// How: trailer() ends the text with a pragma. When the parser reaches it every kernel is known, and the names that are wanted
// are parsed as one more file, then the entries as another, so that overloads, templates and by-value structs are Clang's business.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "kernels.hpp"

namespace clang {
class ASTConsumer;
class CompilerInstance;
class FunctionDecl;
class Preprocessor;
}  // namespace clang

namespace damo::clang_plugin {

class CudaEntries {
 public:
  /// wanted empty: every __global__ function that is no template. found is filled while the compiler runs.
  CudaEntries(std::vector<std::string> wanted, std::vector<KernelInfo>& found);

  /// Goes after the user's text.
  static const char* trailer();

  std::unique_ptr<clang::ASTConsumer> make_consumer(clang::CompilerInstance& compiler);

 private:
  class Consumer;
  struct Kernel {
    clang::FunctionDecl* function;
    std::string name;
    bool is_template;
  };
  /// A kernel that is to be found, by the name under which and the expression by which it is.
  struct Choice {
    std::string name, expression;
    const clang::FunctionDecl* function;  ///< null where only the expression tells
  };
  void add_kernel(clang::FunctionDecl* function, bool is_template);
  void add_instances(const Kernel& kernel);
  std::string cast_to(const clang::FunctionDecl& function) const;
  std::string candidate(const Kernel& kernel, const std::string& name) const;
  void choose_wanted(const std::string& name);
  void choose();
  void make_callable();
  /// Whether functions declared from here on are for host and device, unmarked ones above all.
  void mark_for_both(bool marks);
  /// The parser reads the text next.
  void enter(const std::string& text);
  void enter_names();
  const clang::FunctionDecl* found_kernel(std::size_t number) const;
  void enter_entries();
  void explain_names();

  std::vector<std::string> wanted_;
  std::vector<KernelInfo>& found_;
  std::vector<Kernel> kernels_;
  std::vector<Choice> choices_;
  bool marks_for_both_ = true;
  clang::CompilerInstance* compiler_ = nullptr;
};

/// Three functions a kernel, of which lowering keeps those that its form needs: one thread; the threads of blocks in
/// loops; and blocks of a function that stands for all threads of a block. Loops are the macros' (cuda_c.h). pointer: a constant that
/// points to the kernel.
std::string entry_text(const KernelInfo& kernel, const std::string& pointer);

/// What nvcc's preprocessing gives and Clang's does not: alignas behind a variable's memory space, and headers of the host that are
/// not there (<unistd.h>): nothing is included, and a warning says so. The user's macros mean nothing within the prelude's headers.
/// (cuda_preprocessing.cpp)
void add_cuda_preprocessing(clang::Preprocessor& preprocessor);

/// For what is read behind the user's text, which has ordinary names too. (cuda_preprocessing.cpp)
void forget_users_macros(clang::Preprocessor& preprocessor);

/// Looks at what functions hold, before code is generated for them: refuses what can't run here, at the user's line. A variable in
/// __shared__ memory may be of a class whose constructor does something, as NVRTC has it: the constructor must be one that
/// can be called, and is not, about which a warning is given; the storage is left as it is. (device_code.cpp)
std::unique_ptr<clang::ASTConsumer> make_device_code_consumer(clang::CompilerInstance& compiler);
/// Makes the attribute known that __shared__ brings (cuda_c.h). Before the process's first text.
void register_shared_attribute();

}  // namespace damo::clang_plugin
