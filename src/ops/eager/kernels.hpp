// EagerKernels: one device's kernels of arithmetic on arrays, kept from call to call. A kernel is found by its row, which
// equal rows share, and dtypes (eager_kernel.hpp).
//
// It belongs to the Backend (Backend::companion), so it is no process-wide state of its own. Bounded: at kLimit kernels
// all are dropped, which costs little, as their code stays in the device's KernelCache. Thread-safe; the kernel runs
// outside of any lock.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <shared_mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include <damo/array.hpp>
#include <damo/elementwise.hpp>
#include <damo/elementwise_kernel.hpp>

#include "runtime/backend.hpp"
#include "runtime/kernel/eager_kernel.hpp"

namespace damo {

class EagerKernels final : public Companion {
 public:
  explicit EagerKernels(Backend& backend) : backend_(backend) {}
  static std::shared_ptr<EagerKernels> of(Backend& backend) { return backend.companion<EagerKernels>(); }

  /// out.dtype() need not be the row's: elements are converted as they are stored. cast: row is that of cast.
  std::shared_ptr<EagerKernel> kernel(const ElementwiseRow& row, std::span<const EagerInput> inputs, DType out,
                                      bool cast);
  std::size_t size() const;
  /// The kernel of that number, which says all about it: one that reduces, scans, draws or searches; made at its first use.
  std::shared_ptr<EagerKernel> reducing(std::uint32_t number, const std::function<KernelSpec()>& spec);
  /// A number that no other kernel has, for one that a user wrote.
  static std::uint32_t number_of_users();
  std::shared_ptr<const ElementwiseKernel> snippet(std::uint32_t number,
                                                   const std::function<ElementwiseKernel()>& make);

  static constexpr std::size_t kLimit = 4096;
  static constexpr std::size_t kMostInputs = 24;

 private:
  struct Key {
    const ElementwiseRow* row;            // of the entry's op, or of a call that looks for one
    std::array<std::uint64_t, 2> dtypes;  // five bits an input
    friend bool operator==(const Key& a, const Key& b) { return a.dtypes == b.dtypes && (a.row == b.row || *a.row == *b.row); }
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return ((std::hash<std::string>()(key.row->name) ^ key.dtypes[1]) * 0x9e3779b97f4a7c15u) ^ (key.dtypes[0] * 0xc2b2ae3d27d4eb4fu);
    }
  };
  struct Entry {
    OpPtr op;  // keeps the row
    std::shared_ptr<EagerKernel> kernel;
  };
  Backend& backend_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<Key, Entry, Hash> kernels_;
  std::unordered_map<std::uint32_t, std::shared_ptr<const ElementwiseKernel>> snippets_;
  std::unordered_map<std::uint32_t, std::shared_ptr<EagerKernel>> reductions_;  // one an op and dtype, and the users'
};

}  // namespace damo
