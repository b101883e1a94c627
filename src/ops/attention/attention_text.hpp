// What the kernels of attention have in common, whichever instructions multiply: parameters, copies to shared memory, rows of results.
#pragma once
#include <initializer_list>
#include <string>

#include "ops/attention/attention_kernels.hpp"

namespace damo {

/// CUDA C, to stand before the kernels' own.
extern const char* const kAttentionText;

/// "kernel<features, numbers..., is_bfloat16, is_causal, is_masked>"
std::string attention_instance(const char* kernel, const AttentionVariant& variant, std::initializer_list<int> numbers);

}  // namespace damo
