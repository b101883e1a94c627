// The kernels of attention where four warps multiply together (wgmma), the right operand, or both, read where they lie in shared memory: sm_90 alone has these instructions. They walk as the
// kernels of attention_kernels.hpp do and add up in the same order, so they give the same bits (tests/attention/warpgroups_test.cpp).
// Condition: AttentionVariant::warpgroups and 64 or 128 features, whose rows are one or two panels of 128 bytes.
#pragma once
#include "ops/attention/attention_kernels.hpp"

namespace damo {

bool takes_warpgroups(const AttentionVariant& variant);

AttentionKernel warpgroup_forward(const AttentionVariant& variant);
AttentionKernel warpgroup_by_query(const AttentionVariant& variant);
AttentionKernel warpgroup_by_key(const AttentionVariant& variant);

}  // namespace damo
