// The gradient rules of the built-in rows: one function for each line of damo/ops/rows.inc. A row without one does not
// link.
#pragma once
#include <span>

#include <damo/op.hpp>

namespace damo::row_gradients {

#define DAMO_ROW1(row, ...) \
  Gradients row(const Variable& gradient, std::span<const Variable> inputs, const Variable& output);
#define DAMO_ROW2 DAMO_ROW1
#define DAMO_ROW3 DAMO_ROW1
#include <damo/ops/rows.inc>
#undef DAMO_ROW1
#undef DAMO_ROW2
#undef DAMO_ROW3

}  // namespace damo::row_gradients
