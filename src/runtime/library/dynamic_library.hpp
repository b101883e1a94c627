// DynamicLibrary: a vendor's or the system's library, opened while the program runs, and its functions by their names. What goes wrong is noted
// with the names of library and function and asked for once, after all functions have been looked up. Never closed unless reject() says so:
// handles, threads and kernels of such a library live as long as the process. See tests/runtime/library/dynamic_library_test.cpp.
#pragma once
#include <string>

namespace damo {

class DynamicLibrary {
 public:
  /// file: a path, or a name that the loader looks up in its directories.
  explicit DynamicLibrary(std::string file);

  /// Looks one up that must be there; null, and in problem(), if it is not.
  template <class Function>
  void find(const std::string& name, Function*& function) {
    function = reinterpret_cast<Function*>(address_of(name, true));
  }
  /// Whether one is there that need not be; null if not.
  template <class Function>
  bool find_optional(const std::string& name, Function*& function) {
    function = reinterpret_cast<Function*>(address_of(name, false));
    return function != nullptr;
  }

  bool is_open() const { return handle_ != nullptr; }
  /// "libx.so cannot be opened: " and the loader's reason, or "libx.so has no f", the first function that was missing; empty if all is well.
  const std::string& problem() const { return problem_; }
  /// The first function that was missing; empty if none was.
  const std::string& missing() const { return missing_; }
  const std::string& file() const { return file_; }
  /// Closes one that was opened to look into it and is not taken. What was found in it must not be called any more.
  void reject();

 private:
  void* address_of(const std::string& name, bool is_required);

  std::string file_, problem_, missing_;
  void* handle_;
};

}  // namespace damo
