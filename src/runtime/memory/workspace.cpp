#include "runtime/memory/workspace.hpp"

#include "runtime/memory/memory_pool.hpp"

namespace damo {

constinit thread_local Workspace* workspace_of_thread = nullptr;

std::optional<std::size_t> WorkspacePieces::take(std::size_t bytes, std::size_t most) noexcept {
  const std::size_t needed = rounded(bytes);
  std::size_t begin = 0;
  auto next = pieces_.begin();
  while (next != pieces_.end() && next->begin < begin + needed) begin = (next++)->end;
  if (needed > most || begin > most - needed) return {};
  try {
    pieces_.insert(next, {begin, begin + needed});
  } catch (...) {
    return {};
  }
  return begin;
}

void WorkspacePieces::give_back(std::size_t begin) noexcept {
  std::erase_if(pieces_, [&](const Piece& piece) { return piece.begin == begin; });
}

void* Workspace::take(std::size_t bytes) noexcept {
  if (bytes == 0) return nullptr;
  const std::optional<std::size_t> begin = pieces_.take(bytes, bytes_);
  return begin ? memory_ + *begin : nullptr;
}

void Workspace::give_back(const void* memory) noexcept {
  if (!is_left_) pieces_.give_back(static_cast<std::size_t>(static_cast<const std::byte*>(memory) - memory_));
}

void Scratch::take() {
  Workspace* const workspace = current_workspace(backend_);
  data_ = workspace ? workspace->take(bytes_) : nullptr;
  if (data_) workspace_ = workspace;
  else data_ = backend_.pool().allocate(bytes_, "scratch");
}

void Scratch::give_back() noexcept {
  if (workspace_) workspace_->give_back(data_);
  else backend_.pool().release(data_, bytes_, 0);  // the default stream alone has used it
}

}  // namespace damo
