// What CUDA C on the CPU is held against: a loop in plain C++, compiled into damo-bench by the host compiler with -O3
// -march=native.
#pragma once
#include <cstdint>

namespace damo::bench {

void double_by_hand(const float* x, float* y, std::int64_t n);

}  // namespace damo::bench
