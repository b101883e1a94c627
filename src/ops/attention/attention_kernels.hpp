// The CUDA C of attention on a GPU: one kernel forward, two backward, each a walk over tiles of the other side, so that no matrix of queries by keys is ever
// written, and no sum depends on the order in which blocks run. Dao et al. 2022 (FlashAttention), Milakov, Gimelshein 2018 (the softmax that goes along).
//
//   attention_forward    a block has some queries and goes through the keys: out, and log2 of each query's sum of weights (+inf where it sees nothing)
//   attention_by_query   the same walk; weights come from those logarithms: gradient by queries
//   attention_by_key     a block has some keys and goes through the queries of all heads that they serve: gradients by keys and by values
//
// Products are of 16-bit floats by the tensor cores, added up in float32: a warp's (mma.sync, sm_80 and later), or a warpgroup's (attention_warpgroups.hpp).
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include <damo/dtype.hpp>

namespace damo {

/// What a kernel is compiled for.
struct AttentionVariant {
  int features = 0;  ///< a multiple of 16 up to 128
  DType dtype = bfloat16;
  bool causal = false, masked = false;
  bool warpgroups = false;  ///< the device is sm_90, whose warpgroups multiply together
};

struct AttentionKernel {
  std::string name;              ///< of the template's instance
  int rows = 0;                  ///< queries or keys of a block
  int threads = 0;
  std::size_t shared_bytes = 0;
  const std::string* source = nullptr;
  std::vector<std::string> flags = {};  ///< of the compiler
};

AttentionKernel attention_forward(const AttentionVariant& variant);
AttentionKernel attention_by_query(const AttentionVariant& variant);
AttentionKernel attention_by_key(const AttentionVariant& variant);

/// Parameters of the kernels, laid out as in their text. Strides are in elements.
struct AttentionRows {
  const void* base = nullptr;
  long long batch = 0, head = 0, row = 0;
};
struct AttentionMask {
  const void* base = nullptr;
  long long batch = 0, head = 0, row = 0, column = 0;
};
struct AttentionSizes {
  int queries = 0, keys = 0, heads = 0, groups = 0;
  float scale = 1;
};

}  // namespace damo
