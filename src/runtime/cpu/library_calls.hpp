// LibraryCall: stands around each call of a library that has threads of its own, so that fork() and the end of the program wait for it.
//
// OpenBLAS ends its threads in a handler that fork() calls first. While another thread of the program is in a product that those
// threads share, some of them wait there for others that have ended, and fork() never returns (OpenBLAS 0.3.21, without Damo
// too). Handlers of a later registration run earlier: Damo's, registered when the library is open, lets nobody begin a call
// and waits until those that run are over. Calls of the program's own into the same library are not known here.
//
// A program that ends while another thread computes would hang likewise: OpenBLAS ends its threads when it is unloaded. So the same is done once more when
// static objects are gone, whose destructors may have waited for such threads, and libraries are not yet.
// See tests/runtime/cpu/library_calls_test.cpp.
#pragma once

namespace damo::cpu_backend {

/// To be called behind the opening of each such library. Thread-safe.
void hold_calls_at_forks();

/// Costs an uncontended lock, about 40 ns.
class LibraryCall {
 public:
  LibraryCall();
  ~LibraryCall();
  LibraryCall(const LibraryCall&) = delete;
  LibraryCall& operator=(const LibraryCall&) = delete;
};

}  // namespace damo::cpu_backend
