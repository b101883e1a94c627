// Variables of the device: __device__ and __constant__ ones become ordinary globals, __shared__ ones places in the
// worker's shared memory (LaunchFrame::shared).
#pragma once
#include <string>
#include <vector>

#include "kernels.hpp"

namespace llvm {
class Module;
}

namespace damo::clang_plugin {

constexpr unsigned kSharedSpace = 9;  ///< of __shared__ variables, in Clang's fake address space map

/// They keep their names, so that the host can find them.
bool flatten_device_variables(llvm::Module& module, std::string& error);

/// Gives every __shared__ variable its offset, and every kernel its bytes of them. Memory asked for at the launch
/// (extern __shared__) follows, 64-aligned. After inlining, before markers are lowered: thread functions take their
/// ThreadState as the second argument, entries their LaunchFrame. gap: bytes left between them, and behind the last, where
/// a checked kernel's wild index shall be found out.
bool place_shared_variables(llvm::Module& module, std::vector<KernelInfo>& kernels, unsigned gap, std::string& error);

}  // namespace damo::clang_plugin
