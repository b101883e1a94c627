#include "runtime/memory/host_copies.hpp"

#include <algorithm>

#include <damo/error.hpp>

namespace damo {
namespace {

using Direction = HostArgument::Direction;

/// Vectors of a kernel are loaded from addresses aligned so, as memory on a GPU is.
constexpr std::uintptr_t kAlignment = 16;

bool overlap(const HostArgument& a, const HostArgument& b) {
  const auto begin = [](const HostArgument& x) { return static_cast<const std::byte*>(x.data()); };
  return begin(a) < begin(b) + b.bytes() && begin(b) < begin(a) + a.bytes();
}

}  // namespace

HostCopies::HostCopies(const LoadedKernel& kernel, const KernelArgument* arguments, std::size_t count, void* stream)
    : backend_(*kernel.backend), stream_(stream) {
  addresses_.resize(count);
  values_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    values_[i] = arguments[i].value();
    if (!arguments[i].host()) continue;
    addresses_[i] = place(kernel, arguments, count, i);
    values_[i] = &addresses_[i];
  }
  for (const Copy& copy : copies_) {
    if (copy.host->direction() == Direction::kOut) continue;
    backend_.copy(copy.memory.data(), copy.host->data(), copy.host->bytes(), CopyKind::kHostToDevice, stream_);
  }
  backend_.note_work(stream_);  // also where the launch then throws
}

bool HostCopies::must_copy(const LoadedKernel& kernel, const KernelArgument* arguments, std::size_t count,
                           std::size_t index) const {
  const HostArgument& host = *arguments[index].host();
  const bool is_host_memory = Device(&backend_).is_host();
  if (!is_host_memory) return true;
  if (reinterpret_cast<std::uintptr_t>(host.data()) % kAlignment != 0) return true;
  // What a kernel writes through an In is lost, so the user's memory may only be given to one that cannot write.
  const auto& parameters = kernel.parameters();
  const bool reads_only = parameters && (*parameters)[index].is_const;
  if (host.direction() == Direction::kIn && !reads_only) return true;
  for (std::size_t other = 0; other < count; ++other) {
    const HostArgument* const second = other == index ? nullptr : arguments[other].host();
    const bool one_writes = second && (host.direction() != Direction::kIn || second->direction() != Direction::kIn);
    if (one_writes && overlap(host, *second)) return true;  // each argument is memory of its own
  }
  return false;
}

/// The address to pass: the argument's own, or that of a copy.
void* HostCopies::place(const LoadedKernel& kernel, const KernelArgument* arguments, std::size_t count, std::size_t index) {
  const HostArgument& host = *arguments[index].host();
  if (host.bytes() == 0) return nullptr;
  if (host.device() == &backend_) return host.data();  // an Array that is there already
  if (host.device() && host.device()->kind() == DeviceKind::kCuda) {
    throw DeviceError("launch of '" + kernel.name() + "': In, Out or InOut of an Array on " + host.device()->name() +
                          ", the kernel is on " + backend_.name(),
                      "In, Out and InOut take host memory; copy the Array first: array.to(kernel.device())");
  }
  if (!must_copy(kernel, arguments, count, index)) {
    if (kernel.is_checked) ranges_.emplace_back(host.data(), host.bytes());
    return host.data();
  }
  copies_.push_back({&host, Array::empty({static_cast<std::int64_t>(host.bytes())}, uint8, Device(&backend_))});
  return copies_.back().memory.data();
}

void HostCopies::finish() {
  bool comes_back = false;
  for (const Copy& copy : copies_) {
    if (copy.host->direction() == Direction::kIn) continue;
    backend_.copy(copy.host->data(), copy.memory.data(), copy.host->bytes(), CopyKind::kDeviceToHost, stream_);
    comes_back = true;
  }
  // Without: the pool sees to it that the copies are not used for other work before this stream's is done.
  if (comes_back) backend_.synchronize(stream_ ? stream_ : backend_.default_stream());
}

}  // namespace damo
