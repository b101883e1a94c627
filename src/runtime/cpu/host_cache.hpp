// last_level_cache(): bytes of the host's largest cache: what is larger is better stored past the caches.
#pragma once
#include <cstddef>

namespace damo::cpu_backend {

std::size_t last_level_cache();

}  // namespace damo::cpu_backend
