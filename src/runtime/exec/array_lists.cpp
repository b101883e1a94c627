#include "runtime/exec/array_lists.hpp"

#include <algorithm>
#include <array>

namespace damo {
namespace {

constexpr std::size_t kMostLists = 4, kMostRoom = 64;

constinit thread_local bool has_ended = false;  // Arrays of static storage outlive what the main thread keeps

struct ThreadsLists {
  std::vector<Array> last;  // let go of last: mostly the one that is wanted
  std::array<std::vector<Array>, kMostLists> lists;
  ~ThreadsLists() { has_ended = true; }
};

thread_local ThreadsLists of_thread;

}  // namespace

std::vector<Array> take_array_list(std::size_t count) {
  if (count == 0) return {};
  if (count <= kMostRoom && !has_ended) {
    ThreadsLists& spare = of_thread;
    if (spare.last.capacity() >= count) [[likely]]
      return std::move(spare.last);
    const auto found = std::find_if(spare.lists.begin(), spare.lists.end(), [&](const auto& list) { return list.capacity() >= count; });
    if (found != spare.lists.end()) return std::move(*found);
  }
  std::vector<Array> list;
  list.reserve(count);
  return list;
}

void keep_array_list(std::vector<Array>&& list) noexcept {
  list.clear();  // first: what an Array's owner is told may ask for a list
  if (list.capacity() == 0 || list.capacity() > kMostRoom || has_ended) return;
  ThreadsLists& spare = of_thread;
  spare.last.swap(list);
  if (list.capacity() == 0) [[likely]]
    return;
  const auto least = std::min_element(spare.lists.begin(), spare.lists.end(), [](const auto& a, const auto& b) { return a.capacity() < b.capacity(); });
  if (least->capacity() < list.capacity()) least->swap(list);
}

}  // namespace damo
