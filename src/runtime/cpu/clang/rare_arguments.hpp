// Functions whose rare arguments are a matter of their own (prelude/math_rare.h): a call says which way holds, and stays a call until loops
// are vectors, since the vectoriser takes no branch but by computing both sides. It gets forms of the call for vectors of any width. Behind it
// each call becomes a branch, which is taken where any element is rare.
// Needs nothing: rare() changes those elements alone that the call was told are rare, so an element's value depends on its own argument.
#pragma once

namespace llvm {
class PassBuilder;
}  // namespace llvm

namespace damo::clang_plugin {

void part_rare_arguments(llvm::PassBuilder& builder);

}  // namespace damo::clang_plugin
