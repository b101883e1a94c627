#include "runtime/exec/nvtx.hpp"

#include "runtime/library/dynamic_library.hpp"

namespace damo::nvtx {
namespace {

struct Library {
  int (*push)(const char*) = nullptr;
  int (*pop)() = nullptr;

  Library() {
    for (const char* name : {"libnvToolsExt.so.1", "libnvToolsExt.so"}) {
      DynamicLibrary opened(name);
      if (opened.find_optional("nvtxRangePushA", push) && opened.find_optional("nvtxRangePop", pop)) return;
    }
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
