// Runs random programs: in each form on the CPU, and on a GPU.
#pragma once
#include <string>
#include <vector>

#include "runtime/cpu/random_kernels/program.hpp"

namespace damo::random_kernels {

/// What became of a program.
struct Outcome {
  std::string problem;  ///< "" if it ran: else what the compiler or the launch said
  std::uint64_t hash = 0;
};

/// The flag that asks the compiler for a form: "" for the default, "--damo-coroutines", "--damo-reference".
inline const std::vector<std::string> kForms = {"", "--damo-coroutines", "--damo-reference"};
inline const char* name_of_form(const std::string& flag) { return flag.empty() ? "default" : flag.c_str() + 7; }

/// Runs program on arrays, which it changes.
std::string run_on_cpu(const Program& program, const std::string& form, Arrays& arrays);
std::string run_on_gpu(const Program& program, Arrays& arrays);

/// Holds the forms against the last of them, the reference. What differs and where; empty if all agree.
std::string compare_forms(const Program& program, const std::vector<std::string>& forms);

}  // namespace damo::random_kernels
