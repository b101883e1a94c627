// Compiles and runs random programs: in each form on the CPU, and on a GPU. Several stand in one text, as kernels k0, k1, ...:
// a compile costs about as much for what it needs once as for a kernel.
#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/cpu/random_kernels/program.hpp"

namespace damo::random_kernels {

using Programs = std::span<const Program>;

/// "k" of one alone, "k3" of one of several.
std::string kernel_name(Programs programs, std::size_t at);
std::string source_of(Programs programs);

struct Finding {
  unsigned forms = 0;       ///< in which the program was compiled and run
  std::string kind = {};    ///< "" nothing, else "wrong", "crash", "refused", "invalid" (the reference form refuses or faults)
  std::string text = {};
};

/// Takes what was found of the program at a place, in their order, as soon as it is known.
using Tell = std::function<void(std::size_t, const Finding&)>;

/// Holds the default form and coroutines against the reference form; on_gpu: a GPU.
/// Programs whose text does not compile are compiled one by one.
void judge(Programs programs, bool on_gpu, const Tell& tell);

/// Opens the compiler and has its prelude precompiled, which the second compile does: processes forked behind it share both.
void warm_up();

}  // namespace damo::random_kernels
