// LLVM module -> optimised machine code, as the bytes of an ELF relocatable object.
#pragma once
#include "kernels.hpp"
#include "miscompilations.hpp"
#include "target.hpp"

namespace damo::clang_plugin {

struct Generated {
  bool ok = false;
  std::string object, error;
  Unsound found;  ///< if any, the object is not to be used: these are to do without AVX-512
};

struct Options {
  bool full = true;     ///< the optimiser's O3; else its O1, without vectors
  bool guarded = true;  ///< LLVM's miscompilations are kept out
  bool slp = true;      ///< statements side by side become vectors
  Unsound without_avx512 = {};  ///< functions that were found to be so before
};

/// False, with an error text, if some value is of a type for which code generation takes hours: an integer of more than 256 bits or a
/// vector of more than 4096 bytes. Clang's language has both; no GPU compiler does. Before anything else is done with module.
bool check_types(const llvm::Module& module, std::string& error);

/// Puts in front of the vectoriser what says how wide loops over float16 are to be, and that loops over a reduction's partial values
/// may be unrolled once they are vectors (vector_loops.cpp).
void describe_vector_loops(llvm::PassBuilder& builder);
/// Makes vectors of functions whose rare arguments are a matter of their own (rare_arguments.cpp).
void part_rare_arguments(llvm::PassBuilder& builder);

/// Runs the optimiser's pipeline and the code generator, noting in progress which of the kernels is at work.
Generated generate_object(llvm::Module& module, const std::vector<KernelInfo>& kernels, const Target& target, const Options& options, const Progress& progress);

}  // namespace damo::clang_plugin
