#include "runtime/library/dynamic_library.hpp"

#include <dlfcn.h>

#include <utility>

namespace damo {

DynamicLibrary::DynamicLibrary(std::string file) : file_(std::move(file)), handle_(dlopen(file_.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_) return;
  const char* said = dlerror();
  std::string reason = said ? said : "no reason given";
  if (reason.starts_with(file_ + ": ")) reason.erase(0, file_.size() + 2);
  problem_ = file_ + " cannot be opened: " + reason;
}

void* DynamicLibrary::address_of(const std::string& name, bool is_required) {
  void* address = handle_ ? dlsym(handle_, name.c_str()) : nullptr;
  if (!address && is_required && missing_.empty()) {
    missing_ = name;
    if (problem_.empty()) problem_ = file_ + " has no " + name;
  }
  return address;
}

void DynamicLibrary::reject() {
  if (handle_) dlclose(handle_);
  handle_ = nullptr;
}

}  // namespace damo
