#include "runtime/exec/binding.hpp"

#include <algorithm>
#include <utility>

namespace damo {

void BindingTable::move_to_front(std::size_t at) {
  std::rotate(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(at), all_.begin() + static_cast<std::ptrdiff_t>(at) + 1);
}

void BindingTable::forget(std::uint64_t call) {
  std::erase_if(all_, [&](const auto& binding) { return binding->last_call + kLife <= call; });
}

Binding& BindingTable::add(std::unique_ptr<Binding> binding) {
  if (all_.size() == kMost) all_.pop_back();
  all_.insert(all_.begin(), std::move(binding));
  return *all_.front();
}

std::size_t BindingTable::arena_bytes() const {
  std::size_t most = 0;
  for (const auto& binding : all_) most = std::max(most, binding->arena_bytes);
  return most;
}

}  // namespace damo
