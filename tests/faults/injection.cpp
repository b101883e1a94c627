#include "faults/injection.hpp"

#include <atomic>

namespace damo::faults {
namespace {

thread_local bool armed = false;

std::atomic<unsigned> wanted_kinds = 0;
std::atomic<long> count = 0, fails_at = 0;
std::atomic<bool> fails_later = false;
std::atomic<const char*> first_failed = nullptr;
std::atomic<unsigned> kind_failed = 0;

}  // namespace

void Injection::begin(unsigned kinds, long number, Extent extent) noexcept {
  wanted_kinds = kinds;
  count = 0;
  fails_at = number;
  fails_later = extent == Extent::kFromThenOn;
  first_failed = nullptr;
  kind_failed = 0;
}

void Injection::end() noexcept { fails_at = 0; }
long Injection::points() noexcept { return count; }
const char* Injection::failed() noexcept { return first_failed; }
bool Injection::failed_in(Kind kind) noexcept { return kind_failed == static_cast<unsigned>(kind); }

bool Injection::here(Kind kind, const char* what) noexcept {
  if (!armed || (wanted_kinds & static_cast<unsigned>(kind)) == 0) return false;
  const long number = ++count, failing = fails_at;
  if (failing == 0 || number < failing || (number > failing && !fails_later)) return false;
  if (number == failing) {
    first_failed = what;
    kind_failed = static_cast<unsigned>(kind);
  }
  return true;
}

Armed::Armed() noexcept { armed = true; }
Armed::~Armed() { armed = false; }

Paused::Paused() noexcept : was_armed_(armed) { armed = false; }
Paused::~Paused() { armed = was_armed_; }

bool is_armed() noexcept { return armed; }

}  // namespace damo::faults
