#include <damo/ipc.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <utility>

#include <damo/error.hpp>

#include "runtime/backend.hpp"
#include "runtime/memory/buffer.hpp"
#include "runtime/memory/memory_pool.hpp"
#include "runtime/memory/memory_state.hpp"

namespace damo {
namespace {

constexpr std::string_view kHead = "damo-ipc-1";

/// A block that a Buffer lies in: given back with the Buffer.
struct Block {
  Backend& backend;
  std::uint32_t generation;
  void* base;
  bool is_opened;  // another process's

  void give_back() const noexcept {
    if (generation != backend.generation()) return;
    try {
      backend.synchronize();  // the device may still use it
    } catch (...) {
    }
    if (is_opened)
      backend.close_shared(base);
    else
      backend.release_shareable(base);
  }
  static void release(void* context) noexcept {
    const std::unique_ptr<Block> block(static_cast<Block*>(context));
    block->give_back();
  }
};

/// Takes over the block, also where it throws.
Buffer* adopt(const Block& block, std::size_t offset, std::size_t bytes) {
  try {
    auto owned = std::make_unique<Block>(block);
    Buffer* const buffer = Buffer::adopt(block.backend, static_cast<std::byte*>(block.base) + offset, bytes, Block::release, owned.get());
    owned.release();
    return buffer;
  } catch (...) {
    block.give_back();
    throw;
  }
}

[[noreturn]] void refuse(std::string_view text) {
  throw OptionError("'" + std::string(text.substr(0, 80)) + "' is no IpcHandle",
                    "give IpcHandle::parse what IpcHandle::text gave, whole");
}

std::size_t number(std::string_view digits, std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value > std::size_t{1} << 62) refuse(text);
  return value;
}

}  // namespace

std::string IpcHandle::text() const {
  return std::string(kHead) + ":" + (kind_ == DeviceKind::kCuda ? "cuda" : "host") + ":" + std::to_string(offset_) +
         ":" + std::to_string(bytes_) + ":" + allocation_;
}

IpcHandle IpcHandle::parse(std::string_view text) {
  std::array<std::string_view, 5> parts;
  std::string_view rest = text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t end = i + 1 < parts.size() ? rest.find(':') : rest.size();
    if (end == std::string_view::npos) refuse(text);
    parts[i] = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (parts[0] != kHead || (parts[1] != "cuda" && parts[1] != "host") || parts[4].empty()) refuse(text);
  IpcHandle handle;
  handle.kind_ = parts[1] == "cuda" ? DeviceKind::kCuda : DeviceKind::kCpu;
  handle.offset_ = number(parts[2], text);
  handle.bytes_ = number(parts[3], text);
  handle.allocation_ = parts[4];
  return handle;
}

IpcHandle DevicePointer::ipc_handle() const {
  Backend& backend = state("ipc_handle").backend;
  if (bytes_ == 0) throw ShapeError("ipc_handle: memory of 0 bytes cannot be shared", "share 1 byte or more");
  auto [allocation, offset] = backend.share(data());
  IpcHandle handle;
  handle.kind_ = backend.kind();
  handle.allocation_ = std::move(allocation);
  handle.offset_ = offset;
  handle.bytes_ = bytes_;
  return handle;
}

DeviceMemory DeviceMemory::shareable(Device device, std::size_t bytes) {
  if (bytes == 0) throw ShapeError("shareable: memory of 0 bytes cannot be shared", "ask for 1 byte or more");
  if (bytes > std::size_t{1} << 62) product(bytes, 1);
  Backend& backend = device.backend();
  void* const memory = backend.allocate_shareable(bytes);
  if (memory == nullptr) {
    throw OutOfMemoryError("no " + bytes_text(bytes) + " of shareable memory on " + backend.name(),
                           "ask for less; on the CPU, /dev/shm bounds it");
  }
  return DeviceMemory(State::of(adopt({backend, backend.generation(), memory, false}, 0, bytes)), bytes);
}

DeviceMemory DeviceMemory::open(Device device, const IpcHandle& handle) {
  Backend& backend = device.backend();
  if ((handle.kind_ == DeviceKind::kCuda) != (backend.kind() == DeviceKind::kCuda)) {
    throw DeviceError("the handle is of memory of " +
                          std::string(handle.kind_ == DeviceKind::kCuda ? "a GPU" : "the host") + ": " +
                          backend.name() + " cannot open it",
                      "open it on a device of the same kind");
  }
  void* const base = backend.open_shared(handle.allocation_, handle.offset_ + handle.bytes_);
  return DeviceMemory(State::of(adopt({backend, backend.generation(), base, true}, handle.offset_, handle.bytes_)), handle.bytes_);
}

}  // namespace damo
