#include "plugin.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "compile.hpp"
#include "locate.hpp"
#include "prelude_digest.hpp"

#define DAMO_EXPORT __attribute__((visibility("default")))

namespace {

char* copy_text(const std::string& text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

}  // namespace

extern "C" {

DAMO_EXPORT void damo_clang_compile(const damo_clang_request* request, damo_clang_result* result) {
  damo::clang_plugin::Output output = damo::clang_plugin::compile(*request, {result->at, sizeof result->at});
  result->ok = output.ok ? 1 : output.is_broken ? -1 : 0;
  result->object = copy_text(output.object);
  result->object_bytes = output.object.size();
  result->log = copy_text(output.log);
  result->signatures = copy_text(output.signatures);
}

DAMO_EXPORT void damo_clang_release(damo_clang_result* result) {
  std::free(result->object);
  std::free(result->log);
  std::free(result->signatures);
  *result = damo_clang_result{};
}

DAMO_EXPORT void damo_clang_locate(const char* object, size_t object_bytes, size_t section, unsigned long long offset, char* place,
                                   size_t place_bytes) {
  const std::string text = damo::clang_plugin::locate({object, object_bytes}, section, offset);
  std::snprintf(place, place_bytes, "%s", text.c_str());
}

DAMO_EXPORT const char* damo_clang_version(void) { return "clang " DAMO_LLVM_VERSION " prelude " DAMO_PRELUDE_DIGEST; }

}  // extern "C"
