// A thread's place in its block as texts work it out: its number, threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z),
// its lane, number % 32, and its warp, number / 32. Named, they are something that a loop over threads can count.
#pragma once

namespace llvm {
class Function;
}

namespace damo::clang_plugin {

/// Where lanes are counted from: the row of threads that have y and z in common, those with z in common, or the block. In most
/// launches all three are one.
enum class Origin { kRow, kPlane, kBlock };

/// Replaces that arithmetic in function by markers (kPlace), and leaves one of each marker, at the beginning. Lanes are named from one origin, which is given back; other text stays.
Origin name_places(llvm::Function& function);

}  // namespace damo::clang_plugin
