// What stands before the text of a generated kernel in which a user's CUDA C stands, in place of the prelude: such a text is compiled as CUDA C on
// every back end, headers and all. The generated part has a namespace of its own, which the text must close before the kernel, and
// undefines macros of one letter, so that a user's names may be any: what he wrote stands before it, in functions that it calls.
#pragma once
#include <string>

#include "runtime/kernel/spec.hpp"

namespace damo {

/// Of a spec with users_text.
std::string users_head(const KernelSpec& spec);

}  // namespace damo
