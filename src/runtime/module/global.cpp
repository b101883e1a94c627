#include <damo/global.hpp>

#include <damo/error.hpp>

#include "runtime/backend.hpp"
#include "runtime/memory/host_address.hpp"

namespace damo {

void Global::require_room(const char* what, std::size_t bytes, std::size_t offset_bytes) const {
  if (offset_bytes <= bytes_ && bytes <= bytes_ - offset_bytes) return;
  throw ShapeError("global '" + name_ + "' has " + std::to_string(bytes_) + " bytes: " + std::to_string(bytes) +
                       " from byte " + std::to_string(offset_bytes) + " on cannot be " + what,
                   "give no more than the variable has room for");
}

void Global::require_bytes(std::size_t bytes) const {
  if (bytes == bytes_) return;
  throw ShapeError("global '" + name_ + "' has " + std::to_string(bytes_) + " bytes, the type asked for " +
                       std::to_string(bytes),
                   "ask for the variable's own type: float, std::array<float, 4>");
}

void Global::require_multiple(std::size_t bytes) const {
  if (bytes_ % bytes == 0) return;
  throw ShapeError("global '" + name_ + "' has " + std::to_string(bytes_) + " bytes, no multiple of the element's " +
                       std::to_string(bytes),
                   "ask for elements of the variable's own type");
}

void Global::write(const void* from, std::size_t bytes, std::size_t offset_bytes) const {
  require_room("written", bytes, offset_bytes);
  require_host_address(from, bytes, "Global::write");
  if (bytes == 0) return;
  Backend& backend = device_.backend();
  void* const stream = backend.default_stream();
  backend.copy(static_cast<std::byte*>(data_) + offset_bytes, from, bytes, CopyKind::kHostToDevice, stream);
  backend.synchronize(stream);  // launches on other streams see it too
}

void Global::read(void* to, std::size_t bytes, std::size_t offset_bytes) const {
  require_room("read", bytes, offset_bytes);
  require_host_address(to, bytes, "Global::read");
  if (bytes == 0) return;
  Backend& backend = device_.backend();
  void* const stream = backend.default_stream();
  backend.copy(to, static_cast<const std::byte*>(data_) + offset_bytes, bytes, CopyKind::kDeviceToHost, stream);
  backend.synchronize(stream);
}

KernelArgument to_kernel_argument(const Global& global) {
  return KernelArgument::address_on(global.device(), global.data());
}

}  // namespace damo
