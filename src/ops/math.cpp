#include <damo/ops/math.hpp>

#include "ops/rows.hpp"

namespace damo {
namespace {

enum class Place : std::size_t {
#define DAMO_ROW1(row, ...) row,
#define DAMO_ROW2 DAMO_ROW1
#define DAMO_ROW3 DAMO_ROW1
#include <damo/ops/rows.inc>
#undef DAMO_ROW1
#undef DAMO_ROW2
#undef DAMO_ROW3
};

const ElementwiseRow& row_at(Place place) { return builtin_rows()[static_cast<std::size_t>(place)]; }

}  // namespace

#define DAMO_ROW1(row, ...) \
  Variable row(const Operand& x) { return apply_elementwise(row_at(Place::row), {x}); }
#define DAMO_ROW2(row, ...) \
  Variable row(const Operand& x, const Operand& y) { return apply_elementwise(row_at(Place::row), {x, y}); }
#define DAMO_ROW3(row, ...)                                            \
  Variable row(const Operand& x, const Operand& y, const Operand& z) { \
    return apply_elementwise(row_at(Place::row), {x, y, z});           \
  }
#include <damo/ops/rows.inc>
#undef DAMO_ROW1
#undef DAMO_ROW2
#undef DAMO_ROW3

}  // namespace damo
