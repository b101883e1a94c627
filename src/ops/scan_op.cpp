#include "ops/index_along_op.hpp"
#include "ops/scan_op.hpp"

#include <damo/ops/cast.hpp>
#include <damo/ops/math.hpp>
#include "ops/gradient_parts.hpp"
#include "ops/reduce_op.hpp"

namespace damo {
namespace {

/// The gradients of scans, x and g in float32 or wider. What an element gives to those behind it comes back to it from them: every gradient is a
/// scan the other way round, one kernel with what stands around it.
class ScanGradient {
 public:
  ScanGradient(const Variable& x, const Variable& g, int axis, ScanOptions options, SourceLine line)
      : x_(x), g_(g), axis_(axis), options_(options), back_{.reverse = !options.reverse, .exclusive = true}, at_(line), line_(line) {}

  Variable sum() const { return scan(ScanKind::kSum, g_, {.reverse = !options_.reverse, .exclusive = options_.exclusive}); }

  /// Of y[i] = x[i] y[i - 1] + c[i], for c: q[i] = g[i] + x[i + 1] q[i + 1].
  Variable added() const { return with_own(recurrence(x_, options_.exclusive ? g_ : mul(at_(x_), at_(g_)))); }

  /// Of p[i] = x[i] p[i - 1]: p[i - 1] q[i] with the same q. Nothing is divided, so elements may be 0.
  Variable product() const {
    const Variable before = scan(ScanKind::kProd, x_, {.reverse = options_.reverse, .exclusive = true});
    return mul(at_(before), at_(added()));
  }

  /// All g of the places where an element is the greatest so far go to the first place where it was.
  Variable choice(ScanKind arg) const {
    const Variable place = scan(arg, x_, {.reverse = options_.reverse, .exclusive = false});
    const Variable is_new = eq(at_(place), at_(places_along(x_, std::uint32_t{1} << axis_, line_)));
    const Variable goes_on = where(at_(is_new), 0.0, at_(second(at_(g_), 1.0)));
    const Variable behind = recurrence(goes_on, options_.exclusive ? g_ : where(at_(is_new), 0.0, at_(g_)));
    return where(at_(is_new), at_(with_own(behind)), 0.0);
  }

  /// exp(x[i] - y[i]) u[i] where u[i] = g[i] + exp(y[i] - y[i + 1]) u[i + 1]: no exponential is above 1.
  Variable logsumexp() const {
    const Variable with = scan(ScanKind::kLogSumExp, x_, {.reverse = options_.reverse, .exclusive = false});
    const Variable before = scan(ScanKind::kLogSumExp, x_, {.reverse = options_.reverse, .exclusive = true});
    const Variable factor = ratio(before, with);
    const Variable own = ratio(x_, with);
    if (!options_.exclusive) return mul(at_(own), at_(with_own(recurrence(factor, mul(at_(factor), at_(g_))))));
    return mul(at_(own), at_(recurrence(factor, g_)));
  }

 private:
  Variable scan(ScanKind kind, const Variable& x, ScanOptions options) const { return damo::scan(kind, std::span(&x, 1), axis_, options, line_); }
  /// r[i] = m[i] r[i + 1] + c[i]: that of the element behind each.
  Variable recurrence(const Variable& m, const Variable& c) const {
    const Variable inputs[] = {m, c};
    return damo::scan(ScanKind::kRecurrence, inputs, axis_, back_, line_);
  }
  Variable with_own(const Variable& behind) const { return options_.exclusive ? behind : add(at_(g_), at_(behind)); }
  /// exp(a - b), of equal infinities 0, and so is the gradient of that: no infinities are subtracted for it either.
  Variable ratio(const Variable& a, const Variable& b) const {
    const Variable same = eq(at_(a), at_(b)), distance = where(at_(same), 0.0, at_(sub(at_(a), at_(b))));
    return where(at_(same), at_(where(at_(isinf(at_(a))), 0.0, at_(second(at_(a), 1.0)))), at_(exp(at_(distance))));
  }

  const Variable &x_, &g_;
  int axis_;
  ScanOptions options_, back_;
  At at_;
  SourceLine line_;
};

}  // namespace

bool ScanOp::equals(const Op& other) const {
  const auto* that = dynamic_cast<const ScanOp*>(&other);
  return that && that->kind_ == kind_ && that->axis_ == axis_ && that->options_ == options_;
}

Apply ScanOp::make_node(Inputs inputs) const {
  inputs.require_count(kind_ == ScanKind::kRecurrence ? 2 : 1);
  const Variable& x = inputs.at(0);
  normalize_axis(name(), axis_, x.rank());
  return {*this, {inputs.begin(), inputs.end()}, {{result_of(kind_, x.dtype()), x.dims()}}};
}

void ScanOp::lower(KernelBuilder& kernel) const {
  std::vector<int> values;
  for (int i = 0; i < kernel.input_count(); ++i) values.push_back(kernel.input(i).number);
  const DType x = kernel.input(0).dtype, result = result_of(kind_, x);
  kernel.output({append_scan(kernel.spec(), kind_, values, x, result, options_), result});
}

Gradients ScanOp::gradient(const Apply& node, std::span<const Variable> output_gradients) const {
  const Variable& given = node.input(0);
  if (!is_floating(given.dtype()) || !is_floating(node.output().dtype())) return Gradients{Gradient::disconnected()};
  const SourceLine line = node.where();
  const DType inner = is_half(given.dtype()) ? float32 : given.dtype();  // 16 bits would spoil sums and products
  const Variable x = cast_at(given, inner, line), g = cast_at(output_gradients[0], inner, line);
  const ScanGradient gradient(x, g, axis_, options_, line);
  if (kind_ == ScanKind::kRecurrence) {
    const Variable c = gradient.added(), before = scan(kind_, node.inputs(), axis_, {.reverse = options_.reverse, .exclusive = true}, line);
    return {mul(At(line)(c), At(line)(before)), c};
  }
  const auto made = [&]() -> Variable {
    switch (kind_) {
      case ScanKind::kSum: return gradient.sum();
      case ScanKind::kProd: return gradient.product();
      case ScanKind::kMax: return gradient.choice(ScanKind::kArgmax);
      case ScanKind::kMin: return gradient.choice(ScanKind::kArgmin);
      default: return gradient.logsumexp();
    }
  };
  return cast_at(made(), given.dtype(), line);
}

Variable scan(ScanKind kind, std::span<const Variable> inputs, int axis, ScanOptions options, SourceLine line) {
  return std::make_shared<const ScanOp>(kind, axis, options)->apply(inputs, line).output();
}

}  // namespace damo
