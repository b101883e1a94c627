// Attention in a graph: plain ops, behind a mark that knows what they mean. On a GPU the pass attention_kernels puts AttentionOp in the mark's place where
// its kernels take these types (attention_op.hpp); elsewhere the mark goes and the plain ops stay. They say what the values are: the kernels are held against
// them by tests/attention. Attention of Arrays is the same plain ops at once (attention_of.hpp).
//
//   condition    the kernels compute softmax(q k^T scale) v of the same masks; sums in float32, weights rounded to the operands' dtype before the second product
//   differences  the plain ops round the products q k^T to the operands' dtype too, and the division comes before the second product there
#pragma once
#include <damo/device.hpp>
#include <damo/graph.hpp>
#include <damo/variable.hpp>

namespace damo {

struct AttentionForm {
  bool causal = false;
  double scale = 1;  ///< of the products

  friend bool operator==(const AttentionForm&, const AttentionForm&) = default;
};

/// query (batch..., heads, n, features), key (batch..., groups, m, features), value (batch..., groups, m, depth), mask: none, or bool, broadcasts to (batch..., heads, n, m).
/// Ranks and heads have been checked. Gives (batch..., heads, n, depth).
Variable attention(const Variable& query, const Variable& key, const Variable& value, const Variable& mask, const AttentionForm& form);

/// Marks of attention() become AttentionOps where the device has kernels for them; the others go.
FunctionGraph use_attention_kernels(FunctionGraph graph, Device device);

}  // namespace damo
