// Faults on purpose. Points are places where the world can say no: an allocation, a call of the system, a call of the back
// end. A point asks here() whether it is to fail. While a thread is armed its points are numbered in their order; the
// k-th fails, or the k-th and all later ones, as when memory has run out. Other threads, the compiler's among them, are
// left alone unless they join.
#pragma once
#include <cstddef>

namespace damo::faults {

enum class Kind : unsigned { kAllocation = 1, kSystemCall = 2, kBackend = 4 };
enum class Extent { kOnce, kFromThenOn };

class Injection {
 public:
  /// Of the kinds or-ed together; number 0: nothing fails, points are only counted.
  static void begin(unsigned kinds, long number, Extent extent) noexcept;
  static void end() noexcept;
  /// Points since begin().
  static long points() noexcept;
  /// What failed first since begin(), and of which kind; null if nothing did.
  static const char* failed() noexcept;
  static bool failed_in(Kind kind) noexcept;
  /// A point: true if it is to fail. what: a string literal.
  static bool here(Kind kind, const char* what) noexcept;
};

/// The calling thread has points as long as this lives.
class Armed {
 public:
  Armed() noexcept;
  ~Armed();
  Armed(const Armed&) = delete;
  Armed& operator=(const Armed&) = delete;
};

/// The calling thread has none meanwhile: the test's own work.
class Paused {
 public:
  Paused() noexcept;
  ~Paused();
  Paused(const Paused&) = delete;
  Paused& operator=(const Paused&) = delete;

 private:
  bool was_armed_;
};

/// Blocks of operator new that armed threads asked for and that nobody has freed, and their bytes.
struct HeldMemory {
  long blocks = 0, bytes = 0;
  friend bool operator==(const HeldMemory&, const HeldMemory&) = default;
};
HeldMemory held_memory() noexcept;
/// The same while paused or never armed: for memory whose owner is the test.
bool is_armed() noexcept;

}  // namespace damo::faults
