// The text that stands before every kernel for NVRTC, embedded when Damo was built: NVRTC searches no headers.
// Sources: src/runtime/cuda/prelude/*.h and, for generated kernels, src/runtime/kernel/prelude/*.h.
#pragma once
#include <string>
#include <string_view>

namespace damo::cuda_backend {

struct PreludeFile {
  const char* name;
  const char* text;
};

/// Ends with a null name.
extern const PreludeFile prelude_files[];

/// core.h, math.h, then the kernel layer's files in order of name, without comments; random.h only for a text that names something of it. Of generated
/// kernels.
const std::string& generated_prelude(std::string_view source);

/// What nvcc declares without an include and NVRTC does not. Of a user's CUDA C.
const std::string& cuda_c_prelude();

/// Of all the files and of the sources that choose NVRTC's options: part of every cache key.
const char* prelude_digest();

}  // namespace damo::cuda_backend
