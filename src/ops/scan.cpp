#include <damo/ops/scan.hpp>

#include <damo/ops/shape.hpp>
#include "ops/gradient_parts.hpp"
#include "ops/reduce_op.hpp"
#include "ops/scan_op.hpp"

namespace damo {
namespace {

Variable scanned(ScanKind kind, const Operand& given, std::optional<int> axis, ScanOptions options) {
  const std::string name = name_of(kind);
  if (!axis) {
    const Variable line = flatten(given);
    return scan(kind, std::span(&line, 1), 0, options, given.where());
  }
  const ReducedOperand asked(name.c_str(), given, *axis);
  return scan(kind, std::span(&asked.x, 1), normalize_axis(name, *axis, asked.x.rank()), options, asked.line);
}

}  // namespace

Variable cumsum(const Operand& x, std::optional<int> axis, ScanOptions options) { return scanned(ScanKind::kSum, x, axis, options); }
Variable cumprod(const Operand& x, std::optional<int> axis, ScanOptions options) { return scanned(ScanKind::kProd, x, axis, options); }
Variable cummax(const Operand& x, std::optional<int> axis, ScanOptions options) { return scanned(ScanKind::kMax, x, axis, options); }
Variable cummin(const Operand& x, std::optional<int> axis, ScanOptions options) { return scanned(ScanKind::kMin, x, axis, options); }
Variable logcumsumexp(const Operand& x, std::optional<int> axis, ScanOptions options) { return scanned(ScanKind::kLogSumExp, x, axis, options); }

}  // namespace damo
