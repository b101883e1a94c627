// Workspace: memory that a plan has set aside for what one piece of work needs while it runs: a kernel's scratch, a library's workspace, arrays between steps. While
// a WorkspaceScope is open the thread's arrays and Scratch come from it, each at the lowest place that is free, and their places are free again when they are let go of. So work that
// was planned asks the device's pool for nothing. What finds no room there, and all work outside of a scope, asks the pool. See tests/runtime/memory/workspace_test.cpp.
#pragma once
#include <cstddef>
#include <limits>
#include <new>
#include <optional>
#include <vector>

#include "runtime/backend.hpp"

namespace damo {

/// Where pieces lie that come and go, each at the lowest place that is free.
class WorkspacePieces {
 public:
  static constexpr std::size_t kAlignment = 256, kMost = std::numeric_limits<std::size_t>::max() - kAlignment;
  /// What a piece of so many bytes takes of it.
  static constexpr std::size_t rounded(std::size_t bytes) { return (bytes > kMost ? kMost : bytes + kAlignment - 1) / kAlignment * kAlignment; }

  /// Its place, a multiple of kAlignment, among those that end at `most` or before; none if there is no room, or no host memory to note it.
  std::optional<std::size_t> take(std::size_t bytes, std::size_t most) noexcept;
  void give_back(std::size_t begin) noexcept;
  void clear() noexcept { pieces_.clear(); }
  bool is_empty() const { return pieces_.empty(); }

 private:
  struct Piece {
    std::size_t begin, end;
  };
  std::vector<Piece> pieces_;  // in order
};

class Workspace {
 public:
  explicit Workspace(const Backend& backend) : backend_(backend) {}
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  /// It is these bytes from now on, and what is left to a multiple of the alignment, all of them free. memory: a multiple of the device's alignment of vectors at least.
  void begin(void* memory, std::size_t bytes) noexcept {
    memory_ = static_cast<std::byte*>(memory);
    bytes_ = WorkspacePieces::rounded(bytes);
    pieces_.clear();
  }
  /// Null where there is no room, or for 0 bytes.
  void* take(std::size_t bytes) noexcept;
  void give_back(const void* memory) noexcept;
  bool is_free() const { return pieces_.is_empty(); }
  /// Its owner leaves it to who still has pieces, in whatever thread: from now on nothing is noted.
  void leave() noexcept { is_left_ = true; }
  const Backend& backend() const { return backend_; }

 private:
  const Backend& backend_;
  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
  bool is_left_ = false;
  WorkspacePieces pieces_;
};

/// The calling thread's; null if there is none.
extern constinit thread_local Workspace* workspace_of_thread [[gnu::tls_model("initial-exec")]];

inline Workspace* current_workspace(const Backend& backend) {
  Workspace* const workspace = workspace_of_thread;
  return workspace != nullptr && &workspace->backend() == &backend ? workspace : nullptr;
}

/// While it lives the thread's arrays come from the workspace; null: from the pool.
class WorkspaceScope {
 public:
  explicit WorkspaceScope(Workspace* workspace) : before_(workspace_of_thread) { workspace_of_thread = workspace; }
  WorkspaceScope(const WorkspaceScope&) = delete;
  WorkspaceScope& operator=(const WorkspaceScope&) = delete;
  ~WorkspaceScope() { workspace_of_thread = before_; }

 private:
  Workspace* before_;
};

/// Memory for work of the default stream that is over when it is let go of: a piece of the thread's workspace, or the pool's. Null data for 0 bytes.
class Scratch {
 public:
  Scratch(Backend& backend, std::size_t bytes) : backend_(backend), bytes_(bytes) {
    if (bytes != 0) [[unlikely]] take();
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    if (data_) [[unlikely]] give_back();
  }
  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void take();
  void give_back() noexcept;
  Backend& backend_;
  Workspace* workspace_ = nullptr;  // null: the pool
  void* data_ = nullptr;
  std::size_t bytes_;
};

/// How large a workspace must be for pieces that come and go in this order: each has its place here where it has it there.
class WorkspaceNeed {
 public:
  using Piece = std::optional<std::size_t>;  ///< none: of 0 bytes
  Piece take(std::size_t bytes) {
    if (bytes == 0) return {};
    const Piece piece = pieces_.take(bytes, std::numeric_limits<std::size_t>::max());
    if (!piece) throw std::bad_alloc();
    const std::size_t end = *piece + WorkspacePieces::rounded(bytes);
    bytes_ = bytes_ < end ? end : bytes_;
    return piece;
  }
  void give_back(Piece piece) {
    if (piece) pieces_.give_back(*piece);
  }
  /// One that goes before the next one comes.
  void pass(std::size_t bytes) { give_back(take(bytes)); }
  std::size_t bytes() const { return bytes_; }

 private:
  WorkspacePieces pieces_;
  std::size_t bytes_ = 0;
};

}  // namespace damo
