// The steps of lower_cuda.cpp on a module and its kernels, each in the file of its own that is named here. They look at whole
// kernels: inlining comes first.
#pragma once
#include "ir.hpp"
#include "kernels.hpp"

namespace damo::clang_plugin {

// ---- inlining.cpp --------------------------------------------------------------------------------------------------------
// Makes each entry point one function: what follows looks at whole kernels. Functions that can't be inlined stay:
// recursive ones, and those called through pointers.

/// Everything but the functions of these names becomes internal and is inlined into them.
void inline_into(llvm::Module& module, const std::set<std::string>& entries);

/// Whether function, or anything that it may call, waits for other threads (__damo_wait).
bool reaches_wait(llvm::Function& function);

// ---- clamp_shifts.cpp ----------------------------------------------------------------------------------------------------
// "a << 32 - bits" where bits is 0: C++ leaves a shift by the width or more open, and an x86 shifts by the amount modulo the width. A GPU
// shifts everything out, and packers of bits rely on that.

/// Gives shifts of 32 and 64 bits by such amounts what a GPU gives: 0, or the sign. Before anything is simplified, as what shows an amount
/// to be too far then drops the value. Amounts that are seen to be smaller stay as they are, at the latest when the optimiser sees it; vector instructions of x86 do the same.
void clamp_shifts(llvm::Module& module);

// ---- fuse_products.cpp ---------------------------------------------------------------------------------------------------
// A product and a sum round once together where the processor can. Of "a * b + c * d" either product may be the one that is not
// rounded, and the code generator chooses block by block: a vector's elements, those that are left behind the last vector, and each
// form of a kernel could have unlike last digits. So it is chosen here, before any of them is made.

/// Makes each sum or difference of two products that may be fused the intrinsic for both, with the first product. The code generator
/// makes two instructions of it where there is no one. After inlining. Needs: all three may be contracted (flags of the instructions),
/// the products serve nothing but the sum, and no thread waits between them. The value is one of those that contraction allows.
void choose_fused_products(llvm::Module& module);

// ---- lockstep.cpp --------------------------------------------------------------------------------------------------------
// Code written for warps whose lanes go in step, without __syncwarp: "volatile float* s; s[t] += s[t + 16]; s[t] += s[t
// + 8];". Volatile accesses to shared memory are where its threads meet: all lanes that stand at one have read before
// any of them writes, and have written before any reads on. A thread that waits in a loop for what another one will
// write there lets that one run. See finish_warp_operations in runtime/cpu/warp.cpp for which lanes go on.

/// False: no function of the module can have such accesses. Before inlining.
bool may_go_in_step(const llvm::Module& module);

struct InStep {
  bool waits = false;     ///< there is such an access
  bool may_spin = false;  ///< a loop may go on until another thread writes: regions of all threads are no form for that
};

/// Gives thread a wait before each of those accesses that needs one, and at the end of each turn of a loop that asks for what another
/// thread does. Loops that take a lock are such loops if thread waits elsewhere too: else no other thread runs before it gives the
/// lock back. After inlining, while shared variables have their section.
InStep keep_in_step(llvm::Function& thread, bool waits);

// ---- device_variables.cpp ------------------------------------------------------------------------------------------------
// Variables of the device: __device__ and __constant__ ones are ordinary globals, __shared__ ones become places in the
// worker's shared memory (LaunchFrame::shared).

/// Constants that hold addresses of shared variables, "int* const tables[2] = {a, b}", are other ones in each worker: a function that reads
/// one makes it anew, on its stack. Before inlining.
void make_tables_locally(llvm::Module& module);

/// Lets the host find __device__ and __constant__ variables by their names, and set them.
void publish_device_variables(llvm::Module& module);

/// Gives every __shared__ variable its offset, and every kernel its bytes of them. Memory asked for at the launch
/// (extern __shared__) follows, 64-aligned. After inlining, before markers are lowered: thread functions take their
/// ThreadState as the second argument, entries their LaunchFrame. gap: bytes left between them, and behind the last, where
/// a checked kernel's wild index shall be found out.
bool place_shared_variables(llvm::Module& module, std::vector<KernelInfo>& kernels, unsigned gap, std::string& error);

// ---- check_memory.cpp ----------------------------------------------------------------------------------------------------
// Puts the checks into a kernel's code: before each access to memory that the user's text makes, a call of the runtime
// that says what is accessed, where, and in the text of which line (check_calls.hpp).

/// After inlining, while shared variables are still variables. The module has line tables.
void check_memory(llvm::Module& module);

/// The text of check_table.hpp, which a checked module has as damo_check_table.
std::string check_table(const std::vector<KernelInfo>& kernels);

// ---- fission.cpp ---------------------------------------------------------------------------------------------------------
// A kernel whose threads wait for each other, as loops: the thread function is cut into regions at its waits, and each
// region runs in a loop over the threads of the block before the next one begins. That vectorises, and a wait costs
// nothing. Folder fission/ has the steps: thread_program, uniformity, regions, thread_loop, region_values, local_arrays,
// region_exits.

/// waits: does it wait at all? If not, this is done for its loops' rounds (fission/rounds.hpp), and false where there are none.
/// Makes kernel.thread a function that runs a whole block, to be called by kernel.blocks. After inlining, while index
/// markers and __damo_wait are calls. False where the kernel has a shape that this can't take; it is then as right as before,
/// and make_coroutine takes it.
bool split_at_barriers(llvm::Module& module, const KernelInfo& kernel, bool waits);

// ---- coroutine.cpp -------------------------------------------------------------------------------------------------------
// A kernel whose threads wait for each other, as coroutines: the thread function becomes one that returns at each wait
// and is resumed by runtime/cpu/cooperative.cpp, which decides when. Takes any control flow; a switch costs about 9 ns.

/// Makes C the language that the line tables name. In C++ LLVM describes the frame of every coroutine for debuggers, and looks for
/// a promise to do so, which ours have not.
void call_language_c(llvm::Module& module);

/// Replaces kernel.thread by "void* start(arguments, ThreadState*)" and gives kernel.entry its body. LLVM's own
/// coroutine passes, in the optimiser's pipeline, split it.
void make_coroutine(llvm::Module& module, const KernelInfo& kernel);

}  // namespace damo::clang_plugin
