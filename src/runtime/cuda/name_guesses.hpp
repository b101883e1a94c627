// NameGuesses: the names that NVRTC is asked about beside those that the caller gave: kernels and variables that the
// source seems to declare, and of each kernel its parameter types. A wrong guess is an error of the compile, so the log
// of one tells which guesses to take back before the next; a kernel whose name others have is then asked for by its type. See tests/runtime/cuda/signatures_nvrtc_test.cpp.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "runtime/backend.hpp"
#include "runtime/cuda/code_container.hpp"
#include "runtime/kernel/kernel_scan.hpp"

namespace damo::cuda_backend {

class NameGuesses {
 public:
  explicit NameGuesses(const CompileRequest& request);

  /// All that the compiler should be asked, as name expressions.
  std::vector<std::string> expressions() const;
  /// Whether the log blames guesses: those are dropped; all of them if it names none.
  bool drop_blamed(const std::string& log);
  /// What the compiler answered. lowered_name: of an expression that was asked.
  std::map<std::string, CodeName> answers(const std::function<std::string(const std::string&)>& lowered_name) const;

 private:
  struct Name {
    std::string name;
    bool is_kernel;
    bool is_given;    ///< by the caller: never dropped
    bool has_types;   ///< its signature is asked too
    std::string alone = {};   ///< where only a cast tells the kernel from other functions: its plain name
    std::string shared = {};  ///< where other kernels have its name too: that name
  };
  void add(const std::string& name, bool is_kernel, bool is_given);

  /// Casts to the types as written of the kernels of a name, which the compiler may understand where it is so.
  void add_casts(const std::string& name);

  std::vector<Name> names_;
  std::vector<ScannedKernel> kernels_;  ///< that the source seems to define
};

}  // namespace damo::cuda_backend
