#include "runtime/exec/nvtx.hpp"

#include <dlfcn.h>

namespace damo::nvtx {
namespace {

struct Library {
  int (*push)(const char*) = nullptr;
  int (*pop)() = nullptr;

  Library() {
    void* handle = nullptr;
    for (const char* name : {"libnvToolsExt.so.1", "libnvToolsExt.so"}) {
      if (!handle) handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    if (!handle) return;
    push = reinterpret_cast<int (*)(const char*)>(dlsym(handle, "nvtxRangePushA"));
    pop = reinterpret_cast<int (*)()>(dlsym(handle, "nvtxRangePop"));
  }
};

const Library& library() {
  static const Library opened;
  return opened;
}

}  // namespace

bool is_there() { return library().push && library().pop; }
void push(const char* name) { library().push(name); }
void pop() { library().pop(); }

}  // namespace damo::nvtx
