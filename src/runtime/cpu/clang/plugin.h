// The border between Damo and its compiler plugin (libdamo_clang): plain C, so that LLVM's types and
// symbols stay inside. Opened by the first compile on the CPU; a kernel found in the cache never opens it.
#pragma once
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum damo_clang_language {
  DAMO_CLANG_LOOPS = 0,  // generated plain C++ on the prelude: each kernel is already a KernelEntry
  DAMO_CLANG_CUDA_C = 1  // a user's CUDA C: __global__ functions become KernelEntry functions
};

struct damo_clang_request {
  const char* source;        // text, not terminated by its length alone: see source_bytes
  size_t source_bytes;
  const char* file_name;     // used in diagnostics
  int language;              // damo_clang_language
  // CUDA C: names of the kernels wanted, null terminated; null = every __global__ function that is no template.
  // A name is an expression at the end of the text: "scale", "ns::scale", "scale<float, 4>". "*" among them stands for
  // every function that is no template.
  const char* const* kernels;
  const char* const* flags;  // extra Clang flags (-D, -I, -std=), null terminated; may be null. The plugin's own:
                             // --damo-coroutines and --damo-reference, forms of kernels (lower_cuda.hpp); --damo-unguarded, LLVM's
                             // known miscompilations are not kept out: for tests of what keeps them out
  const char* const* files;  // CUDA C: texts that stand for files on the disk: path, text, path, text, null; may be null
  const char* cpu;           // LLVM CPU name, e.g. "znver4"; null = this host
  const char* features;      // LLVM feature string, e.g. "+avx2,+fma"; null = this host's
};

struct damo_clang_result {
  int ok;              // 1; 0: the text has errors, see log; -1: it can't be compiled in this form, log says why
  char* object;        // ELF relocatable object, position independent; when ok
  size_t object_bytes;
  char* log;           // warnings, or the errors with the user's own line and column; may be empty
  // What the plugin works on behind the front end, "kernel 'k' (user.cu:12)": stays when it faults. Set while it works.
  char at[256];
};

// Compiles request into result. Thread-safe. The result is released with damo_clang_release.
void damo_clang_compile(const struct damo_clang_request*, struct damo_clang_result*);
void damo_clang_release(struct damo_clang_result*);
// Writes "user.cu:3:7", or "near user.cu:3:7", to place: where in the user's text the code at an offset of a section comes from, by the object's
// line tables; an empty text if they do not tell.
void damo_clang_locate(const char* object, size_t object_bytes, size_t section, unsigned long long offset, char* place, size_t place_bytes);
// "clang 19.1.7 prelude 0123456789abcdef": part of every cache key; also valid before any compile.
const char* damo_clang_version(void);

#ifdef __cplusplus
}
#endif
