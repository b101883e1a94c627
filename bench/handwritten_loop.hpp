// What CUDA C on the CPU is held against: a loop in plain C++, compiled into damo-bench by the host compiler with -O3
// -march=native, with vectors of the same width.
#pragma once
#include <cstdint>

namespace damo::bench {

void double_by_hand(const float* x, float* y, std::int64_t n);
void double_image_by_hand(const float* x, float* y, std::int64_t width, std::int64_t height);
/// The mean of the four neighbours, inside the edge.
void smooth_by_hand(const float* x, float* y, std::int64_t width, std::int64_t height);
/// y[t] = x[t] + x[t + threads] + ..., n elements.
void sum_by_hand(const float* x, float* y, std::int64_t n, std::int64_t threads);
/// Of 32 elements, one after another: y[i] is the sum of those that have i's label, i * 2654435761 >> 29 in 32 bits. Like labels are looked for, as of
/// labels of any value.
void sum_labels_by_hand(const float* x, float* y, std::int64_t n);
/// Each of y's rows: e^(x - the row's greatest), divided by their sum.
void softmax_by_hand(const float* x, float* y, std::int64_t rows, std::int64_t columns);
/// c = a b, n x n, in the order of loops that vectorises.
void multiply_by_hand(const float* a, const float* b, float* c, std::int64_t n);

}  // namespace damo::bench
