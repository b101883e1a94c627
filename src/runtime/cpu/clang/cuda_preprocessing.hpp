// What nvcc's preprocessing gives and Clang's does not: alignas behind a variable's memory space, and headers of the host
// that are not there (<unistd.h>): nothing is included, and a warning says so.
#pragma once

namespace clang {
class Preprocessor;
}

namespace damo::clang_plugin {

void add_cuda_preprocessing(clang::Preprocessor& preprocessor);

}  // namespace damo::clang_plugin
