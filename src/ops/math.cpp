#include <damo/ops/math.hpp>

#include "ops/rows.hpp"

namespace damo {

#define DAMO_ROW1(row, ...) \
  Variable row(const Operand& x) { return apply_elementwise(builtin_row(BuiltinRow::row), {x}); }
#define DAMO_ROW2(row, ...) \
  Variable row(const Operand& x, const Operand& y) { return apply_elementwise(builtin_row(BuiltinRow::row), {x, y}); }
#define DAMO_ROW3(row, ...)                                            \
  Variable row(const Operand& x, const Operand& y, const Operand& z) { \
    return apply_elementwise(builtin_row(BuiltinRow::row), {x, y, z}); \
  }
#include <damo/ops/rows.inc>
#undef DAMO_ROW1
#undef DAMO_ROW2
#undef DAMO_ROW3

}  // namespace damo
