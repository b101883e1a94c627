#include <damo/ops/scan.hpp>

#include <damo/ops/cast.hpp>
#include <damo/ops/shape.hpp>
#include "graph/user_line.hpp"
#include "ops/gradient_parts.hpp"
#include "ops/reduce_op.hpp"
#include "ops/scan_op.hpp"

namespace damo {
namespace {

struct Line {
  Variable x;
  int axis;
};
/// x and its axis, or x flattened.
Line line_of(const std::string& name, const Operand& given, std::optional<int> axis) {
  if (!axis) return {flatten(given), 0};
  const ReducedOperand asked(name.c_str(), given, *axis);
  return {asked.x, normalize_axis(name, *axis, asked.x.rank())};
}

Variable scanned(ScanKind kind, const Operand& given, std::optional<int> axis, ScanOptions options) {
  const Line line = line_of(name_of(kind), given, axis);
  return scan(kind, std::span(&line.x, 1), line.axis, options, given.where());
}

/// Elements as the accumulator has them, and what it gives as asked: the casts are part of the scan's kernel.
Variable accumulated(ScanKind kind, const Operand& given, std::optional<int> axis, const CumulativeOptions& options) {
  const std::string name = name_of(kind);
  const Line line = line_of(name, given, axis);
  const ReducedDTypes dtypes = asked(name, [&] { return dtypes_of(kind, line.x.dtype(), options); }, given);
  // Scans keep 16-bit floats in float32 anyway, and integers in 64 bits.
  const bool is_own = dtypes.accumulator == sum_dtype(line.x.dtype()) && dtypes.result == result_of(kind, line.x.dtype());
  const At at(given.where());
  const Variable wide = is_own ? line.x : cast(at(line.x), dtypes.accumulator);
  const Variable result = scan(kind, std::span(&wide, 1), line.axis, {.reverse = options.reverse, .exclusive = options.exclusive}, given.where());
  return is_own ? result : cast(at(result), dtypes.result);
}

}  // namespace

Variable cumsum(const Operand& x, std::optional<int> axis, CumulativeOptions options) { return accumulated(ScanKind::kSum, x, axis, options); }
Variable cumprod(const Operand& x, std::optional<int> axis, CumulativeOptions options) { return accumulated(ScanKind::kProd, x, axis, options); }
Variable cummax(const Operand& x, std::optional<int> axis, ScanOptions options) { return scanned(ScanKind::kMax, x, axis, options); }
Variable cummin(const Operand& x, std::optional<int> axis, ScanOptions options) { return scanned(ScanKind::kMin, x, axis, options); }
Variable logcumsumexp(const Operand& x, std::optional<int> axis, CumulativeOptions options) { return accumulated(ScanKind::kLogSumExp, x, axis, options); }

}  // namespace damo
