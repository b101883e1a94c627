// The table of the built-in rows, and what follows from a row alone. See tests/ops/rows_test.cpp.
#pragma once
#include <cstddef>
#include <span>
#include <string_view>

#include <damo/elementwise.hpp>

namespace damo {

/// In the order of damo/ops/rows.inc.
std::span<const ElementwiseRow> builtin_rows();

/// The built-in rows by name: their places in the table.
enum class BuiltinRow : std::size_t {
#define DAMO_ROW1(row, ...) row,
#define DAMO_ROW2 DAMO_ROW1
#define DAMO_ROW3 DAMO_ROW1
#include <damo/ops/rows.inc>
#undef DAMO_ROW1
#undef DAMO_ROW2
#undef DAMO_ROW3
};
inline const ElementwiseRow& builtin_row(BuiltinRow row) { return builtin_rows()[static_cast<std::size_t>(row)]; }

/// Whether Damo's own file has the row: its code is not the user's, and errors need not point there.
inline bool is_builtin(const ElementwiseRow& row) { return row.file.starts_with("damo/ops/"); }

/// The code for T of that dtype, which computed_in() gives: bool_code, else integer_code, else code.
const std::string& code_for(const ElementwiseRow& row, DType dtype);

/// Whether the row takes inputs that promote to this dtype.
bool takes(const ElementwiseRow& row, DType promoted);
/// The dtype to which the inputs are cast: that of T, or float16 and bfloat16, for which T is float.
DType computed_in(const ElementwiseRow& row, DType promoted);
/// The dtype of the result.
DType result_of(const ElementwiseRow& row, DType promoted);

}  // namespace damo
