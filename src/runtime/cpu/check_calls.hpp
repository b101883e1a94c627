// What a checked kernel calls before each access to memory (clang/check_memory.cpp puts the calls in). An access that is
// not allowed ends the launch, with an error that names the place in the text, block, thread, address and neighbour.
//
// Two checks: of an access through a known object, a shared or local array or a variable, that it stays within that
// object; of any other, that it stays within one of the things the launch may touch. Reads of shared memory are checked
// to be of bytes that a thread of the block has written.
#pragma once
#include <cstddef>
#include <cstdint>

#include "runtime/cpu/kernel_abi.hpp"

namespace damo::cpu_backend {

/// Bits of the word that describes an access; its mirror is in clang/check_memory.cpp.
enum CheckBits : std::uint32_t {
  kCheckRead = 1,
  kCheckWrite = 2,     ///< with kCheckRead: atomic
  kCheckCopy = 4,      ///< of a struct: bytes between its members need not have been written
  kCheckShared = 8,    ///< the object is shared memory
  kCheckDynamic = 16,  ///< of a size that the launch gives
  kCheckLocal = 32,
  kCheckAlignment = 8  ///< shift of the logarithm of the alignment
};

/// A block begins on this thread: nothing of its shared memory has been written, it has no local arrays.
void begin_checked_block(const LaunchFrame& frame);

/// Memory that a checked kernel got from malloc().
void note_kernel_memory(void* memory, std::size_t bytes);
void forget_kernel_memory(void* memory);

}  // namespace damo::cpu_backend

extern "C" {
void damo_check_object(const char* place, const char* name, const void* object, std::uint64_t object_bytes, const void* address,
                       std::uint64_t bytes, std::uint32_t bits);
void damo_check_memory(const char* place, const void* address, std::uint64_t bytes, std::uint32_t bits);
/// A local array of the running thread. stays: for as long as the thread; else until the function returns.
void damo_check_local(const char* name, const void* array, std::uint64_t bytes, std::uint32_t stays);
}
