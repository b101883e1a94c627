// Loops over float16. Every processor with AVX2 converts eight binary16 to float and back in one instruction, but LLVM 19's
// cost tables know the instructions for four alone and take those for eight, and for four doubles, to be done element by
// element: the vectoriser then uses half, or a quarter, of each register. Here it is told the width.
// Needs nothing for the values: how many rounds go at once is the vectoriser's own choice, and whether any may is still its to
// find out. It is said only of loops that gain by it: innermost ones that convert, every access of which is done in each round and
// to a place beside the last round's. The rest is left to the tables.
#pragma once

namespace llvm {
class PassBuilder;
}

namespace damo::clang_plugin {

/// Goes in front of the vectoriser.
void widen_half_loops(llvm::PassBuilder& builder);

}  // namespace damo::clang_plugin
