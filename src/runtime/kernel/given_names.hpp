// Names that a program gives and that generated CUDA C has: of kernels, of their parameters, of the members of a join. A name that no text can declare would be an error of
// the compiler in lines that nobody wrote, and on one back end alone where the other's macros differ; so it is refused where it is given.
#pragma once
#include <string>
#include <string_view>

namespace damo {

/// Letters, digits and _, of which the first is no digit.
bool is_identifier(std::string_view name);
/// Why generated text declares nothing of that name, parameter or member: "a word of C++"; empty where it may.
std::string why_no_name(std::string_view name);
/// With _ in the place of other characters; may begin with a digit.
std::string as_identifier(std::string name);
/// Of the function of a kernel that a program calls so: no keyword, and no function that CUDA has.
std::string kernel_name(std::string_view given);

}  // namespace damo
