#include <damo/host_memory.hpp>

#include <utility>

#include <damo/error.hpp>
#include <damo/kernel_argument.hpp>
#include <damo/stream.hpp>

#include "runtime/backend.hpp"
#include "runtime/memory/host_ranges.hpp"
#include "runtime/memory/memory_pool.hpp"
#include "runtime/memory/pinned_pool.hpp"

namespace damo {
namespace {

void* mapped_address(Backend& backend, void* data, PinnedOptions options, const char* what) {
  if (!options.mapped) {
    throw DeviceError(std::string(what) + " is not mapped: " + backend.name() + " has no address for it",
                      "make it with {.mapped = true}");
  }
  return data == nullptr ? nullptr : backend.device_address(data);
}

/// Its memory is about to go while kernels may use it. A fault is thrown by the next wait.
void wait_for(Backend& backend) noexcept {
  try {
    backend.synchronize();
  } catch (...) {
  }
}

}  // namespace

PinnedMemory::PinnedMemory(std::size_t bytes, Device device, PinnedOptions options)
    : backend_(&device.backend()),
      data_(backend_->pinned_pool().allocate(bytes, options)),
      bytes_(bytes),
      options_(options),
      generation_(backend_->generation()) {}

PinnedMemory::PinnedMemory(PinnedMemory&& other) noexcept
    : backend_(other.backend_),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      options_(other.options_),
      generation_(other.generation_) {}

PinnedMemory& PinnedMemory::operator=(PinnedMemory&& other) noexcept {
  if (this == &other) return *this;
  release();
  backend_ = other.backend_;
  data_ = std::exchange(other.data_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  options_ = other.options_;
  generation_ = other.generation_;
  return *this;
}

PinnedMemory::~PinnedMemory() { release(); }

void PinnedMemory::release() noexcept {
  if (data_ && generation_ == backend_->generation()) backend_->pinned_pool().release(data_, bytes_, options_);
}

void* PinnedMemory::data() const {
  if (data_ && generation_ != backend_->generation()) refuse_lost(*backend_, "PinnedMemory");
  return data_;
}

void* PinnedMemory::device_data() const { return mapped_address(*backend_, data(), options_, "this PinnedMemory"); }

RegisteredMemory::RegisteredMemory(void* data, std::size_t bytes, Device device, PinnedOptions options)
    : backend_(&device.backend()), data_(data), bytes_(bytes), options_(options), generation_(backend_->generation()) {
  if (data == nullptr && bytes > 0) throw TypeError("RegisteredMemory: the address is null", "give memory that is there, as a vector's data()");
  if (bytes == 0) return;
  backend_->register_host(data, bytes, options);
  if (is_known_to_kernels()) add_host_range(data, bytes);
}

/// Kernels of the host may be checked, and then know what they may touch.
bool RegisteredMemory::is_known_to_kernels() const { return options_.mapped && Device(backend_).is_host(); }

RegisteredMemory::~RegisteredMemory() {
  if (bytes_ > 0 && is_known_to_kernels()) remove_host_range(data_, bytes_);
  if (bytes_ == 0 || generation_ != backend_->generation()) return;
  wait_for(*backend_);
  backend_->unregister_host(data_);
}

void* RegisteredMemory::device_data() const {
  if (generation_ != backend_->generation()) refuse_lost(*backend_, "RegisteredMemory");
  return mapped_address(*backend_, data_, options_, "this RegisteredMemory");
}

ManagedMemory::ManagedMemory(std::size_t bytes, Device device)
    : backend_(&device.backend()), bytes_(bytes), generation_(backend_->generation()) {
  if (bytes == 0) return;
  data_ = backend_->allocate_managed(bytes);
  if (data_ == nullptr) {
    throw OutOfMemoryError("no " + bytes_text(bytes) + " of managed memory on " + backend_->name(), "ask for less");
  }
}

ManagedMemory::ManagedMemory(ManagedMemory&& other) noexcept
    : backend_(other.backend_),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      generation_(other.generation_) {}

ManagedMemory& ManagedMemory::operator=(ManagedMemory&& other) noexcept {
  if (this == &other) return *this;
  release();
  backend_ = other.backend_;
  data_ = std::exchange(other.data_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  generation_ = other.generation_;
  return *this;
}

ManagedMemory::~ManagedMemory() { release(); }

void ManagedMemory::release() noexcept {
  if (!data_ || generation_ != backend_->generation()) return;
  wait_for(*backend_);
  backend_->release(data_);
}

void* ManagedMemory::data() const {
  if (data_ && generation_ != backend_->generation()) refuse_lost(*backend_, "ManagedMemory");
  return data_;
}

void ManagedMemory::prefetch(const Stream& stream) const { backend_->prefetch(data(), bytes_, false, detail::stream_handle(stream)); }
void ManagedMemory::prefetch_to_host(const Stream& stream) const {
  backend_->prefetch(data(), bytes_, true, detail::stream_handle(stream));
}
void ManagedMemory::advise(MemoryAdvice advice) const { backend_->advise(data(), bytes_, advice); }

KernelArgument to_kernel_argument(const PinnedMemory& memory) {
  return KernelArgument::address_on(memory.device(), memory.device_data());
}
KernelArgument to_kernel_argument(const RegisteredMemory& memory) {
  return KernelArgument::address_on(memory.device(), memory.device_data());
}
KernelArgument to_kernel_argument(const ManagedMemory& memory) {
  return KernelArgument::address_on(memory.device(), memory.data());
}

}  // namespace damo
